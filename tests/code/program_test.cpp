// Programs that are compiled at run time, without a GPU: the compiler, its errors, and the cache.
#include "child.hpp"
#include "core/base/background.hpp"
#include "core/code/program.hpp"
#include "core/code/program_cache.hpp"
#include "support.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace heddle_test;
namespace fs = std::filesystem;

namespace {

const char* const scale_source =
    "extern \"C\" __global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }\n";

/// Returns why this machine cannot compile programs. Returns an empty string if it can.
std::string why_no_compiler() {
    const auto error =
        error_of([] { compile("", {.architecture = "compute_90", .cache = false}).wait(); });
    return error ? error->what() : "";
}

#define SKIP_WITHOUT_COMPILER()                                                                    \
    if (const std::string why = why_no_compiler(); !why.empty()) HEDDLE_SKIP(why)

/// A temporary folder. The destructor removes it.
struct Folder {
    std::string path;
    Folder() {
        char name[] = "/tmp/heddle_program_XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    std::vector<std::string> entries() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(path))
            found.push_back(entry.path().string());
        return found;
    }
};

/// While this object exists, the cache is in a temporary folder.
struct OwnCache : Folder {
    OwnCache() { setenv("HEDDLE_CACHE_DIR", path.c_str(), 1); }
    ~OwnCache() { unsetenv("HEDDLE_CACHE_DIR"); }
};

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}
std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

ProgramOptions for_90(bool cache = true) { return {.architecture = "sm_90", .cache = cache}; }

detail::Compiled some_result() {
    detail::Compiled result;
    result.succeeded = true;
    result.image = std::string("\0image\n", 7);
    result.log = "a warning";
    result.lowered_names = {{"f<int>", "_Z1fIiEvv"}, {"g<int>", "_Z1gIiEvv"}};
    return result;
}

}  // namespace

TEST_CASE("CUDA C++ is not compiled for CPU devices, and the error says so at once", "[program]") {
    const Error error = thrown_by([] { (void)compile(cpu_device(), scale_source); });
    CHECK(error.code() == ErrorCode::unsupported);
    const Error loading = thrown_by([] { (void)Module::from_file(cpu_device(), "kernels.ptx"); });
    CHECK(loading.code() == ErrorCode::unsupported);
}

TEST_CASE("everything that decides what a source compiles to is in its key", "[program]") {
    const ProgramOptions base{.options = {"-DN=1"},
                              .headers = {{"a.h", "int a;"}},
                              .names = {"f<int>"},
                              .architecture = "sm_90"};
    const auto key = [](const std::string& source, const ProgramOptions& options,
                        const char* compiler = "1") {
        const auto found = detail::cache_key(source, options, compiler);
        REQUIRE(found);
        return *found;
    };
    const auto with = [&](auto&& change) {
        ProgramOptions options = base;
        change(options);
        return key("s", options);
    };
    const std::vector<std::string> keys{
        key("s", base),
        key("t", base),
        key("s", base, "2"),
        with([](ProgramOptions& o) { o.options = {"-DN=2"}; }),
        with([](ProgramOptions& o) { o.options = {"-DN=1", "-DN=1"}; }),
        with([](ProgramOptions& o) { o.headers = {{"a.h", "int b;"}}; }),
        with([](ProgramOptions& o) { o.headers = {{"b.h", "int a;"}}; }),
        with([](ProgramOptions& o) { o.names = {"f<float>"}; }),
        with([](ProgramOptions& o) { o.architecture = "sm_80"; }),
    };
    for (std::size_t i = 0; i < keys.size(); ++i)
        for (std::size_t k = 0; k < i; ++k) {
            CHECK(keys[i] != keys[k]);
            CHECK(detail::hash_text(keys[i]) != detail::hash_text(keys[k]));
        }
    CHECK(keys[0] == key("s", base));
}

TEST_CASE("a file that is included is part of the key, through others too", "[program]") {
    const Folder folder;
    write(folder.path + "/outer.h", "#pragma once\n  #  include \"inner.h\"\n");
    write(folder.path + "/inner.h", "int one;");
    ProgramOptions options{.options = {"-I" + folder.path}};
    const std::string source = "#include <outer.h>\n";
    const auto before = detail::cache_key(source, options, "1");
    REQUIRE(before);
    CHECK(detail::cache_key(source, options, "1") == before);
    write(folder.path + "/inner.h", "int two;");
    const auto after = detail::cache_key(source, options, "1");
    CHECK(after != before);
    options.options = {"-I", folder.path};
    CHECK(detail::included_files(source, options) != std::string());
    CHECK_FALSE(detail::cache_key("#define F <outer.h>\n#include F\n", options, "1"));
}

