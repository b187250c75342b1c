// Ways to make arrays: constructors, devices instead of streams, lists of values, clones, bools.
#include "support.hpp"

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

using namespace heddle_test;

TEST_CASE("an array of a size is allocated on the current stream, a stream, or a device's") {
    const Here here;
    Array<float> x(1000);
    CHECK(x.size() == 1000);
    CHECK(x.device() == test_device());
    CHECK(x.kind() == MemoryKind::device);
    for (const Device device : test_devices()) {
        CHECK(Array<int>(device, 10).device() == device);
        const Stream s(device);
        CHECK(Array<int>(s, 10).device() == device);
    }
    CHECK(Array<int>(0).empty());
    static_assert(!std::is_convertible_v<int, Array<int>>);
    const unsigned line = __LINE__ + 1;
    CHECK(thrown_by([] { const Array<double> all(~std::size_t{0}); }).where().line == line);
}

TEST_CASE("arrays are made on the current stream of a device that is named") {
    for (const Device device : test_devices()) {
        const Stream s(device);
        const ScopedStream in(s);
        const ScopedDevice elsewhere(cpu_device());
        CHECK(empty<int>(device, 3).device() == device);
        Array<int> none = zeros<int>(device, 3), five = full<int>(device, 3, 5);
        const std::vector<int> values{7, 8};
        Array<int> passed = from_host(device, values), listed = from_host(device, {1, 2, 3});
        CHECK(passed.device() == device);
        CHECK(listed.device() == device);
        CHECK(to_host(none) == Ints(3, 0));
        CHECK(to_host(five) == Ints(3, 5));
        CHECK(to_host(passed) == values);
        CHECK(to_host(listed) == Ints{1, 2, 3});
    }
}

TEST_CASE("what makes an array on a device is enqueued on the current stream of that device") {
    const Stream s(test_device());
    const ScopedStream in(s);
    const ScopedDevice elsewhere(cpu_device());
    const auto enqueued = [&] { return detail::Access::state(s).submissions.load(); };
    const std::uint64_t before = enqueued();
    Array<int> x = zeros<int>(test_device(), 10);
    const std::uint64_t zeroed = enqueued();
    CHECK(zeroed > before);
    Array<int> y = full<int>(test_device(), 10, 3);
    CHECK(enqueued() > zeroed);
    s.synchronize();
}

TEST_CASE("a list of values becomes an array on a stream") {
    const Stream s(test_device());
    Array<double> x = from_host(s, {1.5, 2.5});
    CHECK(to_host(s, x) == std::vector<double>{1.5, 2.5});
    CHECK(from_host(s, std::initializer_list<int>{}).empty());
}

TEST_CASE("a clone has the elements, the device and the kind of memory, and memory of its own") {
    const Drained drained;
    const Here here;
    Array<int> x = from_host({1, 2, 3});
    Array<int> y = clone(x);
    static_assert(std::is_same_v<decltype(clone(std::as_const(x))), Array<int>>);
    fill(x, 0);
    CHECK(to_host(y) == Ints{1, 2, 3});
    CHECK(y.device() == test_device());
    CHECK(y.kind() == MemoryKind::device);
    Array<int> host = pinned<int>(2), plain = pageable<int>(2);
    host[0] = plain[0] = 4;
    host[1] = plain[1] = 5;
    Array<int> of_pinned = clone(host), of_pageable = clone(plain);
    CHECK(of_pinned.kind() == MemoryKind::pinned);
    CHECK(of_pageable.kind() == MemoryKind::pageable);
    CHECK(to_host(of_pinned) == Ints{4, 5});
    CHECK(to_host(of_pageable) == Ints{4, 5});
    CHECK(clone(Array<int>(0)).empty());
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([] { (void)clone(Array<int>()); });
    CHECK(error.where().line == line);
    CHECK(error.call() == "clone");
}

TEST_CASE("a clone comes after the work that fills its source") {
    const Drained drained;
    const Here here;
    Array<int> x = zeros<int>(100);
    Gate gate(here.stream);
    fill(x, 3);
    Array<int> y = clone(x);
    fill(x, 4);
    gate.open();
    CHECK(to_host(y) == Ints(100, 3));
}

TEST_CASE("a clone can be made of a part, on a stream, and on another device") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = from_host(s, {1, 2, 3, 4});
    CHECK(to_host(s, clone(s, x.last(2))) == Ints{3, 4});
    s.synchronize();
    for (const Device device : {cpu_device(), test_devices().back()}) {
        Array<int> there = clone(device, x);
        CHECK(there.device() == device);
        CHECK(to_host(there) == Ints{1, 2, 3, 4});
    }
    const View<const int> none;
    CHECK(clone(s, none).empty());
}

TEST_CASE("an array of bools goes to the host as a std::vector of bools, and comes from an array") {
    const Here here;
    Array<bool> x = from_host({true, false, true});
    CHECK(to_host(x) == std::vector<bool>{true, false, true});
    CHECK(to_host(here.stream, x.last(2)) == std::vector<bool>{false, true});
    CHECK(to_host(zeros<bool>(70)) == std::vector<bool>(70, false));
}
