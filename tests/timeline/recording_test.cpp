// Recordings made by programs: with the public class, and with HEDDLE_TIMELINE.
#include "child.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

#include <heddle/observe/timeline.hpp>
#include <heddle/observe/timeline_files.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/stat.h>

using namespace heddle_test;

namespace {

/// A new folder. The destructor removes it with its contents.
struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "heddle.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const char* name) const { return (path / name).string(); }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            names.push_back(entry.path().filename().string());
        return names;
    }
};

std::string content(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}

void work_a_little() {
    const Stream s(cpu_device(), {.priority = 0, .name = "a stream"});
    Array<int> x = zeros<int>(s, 10);
    timeline::name_array(x, "an array");
    const timeline::Range range("a range");
    launch(s, Add{}, dim(10), x, 1);
    s.synchronize();
}

}  // namespace

TEST_CASE("a recording is written in each format") {
    const Folder folder;
    timeline::Recording recording;
    work_a_little();
    for (const char* name : {"run.html", "run.json", "run.svg", "run.trace"}) {
        recording.write(folder.file(name));
        CHECK_FALSE(content(folder.file(name)).empty());
    }
    const std::string json = content(folder.file("run.json"));
    for (const char* text : {"a stream", "an array", "a range", "Add", "recording_test.cpp"})
        CHECK_THAT(json, contains(text));
    CHECK_THAT(content(folder.file("run.svg")), contains("<svg"));
    // Converting the trace produces a file with the same contents.
    timeline::convert(folder.file("run.trace"), folder.file("again.json"));
    CHECK_THAT(content(folder.file("again.json")), contains("a stream"));
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
    CHECK_THAT(recording.summary(), contains("a stream"));
}

TEST_CASE("a recording that was stopped can still be written") {
    const Folder folder;
    timeline::Recording recording;
    work_a_little();
    recording.stop();
    recording.write(folder.file("run.trace"));
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}

TEST_CASE("a recording refuses a name that says no format, and writes nothing") {
    const Folder folder;
    const timeline::Recording recording;
    CHECK_THROWS_AS(recording.write(folder.file("run.txt")), UsageError);
    CHECK_THROWS_AS(recording.write(""), UsageError);
    CHECK_THROWS_AS(recording.write(folder.file("none/run.json")), Error);
    CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("a recording that was moved from refuses to be written") {
    timeline::Recording recording;
    const timeline::Recording moved = std::move(recording);
    recording.stop();
    CHECK_THROWS_AS(recording.write("run.html"), UsageError);
    CHECK_THROWS_AS(recording.summary(), UsageError);
}

TEST_CASE("a range keeps a copy of a name that is no literal") {
    timeline::Recording recording;
    const Folder folder;
    {
        std::string name = "step 17 of a long and winding name";
        const timeline::Range copied(name), also(std::string_view("in a view"));
        name.assign(name.size(), 'x');
    }
    recording.write(folder.file("run.json"));
    const std::string json = content(folder.file("run.json"));
    CHECK_THAT(json, contains("step 17 of a long and winding name"));
    CHECK_THAT(json, contains("in a view"));
}

TEST_CASE("names and ranges outside of a recording are nothing") {
    const timeline::Range range("nobody sees it"), copied(std::string("nor it"));
    timeline::name_thread("nobody");
    Array<int> x = pinned<int>(10);
    timeline::name_array(x, "nothing");
    timeline::name_array(View<int>(), "nothing at all");
}

TEST_CASE("an empty recording can be written") {
    const Folder folder;
    const timeline::Recording recording;
    for (const char* name : {"run.html", "run.json", "run.svg", "run.trace"})
        CHECK_NOTHROW(recording.write(folder.file(name)));
    CHECK_FALSE(recording.summary().empty());
}

TEST_CASE("child: works a little", "[.child]") { work_a_little(); }

TEST_CASE("HEDDLE_TIMELINE writes a file when the program exits") {
    const Folder folder;
    const ChildResult child =
        run_test_case("child: works a little", {"HEDDLE_TIMELINE=" + folder.file("run.trace")});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}

TEST_CASE("child: works a little and goes to another folder", "[.child]") {
    work_a_little();
    std::filesystem::current_path("/");
}

TEST_CASE("HEDDLE_TIMELINE's file is in the folder in which the program began") {
    const Folder folder;
    const std::string file = std::filesystem::relative(folder.file("run.trace")).string();
    const ChildResult child = run_test_case("child: works a little and goes to another folder",
                                            {"HEDDLE_TIMELINE=" + file});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}

TEST_CASE("HEDDLE_TIMELINE takes options behind commas") {
    const Folder folder;
    const ChildResult child =
        run_test_case("child: works a little",
                      {"HEDDLE_TIMELINE=" + folder.file("run.json") + ",limit=100,no-accesses"});
    CHECK(child.status == 0);
    const std::string json = content(folder.file("run.json"));
    CHECK_THAT(json, contains("a stream"));
    CHECK(json.find("an array") == std::string::npos);
    for (const char* clock : {",events", ",cupti"}) {
        const ChildResult timed = run_test_case(
            "child: works a little", {"HEDDLE_TIMELINE=" + folder.file("run.json") + clock});
        INFO(timed.output);
        CHECK(timed.status == 0);
        CHECK(timed.output.find("HEDDLE_TIMELINE") == std::string::npos);
        CHECK_THAT(content(folder.file("run.json")), contains("a stream"));
    }
}

TEST_CASE("a program without GPU work is told nothing of CUPTI") {
    const timeline::Recording recording({.gpu_times = timeline::GpuTimes::cupti});
    work_a_little();
    CHECK(recording.summary().find("CUPTI") == std::string::npos);
}

TEST_CASE("what is wrong in HEDDLE_TIMELINE is told once, and the program goes on") {
    for (const char* wrong : {"run.txt", "run.html,fast", "run.html,limit=none", "run.html,limit=0",
                              "run.html,limit=-1", ",limit=5", "no folder/run.html"}) {
        const ChildResult child =
            run_test_case("child: works a little", {"HEDDLE_TIMELINE=" + std::string(wrong)});
        INFO(wrong << ": " << child.output);
        CHECK(child.status == 0);
        CHECK_THAT(child.output, contains("HEDDLE_TIMELINE"));
        if (std::string(wrong) == "run.html,fast")
            CHECK_THAT(child.output, contains("'fast' is not an option: write limit=NUMBER"));
    }
}

TEST_CASE("child: ends by an exception that nobody catches", "[.child]") {
    work_a_little();
    std::thread([] { throw std::runtime_error("nobody catches it"); }).join();
}

TEST_CASE("HEDDLE_TIMELINE writes a file when nobody catches an exception") {
    const Folder folder;
    const ChildResult child = run_test_case("child: ends by an exception that nobody catches",
                                            {"HEDDLE_TIMELINE=" + folder.file("run.trace")});
    INFO(child.output);
    CHECK(child.status != 0);
    CHECK_THAT(child.output, contains("nobody catches it"));  // as in a run without a recording
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}

TEST_CASE("child: forks while it is recorded", "[.child]") {
    work_a_little();
    const ChildResult child = run_forked([]() -> int {
        work_a_little();
        std::exit(0);  // this could write the file a second time
    });
    CHECK(child.status == 0);
    work_a_little();
}

TEST_CASE("the child of a fork neither records nor writes the file") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const Folder folder;
    const ChildResult child = run_test_case("child: forks while it is recorded",
                                            {"HEDDLE_TIMELINE=" + folder.file("run.trace")});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}

