#include "catch.hpp"

#include <heddle/error.hpp>
#include <heddle/observe/timeline_files.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "timeline/file/trace_file.hpp"
#include "timeline/sample_traces.hpp"
#include "timeline/solve/solution.hpp"

using heddle_test::contains;
using namespace heddle;
using namespace std::chrono_literals;
using detail::Trace;

namespace {

/// A folder that contains a trace. The destructor deletes the folder.
class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "heddle_convert_XXXXXX";
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder");
        path_ = name;
        std::ofstream file(path("run.trace"), std::ios::binary);
        detail::write_trace(file, trace);
    }
    ~Folder() { std::filesystem::remove_all(path_); }

    std::string path(const std::string& name) const { return (path_ / name).string(); }
    std::string text(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void put(const std::string& name, const std::string& text) const {
        std::ofstream(path(name), std::ios::binary) << text;
    }
    Trace read(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return detail::read_trace(file, name);
    }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), {}));
    }
    void convert(const std::string& to, timeline::ConvertOptions options = {}) const {
        timeline::convert(path("run.trace"), path(to), options);
    }
    /// Returns the message of the error that the conversion throws.
    std::string refusal(const std::string& from, const std::string& to,
                        timeline::ConvertOptions options = {}) const {
        try {
            timeline::convert(path(from), path(to), options);
            return "";
        } catch (const Error& error) {
            return error.info().message;
        }
    }

    const Trace trace = heddle_test::trace_of_steps(200);

private:
    std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a trace is converted to what the extension names", "[timeline]") {
    const Folder folder;
    for (const char* const name : {"run.html", "run.svg", "run.json", "copy.trace"})
        folder.convert(name);
    CHECK_THAT(folder.text("run.html"), contains("<html"));
    CHECK_THAT(folder.text("run.svg"), contains("<svg"));
    CHECK(nlohmann::json::parse(folder.text("run.json")).contains("traceEvents"));
    CHECK(folder.read("copy.trace") == folder.trace);
    CHECK(folder.files() == 5);
}

TEST_CASE("a stretch of a trace is converted", "[timeline]") {
    const Folder folder;
    folder.convert("part.trace", {.from = 100us, .to = 200us});
    const Trace part = folder.read("part.trace");
    CHECK(part.begin == 100'000);
    CHECK(part.end == 200'000);
    CHECK(!part.ops.empty());
    CHECK(part.ops.size() < folder.trace.ops.size());
    folder.convert("from.trace", {.from = 100us});
    CHECK(folder.read("from.trace").end == folder.trace.end);
    folder.convert("part.svg", {.from = 100us, .to = 200us});
    folder.convert("part.json", {.from = 100us, .to = 200us});
    CHECK(folder.text("part.json").size() > 1000);
}

TEST_CASE("a summary is that of the solution", "[timeline]") {
    const Folder folder;
    CHECK(timeline::summary(folder.path("run.trace")) ==
          detail::summary_of(folder.trace, detail::solve(folder.trace)));
    const std::string part =
        timeline::summary(folder.path("run.trace"), {.from = 100us, .to = 200us});
    CHECK_THAT(part, contains("This is a part of a recording: work before and after this part"));
    folder.convert("part.trace", {.from = 100us, .to = 200us});
    const Trace again = folder.read("part.trace");
    CHECK(again.notes.size() == folder.trace.notes.size() + 1);
    timeline::convert(folder.path("part.trace"), folder.path("less.trace"), {.from = 120us});
    CHECK(folder.read("less.trace").notes == again.notes);
}

TEST_CASE("a file that is replaced is whole or as it was", "[timeline]") {
    const Folder folder;
    folder.put("run.json", "old");
    CHECK(folder.refusal("run.trace", "run.json", {.from = 1h}) != "");
    CHECK(folder.text("run.json") == "old");
    folder.convert("run.json");
    CHECK(nlohmann::json::parse(folder.text("run.json")).contains("traceEvents"));
    folder.convert("run.trace", {.to = 100us});  // writes to the file that it reads
    CHECK(folder.read("run.trace").ops.size() < folder.trace.ops.size());
    CHECK(folder.files() == 2);
}

TEST_CASE("a link stays when what it leads to is replaced", "[timeline]") {
    const Folder folder;
    folder.put("real.json", "old");
    std::filesystem::create_symlink("real.json", folder.path("link.json"));
    folder.convert("link.json");
    CHECK(std::filesystem::is_symlink(folder.path("link.json")));
    CHECK(folder.text("real.json").size() > 1000);
}

TEST_CASE("what cannot be converted says why and leaves no file", "[timeline]") {
    const Folder folder;
    std::filesystem::create_directory(folder.path("folder.json"));
    folder.put("run.json", "{\"traceEvents\":[]}");
    const std::size_t files = folder.files();
    const auto refused = [&](const char* from, const char* to, const char* why,
                             timeline::ConvertOptions options = {}) {
        CHECK_THAT(folder.refusal(from, to, options), contains(why));
    };
    refused("run.trace", "run.txt", "run.txt\" has no known extension: use .html, .svg, .json");
    refused("run.trace", "run", "has no known extension");
    refused("missing.trace", "a.json", "missing.trace\" cannot be read: No such file");
    refused("folder.json", "a.json", "folder.json\" cannot be read: Is a directory");
    refused("run.json", "a.json", "run.json\" is not a trace of heddle (it begins with");
    refused("run.trace", "missing/a.json", "missing/a.json\" cannot be written: No such file");
    refused("run.trace", "folder.json", "folder.json\" is not a regular file");
    refused("run.trace", "a.json", "the interval begins at 12.0 ms and ends at 10.0 ms",
            {.from = 12ms, .to = 10ms});
    refused("run.trace", "a.json",
            "the recording has no work from 1.00 s to 2.00 s: select times between",
            {.from = 1s, .to = 2s});
    refused("run.trace", "a.svg", "the recording has no work from 1.00 s", {.from = 1s, .to = 2s});
    CHECK(folder.files() == files);
}

TEST_CASE("a file that cannot be written to its end leaves what was there", "[timeline]") {
    const Folder folder;
    folder.put("run.json", "old");
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit limit = before;
    limit.rlim_cur = 4096;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    const std::string why = folder.refusal("run.trace", "run.json");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK_THAT(why, contains("run.json\" cannot be written: File too large"));
    CHECK(folder.text("run.json") == "old");
    CHECK(folder.files() == 2);
}
