// Names of functions in stacks.
#include "watch/symbols.hpp"

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <string>

#include "support.hpp"

using namespace heddle_test;
using detail::readable_function;

TEST_CASE("a lambda in a stack is named by the function that it is in", "[watch]") {
    CHECK(readable_function("main::{lambda()#1}::operator()() const") == "lambda #1 in main()");
    CHECK(
        readable_function("my::Solver::go(int, float) const::{lambda(int)#12}::operator()(int)") ==
        "lambda #12 in my::Solver::go()");
    CHECK(readable_function("void relax<float>(View<float>)::{lambda()#2}::operator()() const") ==
          "lambda #2 in relax<float>()");
    CHECK(readable_function("(anonymous namespace)::go(int)::{lambda()#1}::operator()() const") ==
          "lambda #1 in go()");
    CHECK(readable_function("go()::{lambda(auto:1)#1}::operator()<int>(int) const") ==
          "lambda #1 in go()");
    CHECK(readable_function("main::$_3::operator()() const") == "lambda in main()");
    CHECK(readable_function("main::'lambda0'(int)::operator()(int) const") == "lambda in main()");
}

TEST_CASE("a lambda within a lambda is named by both", "[watch]") {
    CHECK(readable_function("main::{lambda()#2}::operator()() const::{lambda(int)#1}::operator()("
                            "int) const") == "lambda #1 in lambda #2 in main()");
}

TEST_CASE("lambdas among the arguments of templates are named, too", "[watch]") {
    CHECK(readable_function("run<main::{lambda()#1}, go(int)::{lambda()#2}>(int)") ==
          "run<lambda #1 in main(), lambda #2 in go()>(int)");
    CHECK(readable_function("run<int, void go<int>(int)::{lambda()#2}>(int)") ==
          "run<int, lambda #2 in go<int>()>(int)");
}

TEST_CASE("what calls a kernel or a host function is named as that", "[watch]") {
    const std::string run = "::run(void*, unsigned long, unsigned long)";
    CHECK(readable_function("heddle::detail::HostFunction<main::{lambda()#1}>" + run) ==
          "lambda #1 in main()");
    CHECK(readable_function("heddle::detail::PortableOp<Relax<2, float>, 1, float>" + run) ==
          "Relax<2, float>::operator()");
    CHECK(readable_function("mine::PortableOp<Relax>" + run) == "mine::PortableOp<Relax>" + run);
}

TEST_CASE("other names in stacks are as they were", "[watch]") {
    for (const std::string name : {"", "main", "Relax::operator()(unsigned long) const",
                                   "operator<(A, B)", "{lambda(", "$_", "f()::{lambda(", "__poll"})
        CHECK(readable_function(name) == name);
}

namespace {
[[gnu::noinline]] int only_in_the_file(int x) { return x + 1; }
}  // namespace

TEST_CASE("functions that the loader does not know are found in the file", "[watch]") {
    int (*volatile function)(int) = &only_in_the_file;
    const auto address = reinterpret_cast<std::uintptr_t>(function);
    Dl_info info;
    void* map = nullptr;
    REQUIRE(dladdr1(reinterpret_cast<void*>(address), &info, &map, RTLD_DL_LINKMAP) != 0);
    const std::uintptr_t moved = static_cast<const link_map*>(map)->l_addr;
    std::array<detail::LookedUp, 2> wanted;
    wanted[0].address = address - moved + 1;
    wanted[1].address = 1;
    detail::look_up_in_file("/proc/self/exe", info.dli_fbase, wanted);
    CHECK_THAT(wanted[0].function, contains("only_in_the_file"));
    CHECK(wanted[0].begin == address - moved);
    CHECK(wanted[1].function.empty());

    // A missing file, a file that is not ELF, and a file that is not the loaded one.
    for (const char* file : {"/nowhere", "/proc/self/cmdline", "/proc/self/exe"}) {
        const std::array<char, 64> other{};
        detail::LookedUp again[1];
        again[0].address = wanted[0].address;
        detail::look_up_in_file(file, other.data(), again);
        CHECK(again[0].function.empty());
    }
}
