// Runs programs without observers, and with the observers that environment variables start.
// docs/guide/14-observing.md lists the effects that these observers may have.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "child.hpp"
#include "support.hpp"

namespace heddle_test {

/// Returns the lines of a program's output that begin with "= ". Adds its exit status and signal.
inline std::string told_by(const ChildResult& child) {
    std::string told =
        "status " + std::to_string(child.status) + ", signal " + std::to_string(child.signal);
    std::istringstream lines(child.output);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("= ")) told += "\n" + line;
    return told;
}

/// The observers that environment variables can start, and a folder for their files.
class Observers {
public:
    Observers() {
        std::string name = (std::filesystem::temp_directory_path() / "heddle.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        folder_ = name;
    }
    ~Observers() { std::filesystem::remove_all(folder_); }
    Observers(const Observers&) = delete;
    Observers& operator=(const Observers&) = delete;

    std::string folder() const { return folder_.string(); }
    std::string check() const { return "HEDDLE_CHECK=strict,summary"; }
    std::string timeline() const { return "HEDDLE_TIMELINE=" + folder() + "/run-%p.html"; }
    std::string watch() const { return "HEDDLE_WATCH=20ms,file=" + folder() + "/report-%p.txt"; }
    /// Returns each observer alone, and then all of them together.
    std::vector<Strings> all() const {
        return {
            {check()}, {timeline()}, {watch()}, {"HEDDLE_WATCH=0"}, {check(), timeline(), watch()}};
    }
    /// Runs the program called `name` with only these observers.
    ChildResult run(const std::string& name, Strings with, const Strings& variables = {}) const {
        for (const char* const off : {"HEDDLE_CHECK=0", "HEDDLE_TIMELINE=", "HEDDLE_WATCH="}) {
            const std::string variable(off, std::string_view(off).find('=') + 1);
            if (std::ranges::none_of(with, [&](auto& one) { return one.starts_with(variable); }))
                with.emplace_back(off);
        }
        with.insert(with.end(), variables.begin(), variables.end());
        with.insert(with.end(), {"HEDDLE_TEST_DEVICE=cpu", "HEDDLE_CPU_THREADS=2"});
        return run_test_case(name, with);
    }

private:
    std::filesystem::path folder_;
};

/// Runs the program called `name` without observers, and with each element of Observers::all().
/// Requires equal results.
inline void check_unchanged(const std::string& name) {
    const Observers observers;
    const ChildResult alone = observers.run(name, {});
    INFO(name << " alone: " << alone.output);
    for (const Strings& with : observers.all()) {
        const ChildResult watched = observers.run(name, with);
        INFO(with.front() << ": " << watched.output);
        CHECK(told_by(watched) == told_by(alone));
    }
}

/// Returns the lines of a program's output that begin with "+ ", sorted, without that prefix.
inline Strings noted_by(const ChildResult& child) {
    Strings noted;
    std::istringstream lines(child.output);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("+ ")) noted.push_back(line.substr(2));
    std::ranges::sort(noted);
    return noted;
}

/// Returns the elements of `all` that are not in `known`. Both must be sorted.
inline Strings without(const Strings& all, const Strings& known) {
    Strings rest;
    std::ranges::set_difference(all, known, std::back_inserter(rest));
    return rest;
}

inline void work_a_little() {
    const Stream s(cpu_device());
    launch_host(s, [] {});
    s.synchronize();
}

}  // namespace heddle_test