TEST_CASE("a cache entry comes back as it was written", "[program]") {
    const Folder folder;
    const detail::Compiled result = some_result();
    detail::write_entry(folder.path + "/deeper", "key", result);
    const auto found = detail::read_entry(folder.path + "/deeper", "key");
    REQUIRE(found);
    CHECK(found->image == result.image);
    CHECK(found->log == result.log);
    CHECK(found->lowered_names == result.lowered_names);
    CHECK_FALSE(detail::read_entry(folder.path + "/deeper", "other key"));
}

TEST_CASE("a cache entry that is cut, changed or another's is no entry", "[program]") {
    const Folder folder;
    detail::write_entry(folder.path, "key", some_result());
    const std::string path = detail::entry_path(folder.path, "key"), whole = read(path);
    REQUIRE(detail::read_entry(folder.path, "key"));
    for (std::size_t size = 0; size < whole.size(); ++size) {
        write(path, whole.substr(0, size));
        CHECK_FALSE(detail::read_entry(folder.path, "key"));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 1);
        write(path, changed);
        CHECK_FALSE(detail::read_entry(folder.path, "key"));
    }
    write(path, whole + "x");
    CHECK_FALSE(detail::read_entry(folder.path, "key"));
    detail::write_entry(folder.path, "other", some_result());
    fs::copy_file(detail::entry_path(folder.path, "other"), path,
                  fs::copy_options::overwrite_existing);
    CHECK_FALSE(detail::read_entry(folder.path, "key"));  // as if two keys had the same hash
}

TEST_CASE(
    "what is in an entry's place and is no file of the user's own is no entry, and is replaced",
    "[program]") {
    const Folder folder;
    const std::string path = detail::entry_path(folder.path, "key");
    const auto is_replaced = [&] {
        CHECK_FALSE(detail::read_entry(folder.path, "key"));
        detail::write_entry(folder.path, "key", some_result());
        return detail::read_entry(folder.path, "key").has_value();
    };
    SECTION("a pipe") {
        REQUIRE(mkfifo(path.c_str(), 0600) == 0);
        CHECK(is_replaced());
    }
    SECTION("a link") {
        detail::write_entry(folder.path, "other", some_result());
        const std::string precious = folder.path + "/precious";
        write(precious, "gold");
        fs::create_symlink(precious, path);
        CHECK(is_replaced());
        CHECK(read(precious) == "gold");
        fs::remove(path);
        fs::create_symlink("/dev/zero", path);
        CHECK(is_replaced());
    }
    SECTION("a folder") {
        const Reports reports;
        fs::create_directories(path + "/in");
        CHECK_FALSE(is_replaced());
    }
    SECTION("a file that others may write to") {
        detail::write_entry(folder.path, "key", some_result());
        for (const mode_t mode : {0602u, 0620u}) {
            REQUIRE(chmod(path.c_str(), mode) == 0);
            CHECK(is_replaced());
        }
    }
    SECTION("a file of another user") {
        detail::write_entry(folder.path, "key", some_result());
        if (chown(path.c_str(), 4321, static_cast<gid_t>(-1)) != 0)
            HEDDLE_SKIP("only root gives files away");
        CHECK(is_replaced());
    }
}

TEST_CASE("child: uses a cache that is not its own", "[.child]") {
    const std::string folder = std::getenv("HEDDLE_TEST_FOLDER");
    CHECK_FALSE(detail::read_entry(folder, "key"));
    detail::write_entry(folder, "new", some_result());
    detail::write_entry(folder, "newer", some_result());
    CHECK_FALSE(detail::read_entry(folder, "new"));
}

