// HEDDLE_TIMELINE in a program that crashes. The program must end as without the variable, and
// soon.
#include "virtual_case.hpp"

#include <heddle/observe/timeline.hpp>
#include <heddle/observe/timeline_files.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "core/base/thread_sanitizer.hpp"
#include "timeline/record/end_writer.hpp"

using namespace heddle_test;

namespace {

class RunFile {
public:
    RunFile() {
        std::string name = (std::filesystem::temp_directory_path() / "heddle.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        folder_ = name;
    }
    ~RunFile() { std::filesystem::remove_all(folder_); }
    RunFile(const RunFile&) = delete;
    RunFile& operator=(const RunFile&) = delete;
    std::string name() const { return (folder_ / "run.trace").string(); }
    std::string variable() const { return "HEDDLE_TIMELINE=" + name(); }

private:
    std::filesystem::path folder_;
};

/// Returns a text that is in unreadable memory.
std::string_view unreadable() {
    constexpr std::size_t bytes = 4096;
    void* const none = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return {static_cast<const char*>(none), bytes};
}

/// Crashes while the recording's lock is held: name_array() copies an unreadable name under that
/// lock.
void crash_with_lock(const Array<int>& x) { timeline::name_array(x, unreadable()); }

Array<int> work_a_little() {
    const Stream s(cpu_device(), {.name = "a stream"});
    Array<int> x = zeros<int>(s, 10);
    s.synchronize();
    return x;
}

void say(const char* what) {
    std::printf("%s after %lld ms\n", what, static_cast<long long>(virtual_time::now().count()));
    std::fflush(stdout);
}

}  // namespace

TEST_CASE("child: std::terminate and a writer that never ends", "[.child]") {
    virtual_time::begin();
    std::set_terminate([] {
        say("terminate");
        std::abort();
    });
    (void)std::signal(SIGABRT, [](int) {
        say("abort");
        _exit(0);
    });
    detail::write_at_bad_end([] {
        for (;;) ::pause();
    });
    std::terminate();
}

TEST_CASE("a program that ends badly waits 2 s in all for its recording") {
    if (const std::string reason = virtual_time::reason_not(); !reason.empty()) HEDDLE_SKIP(reason);
    if (detail::tsan::is_compiled_in) HEDDLE_SKIP("the writer is a thread, which never rests");
    const ChildResult child = run_test_case("child: std::terminate and a writer that never ends",
                                            {"HEDDLE_TEST_DEVICE=cpu", "CUDA_VISIBLE_DEVICES="});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("terminate after 2000 ms"));
    CHECK_THAT(child.output, contains("abort after 2000 ms"));
    CHECK_THAT(child.output, contains("continues to write"));
}

TEST_CASE("child: a writer that aborts", "[.child]") {
    detail::write_at_bad_end([] { std::abort(); });
    (void)std::raise(SIGILL);
}
TEST_CASE("child: a writer that exits", "[.child]") {
    detail::write_at_bad_end([] { _exit(4); });
    (void)std::raise(SIGILL);
}
TEST_CASE("child: a writer that throws", "[.child]") {
    detail::write_at_bad_end([] { throw std::runtime_error("there is no room"); });
    (void)std::raise(SIGILL);
}

TEST_CASE("a program that crashes ends by its own signal, whatever its recording does") {
    if (detail::tsan::is_compiled_in) HEDDLE_SKIP("the writer is a thread of the program");
    const auto [name, said] = GENERATE(table<const char*, const char*>(
        {{"child: a writer that aborts", "writes the file has failed"},
         {"child: a writer that exits", "writes the file has failed"},
         {"child: a writer that throws", "there is no room"}}));
    const ChildResult child = run_test_case(name);
    INFO(child.output);
    CHECK((HEDDLE_TEST_SANITIZED || child.signal == SIGILL));
    CHECK_THAT(child.output, contains(said));
}

TEST_CASE("child: crashes while it holds the recording's lock", "[.child]") {
    crash_with_lock(work_a_little());
}

namespace {
struct sigaction chained;
thread_local bool stays_inside = false;
const Flag is_inside;
}  // namespace

TEST_CASE("child: aborts while a thread holds the recording's lock for ever", "[.child]") {
    const Array<int> x = work_a_little();
    struct sigaction own {};
    own.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
        if (!stays_inside) return chained.sa_sigaction(signal, info, context);
        is_inside.set();
        for (;;) ::pause();
    };
    own.sa_flags = SA_SIGINFO;
    REQUIRE(sigaction(SIGSEGV, &own, &chained) == 0);
    std::thread([&] {
        stays_inside = true;
        crash_with_lock(x);
    }).detach();
    REQUIRE(is_inside.wait());
    std::abort();
}

TEST_CASE("a recording is written though its lock is held for ever") {
    if (detail::tsan::is_compiled_in) HEDDLE_SKIP("the writer is a thread, which waits for locks");
    const auto [name, signal] = GENERATE(table<const char*, int>(
        {{"child: crashes while it holds the recording's lock", SIGSEGV},
         {"child: aborts while a thread holds the recording's lock for ever", SIGABRT}}));
    const RunFile file;
    const ChildResult child = run_test_case(name, {file.variable()});
    INFO(child.output);
    CHECK((HEDDLE_TEST_SANITIZED || child.signal == signal));
    CHECK(eventually([&] { return std::filesystem::exists(file.name()); }));
    CHECK_THAT(timeline::summary(file.name()), contains("a stream"));
}

TEST_CASE("child: is asked to end", "[.child]") {
    (void)std::signal(SIGINT, SIG_DFL);  // replaces Catch2's handler
    const Array<int> x = work_a_little();
    (void)std::raise(SIGINT);
    _exit(3);
}
TEST_CASE("child: is asked to end and does not listen", "[.child]") {
    (void)std::signal(SIGTERM, SIG_DFL);
    const Array<int> x = work_a_little();
    (void)std::signal(SIGTERM, SIG_IGN);
    (void)std::raise(SIGTERM);
    _exit(3);
}

TEST_CASE("a program that Ctrl-C ends leaves its timeline, and ends by that signal") {
    const RunFile file;
    const ChildResult child = run_test_case("child: is asked to end", {file.variable()});
    INFO(child.output);
    CHECK(child.signal == SIGINT);
    CHECK(eventually([&] { return std::filesystem::exists(file.name()); }));
    CHECK_THAT(timeline::summary(file.name()), contains("a stream"));
}

TEST_CASE("a program that ignores a request to end goes on, with a timeline or without") {
    const RunFile file;
    const ChildResult child =
        run_test_case("child: is asked to end and does not listen", {file.variable()});
    INFO(child.output);
    CHECK(child.status == 3);
    CHECK_FALSE(std::filesystem::exists(file.name()));
}