TEST_CASE("HEDDLE_TIMELINE puts the process's number into the name") {
    const Folder folder;
    for (int i = 0; i < 2; ++i)
        CHECK(run_test_case("child: works a little",
                            {"HEDDLE_TIMELINE=" + folder.file("run-%p-%p.trace")})
                  .status == 0);
    const std::vector<std::string> files = folder.files();
    REQUIRE(files.size() == 2);
    for (const std::string& file : files) {
        INFO(file);
        const std::string number = file.substr(4, file.find('-', 4) - 4);
        CHECK(number.find_first_not_of("0123456789") == std::string::npos);
        CHECK(file == "run-" + number + "-" + number + ".trace");
    }
}

TEST_CASE("child: works a little while another process does", "[.child]") {
    work_a_little();
    CHECK(run_test_case("child: works a little").status == 0);
}

namespace {
/// Waits until the coarse clock of file systems is past the file's time, so that new processes
/// begin after that time. Since Linux 6.13, a file's time may be finer, and ahead of that clock.
void await_later_time(const std::string& file) {
    CHECK(eventually([&] {
        struct stat found {};
        timespec now{};
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return ::stat(file.c_str(), &found) == 0 &&
               std::tuple(now.tv_sec, now.tv_nsec) >
                   std::tuple(found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    }));
}
}  // namespace

TEST_CASE("processes of one run do not overwrite each other's recordings") {
    const Folder folder;
    const std::string wish = "HEDDLE_TIMELINE=" + folder.file("run.trace");
    const std::string name = "child: works a little while another process does";
    CHECK(run_test_case(name, {wish}).status == 0);
    CHECK(folder.files().size() == 2);
    for (const std::string& file : folder.files())
        CHECK_THAT(timeline::summary(folder.file(file.c_str())), contains("a stream"));
    // A later run replaces the file. Its processes start after the file was written.
    await_later_time(folder.file("run.trace"));
    CHECK(run_test_case("child: works a little", {wish}).status == 0);
    CHECK(folder.files().size() == 2);
}

TEST_CASE("child: names its thread before its first stream", "[.child]") {
    timeline::name_thread("a named thread");
    { const timeline::Range range("before the first stream"); }
    work_a_little();
}

TEST_CASE("a thread's name and ranges count from before the first stream") {
    const Folder folder;
    CHECK(run_test_case("child: names its thread before its first stream",
                        {"HEDDLE_TIMELINE=" + folder.file("run.json")})
              .status == 0);
    CHECK_THAT(content(folder.file("run.json")), contains("a named thread"));
    CHECK_THAT(content(folder.file("run.json")), contains("before the first stream"));
}

TEST_CASE("a thread's name holds for later recordings") {
    const Folder folder;
    const std::string cut(126, 'x'), name = cut + "\u00e9\u00e9";
    std::thread([&] {
        timeline::name_thread(name);
        const timeline::Recording recording;
        work_a_little();
        recording.write(folder.file("run.json"));
    }).join();
    const std::string json = content(folder.file("run.json"));
    CHECK_THAT(json, contains(cut + "\u00e9\""));
}

TEST_CASE("child: aborts", "[.child]") {
    work_a_little();
    std::abort();
}
TEST_CASE("child: reads from nowhere", "[.child]") {
    work_a_little();
    std::raise(SIGSEGV);
}

TEST_CASE("HEDDLE_TIMELINE writes a file when the program ends by a signal") {
    const Folder folder;
    const auto [name, signal] = GENERATE(table<const char*, int>(
        {{"child: aborts", SIGABRT}, {"child: reads from nowhere", SIGSEGV}}));
    const ChildResult child = run_test_case(name, {"HEDDLE_TIMELINE=" + folder.file("run.trace")});
    INFO(child.output);
    CHECK((HEDDLE_TEST_SANITIZED || child.signal == signal || child.status != 0));
    CHECK_THAT(timeline::summary(folder.file("run.trace")), contains("a stream"));
}