TEST_CASE("nothing is taken from a folder that others may write to, or that is another user's",
          "[program]") {
    const Folder folder;
    detail::write_entry(folder.path, "key", some_result());
    SECTION("others may write to it") { REQUIRE(chmod(folder.path.c_str(), 0777) == 0); }
    SECTION("its group may write to it") { REQUIRE(chmod(folder.path.c_str(), 0770) == 0); }
    SECTION("another user's") {
        if (chown(folder.path.c_str(), 4321, static_cast<gid_t>(-1)) != 0)
            HEDDLE_SKIP("only root gives folders away");
    }
    const ChildResult child = run_test_case("child: uses a cache that is not its own",
                                            {"HEDDLE_TEST_FOLDER=" + folder.path});
    INFO(child.output);
    CHECK(child.status == 0);
    const std::size_t told =
        child.output.find("belongs to another user, or other users may write to it");
    REQUIRE(told != std::string::npos);  // the folder was reported
    CHECK(child.output.find("compiled programs are not cached", told) == std::string::npos);
    CHECK(folder.entries().size() == 1);
}

TEST_CASE("a cache folder that is made is its user's alone", "[program]") {
    const Folder folder;
    detail::write_entry(folder.path + "/a/b/", "key", some_result());
    CHECK(detail::read_entry(folder.path + "/a/b", "key"));
    CHECK(fs::status(folder.path + "/a/b").permissions() == fs::perms::owner_all);
}

TEST_CASE("entries that were not used for longest go while all of them are too large",
          "[program]") {
    const Folder folder;
    const auto last_used = [&](const std::string& key, int days_ago) {
        fs::last_write_time(detail::entry_path(folder.path, key),
                            fs::file_time_type::clock::now() - std::chrono::hours(24 * days_ago));
    };
    detail::write_entry(folder.path, "a", some_result());
    const std::uint64_t size = fs::file_size(detail::entry_path(folder.path, "a"));
    for (const char* key : {"b", "c"})
        detail::write_entry(folder.path, key, some_result(), 3 * size);
    last_used("a", 3);
    last_used("b", 2);
    last_used("c", 1);
    REQUIRE(detail::read_entry(folder.path, "a"));  // reading an entry counts as using it
    detail::write_entry(folder.path, "d", some_result(), 3 * size);
    CHECK(detail::read_entry(folder.path, "a"));
    CHECK_FALSE(detail::read_entry(folder.path, "b"));
    CHECK(detail::read_entry(folder.path, "c"));
    CHECK(detail::read_entry(folder.path, "d"));
    write(folder.path + "/not ours", std::string(5 * size, 'x'));
    detail::write_entry(folder.path, "d", some_result(), size);
    CHECK(folder.entries().size() == 2);  // the newest entry, and a file that heddle did not write
    CHECK(detail::read_entry(folder.path, "d"));
}

TEST_CASE("HEDDLE_CACHE_MIB says how much is kept", "[program]") {
    const Folder folder;
    const ChildResult child = run_test_case(
        "child: fills the cache", {"HEDDLE_CACHE_MIB=2", "HEDDLE_TEST_FOLDER=" + folder.path});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(folder.entries().size() == 2);
}
TEST_CASE("child: fills the cache", "[.child]") {
    detail::Compiled large = some_result();
    large.image.assign(900'000, 'x');
    for (const char* key : {"a", "b", "c", "d"}) {
        detail::write_entry(std::getenv("HEDDLE_TEST_FOLDER"), key, large);
        CHECK(detail::read_entry(std::getenv("HEDDLE_TEST_FOLDER"), key));
    }
}

TEST_CASE("temporary files that were left behind go, and those that are being written stay",
          "[program]") {
    const Folder folder;
    const std::string path = detail::entry_path(folder.path, "key");
    for (const char* name : {".XaXaXa", ".12-34"}) write(path + name, "half");
    fs::last_write_time(path + ".XaXaXa", fs::file_time_type::clock::now() - std::chrono::hours(2));
    detail::write_entry(folder.path, "other", some_result());
    CHECK_FALSE(fs::exists(path + ".XaXaXa"));
    CHECK(fs::exists(path + ".12-34"));
}

TEST_CASE("a limit on the size of files leaves a program without its cache, not without its life",
          "[program]") {
    const Folder folder;
    const ChildResult child =
        run_test_case("child: may not write large files", {"HEDDLE_TEST_FOLDER=" + folder.path});
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("compiled programs are not cached"));
    CHECK(folder.entries().empty());
}
TEST_CASE("child: may not write large files", "[.child]") {
    const rlimit most{20'000, 20'000};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &most) == 0);
    detail::Compiled large = some_result();
    large.image.assign(100'000, 'x');
    detail::write_entry(std::getenv("HEDDLE_TEST_FOLDER"), "key", large);
}

