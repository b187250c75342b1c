// Which types of callables and arguments may signal to other code that their work runs.
#include <heddle/heddle.hpp>

#include <atomic>
#include <complex>

#include "catch.hpp"

using namespace heddle;

using detail::holds_no_pointer;
using detail::host_signals;
using detail::kernel_signals;
using detail::Signals;

namespace {

enum class Colour : std::uint8_t { red };
struct Numbers {
    double factor;
    int count;
};
struct Arrays {
    double values[3];
    float last;
};
struct Mixed {
    std::size_t n;
    bool is_on;
    char letter;
    Colour colour;
};
struct Bits {
    unsigned long low : 3;
    unsigned long high : 40;
    double factor;
};
struct PointerLast {
    double factor;
    int* flag;
};
struct PointerFirst {
    int* flag;
    double factor;
};
struct PointerByDefault {
    double factor = 1;
    int* flag = nullptr;
};
struct Pointers {
    int* flags[2];
};
struct Function {
    void (*function)();
    double factor;
};
struct Member {
    double factor;
    int Numbers::*member;
};
struct Reference {
    double factor;
    const double& other;
};
struct WithView {
    double factor;
    View<int> view;
};
struct Nested {
    Numbers numbers;
    double factor;
};
struct Derived : PointerLast {
    int more;
};
union Either {
    double number;
    int* pointer;
};
struct WithUnion {
    Either either;
    double factor;
};

}  // namespace

TEST_CASE("numbers hold no pointers") {
    CHECK(holds_no_pointer<int>());
    CHECK(holds_no_pointer<double>());
    CHECK(holds_no_pointer<Colour>());
    CHECK(holds_no_pointer<Numbers>());
    CHECK(holds_no_pointer<Arrays>());
    CHECK(holds_no_pointer<Mixed>());
    CHECK(holds_no_pointer<Bits>());
    CHECK(holds_no_pointer<std::complex<float>>());
}

TEST_CASE("what may hold a pointer is found, and what cannot be known counts as such") {
    CHECK_FALSE(holds_no_pointer<int*>());
    CHECK_FALSE(holds_no_pointer<PointerLast>());
    CHECK_FALSE(holds_no_pointer<PointerFirst>());
    CHECK_FALSE(holds_no_pointer<PointerByDefault>());
    CHECK_FALSE(holds_no_pointer<Pointers>());
    CHECK_FALSE(holds_no_pointer<Function>());
    CHECK_FALSE(holds_no_pointer<Member>());
    CHECK_FALSE(holds_no_pointer<Reference>());
    CHECK_FALSE(holds_no_pointer<WithView>());
    CHECK_FALSE(holds_no_pointer<Nested>());
    CHECK_FALSE(holds_no_pointer<Derived>());
    CHECK_FALSE(holds_no_pointer<Either>());
    CHECK_FALSE(holds_no_pointer<WithUnion>());
    CHECK_FALSE(holds_no_pointer<std::complex<double>>());
}

TEST_CASE("of a lambda its alignment is known") {
    int value = 0;
    const auto number = [copy = 1] { return copy; };
    const auto wide = [copy = 1.0] { return copy; };
    const auto reference = [&value] { return value; };
    CHECK(holds_no_pointer<decltype(number)>());
    CHECK_FALSE(holds_no_pointer<decltype(wide)>());
    CHECK_FALSE(holds_no_pointer<decltype(reference)>());
    CHECK(number() + wide() + reference() == 2);
}

TEST_CASE("host functions may signal unless they have no state or are quiet") {
    int value = 0;
    const auto none = [] {};
    const auto some = [&value] { ++value; };
    CHECK(host_signals<decltype(none)> == Signals::no);
    CHECK(host_signals<decltype(some)> == Signals::yes);
    CHECK(host_signals<decltype(signals_nothing(some))> == Signals::no);
    CHECK(host_signals<void (*)()> == Signals::yes);
    CHECK(host_signals<decltype(signals_nothing(+none))> == Signals::no);
    signals_nothing(some)();
    CHECK(value == 1);
}

TEST_CASE("kernels may signal on host threads by pointers, and anywhere by atomics") {
    CHECK(kernel_signals<Numbers, View<int>, double> == Signals::no);
    CHECK(kernel_signals<PointerLast, View<int>> == Signals::on_host);
    CHECK(kernel_signals<Numbers, int*> == Signals::on_host);
    CHECK(kernel_signals<Numbers, WithView> == Signals::on_host);
    CHECK(kernel_signals<Numbers, View<std::atomic<int>>> == Signals::yes);
    CHECK(kernel_signals<Numbers, View<const std::atomic<int>>> == Signals::no);
    CHECK(kernel_signals<Numbers, View<volatile int>> == Signals::yes);
}