TEST_CASE("polls go on until they say that it is enough", "[program]") {
    const Flag done;
    auto count = std::make_shared<std::atomic<int>>(0);
    detail::poll_in_background([done, count] {
        if (++*count < 3) return false;
        done.set();
        return true;
    });
    CHECK(done.wait());
    CHECK(*count == 3);
}

TEST_CASE("a program is compiled for an architecture that is named, without a GPU", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const Program code = compile(scale_source, for_90(false));
    CHECK(code.image().starts_with("\x7f"
                                   "ELF"));
    CHECK(code.is_ready());
    CHECK(code.log().empty());
    const Program text = compile(scale_source, {.architecture = "compute_90", .cache = false});
    CHECK_THAT(text.image(), contains(".visible .entry scale"));
}

TEST_CASE("two headers of one name are refused", "[program]") {
    SKIP_WITHOUT_COMPILER();
    CHECK_THROWS_AS(compile(scale_source, {.headers = {{"a.h", "int a;"}, {"a.h", ""}},
                                           .architecture = "compute_90"}),
                    UsageError);
}

TEST_CASE("headers, options and names of templates reach the compiler", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const Program program = compile(
        "#include \"factor.h\"\n"
        "namespace my { template <class T> __global__ void scale(T* x) { *x *= factor + N; } }\n",
        {.options = {"-DN=4"},
         .headers = {{"factor.h", "constexpr int factor = 3;"}},
         .names = {"my::scale<float>", "my::scale< int >"},
         .architecture = "compute_90",
         .cache = false});
    CHECK(program.lowered_name("my::scale<float>") == "_ZN2my5scaleIfEEvPT_");
    CHECK(program.lowered_name("my::scale< int >") == "_ZN2my5scaleIiEEvPT_");
    CHECK_THAT(program.image(), contains("_ZN2my5scaleIiEEvPT_"));
    CHECK_THROWS_AS(program.lowered_name("my::scale<double>"), UsageError);
}

TEST_CASE(
    "a source that does not compile is an error with the compiler's log and the caller's place",
    "[program]") {
    SKIP_WITHOUT_COMPILER();
    const OwnCache cache;
    ProgramOptions options = for_90();
    options.name = "wrong.cu";
    const unsigned line = __LINE__ + 1;
    const Program program = compile("__global__ void f() { undeclared = 1; }", options);
    const Error error = thrown_by([&] { program.wait(); });
    CHECK(error.code() == ErrorCode::compile);
    CHECK_THAT(error.what(), contains("undeclared") && contains("wrong.cu(1)"));
    CHECK(error.where().line == line);
    CHECK_THAT(program.log(), contains("undeclared"));
    CHECK_THROWS_AS(program.image(), CompileError);
    CHECK(cache.entries().empty());
}

TEST_CASE("architectures that are none, and those among the options, are usage errors at once",
          "[program]") {
    SKIP_WITHOUT_COMPILER();
    CHECK(mentions(error_of([] { (void)compile("", {.architecture = "90"}); }),
                   "\"90\" is not an architecture: write"));
    CHECK_THROWS_AS((void)compile("", {.options = {"-arch=sm_90"}, .architecture = "sm_90"}),
                    UsageError);
}

TEST_CASE("what was compiled is found on disk the next time", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const OwnCache cache;
    const Program first = compile(scale_source, for_90());
    CHECK_FALSE(first.was_cached());
    const Program second = compile(scale_source, for_90());
    CHECK(second.was_cached());
    CHECK(second.image() == first.image());
    CHECK_FALSE(compile(scale_source, {.architecture = "sm_80"}).was_cached());
    CHECK_FALSE(compile(scale_source, for_90(false)).was_cached());
    CHECK(cache.entries().size() == 2);
}

TEST_CASE("a corrupt entry is compiled again and replaced", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const OwnCache cache;
    const std::string image = compile(scale_source, for_90()).image();
    REQUIRE(cache.entries().size() == 1);
    const std::string path = cache.entries()[0];
    std::string bytes = read(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x40);
    write(path, bytes);
    const Program again = compile(scale_source, for_90());
    CHECK_FALSE(again.was_cached());
    CHECK(again.image() == image);
    CHECK(compile(scale_source, for_90()).was_cached());
}

TEST_CASE("without a folder that can be written to, programs are compiled all the same",
          "[program]") {
    SKIP_WITHOUT_COMPILER();
    const Folder folder;
    write(folder.path + "/file", "");
    const ChildResult result =
        run_test_case("child: compiles twice", {"HEDDLE_CACHE_DIR=" + folder.path + "/file/cache"});
    CHECK(result.status == 0);
    const std::size_t told = result.output.find("compiled programs are not cached");
    REQUIRE(told != std::string::npos);
    CHECK(result.output.find("compiled programs are not cached", told + 1) == std::string::npos);
}
TEST_CASE("child: compiles twice", "[.child]") {
    end_if_it_hangs();
    CHECK_FALSE(compile(scale_source, for_90()).was_cached());
    CHECK_FALSE(compile(scale_source, for_90()).was_cached());
}

TEST_CASE("several threads compile the same program", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const OwnCache cache;
    constexpr int count = 6;
    std::vector<std::string> images(count);
    std::latch start(count);
    on_threads(count, [&](int i) {
        start.arrive_and_wait();
        images[static_cast<std::size_t>(i)] = compile(scale_source, for_90()).image();
    });
    for (const std::string& image : images) CHECK(image == images[0]);
    CHECK(cache.entries().size() == 1);
    CHECK(compile(scale_source, for_90()).was_cached());
}

TEST_CASE("several processes compile the same program", "[program]") {
    SKIP_WITHOUT_COMPILER();
    const OwnCache cache;
    std::vector<ChildResult> results(4);
    std::vector<std::thread> threads;
    for (ChildResult& result : results)
        threads.emplace_back(
            [&] { result = run_test_case("child: compiles", {"HEDDLE_CACHE_DIR=" + cache.path}); });
    for (std::thread& thread : threads) thread.join();
    for (const ChildResult& result : results) {
        INFO(result.output);
        CHECK(result.status == 0);
    }
    CHECK(cache.entries().size() == 1);  // no incomplete file is left
    CHECK(compile(scale_source, for_90()).was_cached());
}
TEST_CASE("child: compiles", "[.child]") {
    end_if_it_hangs();
    for (int i = 0; i < 3; ++i)
        CHECK(compile(scale_source, for_90())
                  .image()
                  .starts_with("\x7f"
                               "ELF"));
}

TEST_CASE("a process may end at any moment while programs are compiled", "[program]") {
    SKIP_WITHOUT_COMPILER();
    for (const char* finished : {"0", "0", "1", "2", "3"}) {
        const ChildResult result = run_test_case("child: ends while it compiles",
                                                 {std::string("HEDDLE_TEST_FINISHED=") + finished});
        INFO(result.output);
        CHECK(result.status == 0);
    }
}
TEST_CASE("child: ends while it compiles", "[.child]") {
    end_if_it_hangs();
    const auto finished = static_cast<std::size_t>(std::atoi(std::getenv("HEDDLE_TEST_FINISHED")));
    std::vector<Program> programs;
    for (int i = 0; i < 20; ++i) programs.push_back(compile(scale_source, for_90(false)));
    for (std::size_t i = 0; i < finished; ++i) programs[i].wait();
}

TEST_CASE(
    "where there is no NVRTC, the error says which was looked for, and the program has started",
    "[program]") {
    SKIP_WITHOUT_COMPILER();
    check_test_case("child: has no compiler", {"HEDDLE_NVRTC=/nonexistent/libnvrtc.so"});
}
TEST_CASE("child: has no compiler", "[.child]") {
    const Program program = compile(scale_source, for_90());
    const Error error = thrown_by([&] { program.wait(); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK_THAT(error.what(), contains("/nonexistent/libnvrtc.so") && contains("HEDDLE_NVRTC"));
}

TEST_CASE("host functions wait for no program", "[program]") {
    const auto program = std::make_shared<detail::Pending>();  // will never be complete
    const Stream s(cpu_device());
    std::optional<Error> error;
    launch_host(s, [&] { error = error_of([&] { program->wait("Program::wait", {}); }); });
    s.synchronize();
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::usage);
}
