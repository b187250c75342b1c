// Access of devices to each other's memory, and memory pools.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {
/// Sets `a` and `b` to two devices under test that can access each other's memory. Returns why
/// there are none, or an empty string.
std::string pair_of(Device& a, Device& b) {
    const std::vector<Device> all = test_devices();
    if (all.size() < 2) return "needs two devices";
    a = all[0];
    b = all[1];
    return a.can_access_peer(b) && b.can_access_peer(a)
               ? ""
               : "these two devices cannot reach each other";
}
}  // namespace

TEST_CASE("a device has access to its own memory, and to none of another kind") {
    const Device device = test_device();
    CHECK(is_peer_access_enabled(device, device));
    CHECK(is_pool_access_enabled(device, device));
    enable_pool_access(device, device);
    disable_pool_access(device, device);
    CHECK(is_pool_access_enabled(device, device));
    if (test_device().is_cpu()) return;
    CHECK_FALSE(is_pool_access_enabled(device, cpu_device()));
    CHECK(thrown_by([&] { enable_peer_access(device, cpu_device()); }).code() == ErrorCode::usage);
}

TEST_CASE(
    "with access to another device's pool, kernels use its arrays; without, they are refused") {
    Device a = test_device(), b = a;
    if (const std::string reason = pair_of(a, b); !reason.empty()) HEDDLE_SKIP(reason);
    const Apart apart(a, b);
    const Stream on_a(a), on_b(b);
    Array<int> x = full<int>(on_b, 1000, 1);
    on_a.wait_stream(on_b);
    if (a.is_cuda()) {
        const Error refused = thrown_by([&] { launch(on_a, Add{}, dim(1000), x, 1); });
        CHECK(refused.code() == ErrorCode::usage);
        CHECK_THAT(refused.what(), contains("enable_pool_access"));
    }
    {
        const ScopedPoolAccess both(a, b);
        CHECK(is_pool_access_enabled(a, b));
        CHECK(is_pool_access_enabled(b, a));
        launch(on_a, Add{}, dim(1000), x, 4);
        on_a.synchronize();
    }
    CHECK(is_pool_access_enabled(a, b) == a.is_cpu());
    CHECK(to_host(x) == Ints(1000, 5));
}

TEST_CASE("access is directional, and switching it again changes nothing") {
    Device a = test_device(), b = a;
    if (const std::string reason = pair_of(a, b); !reason.empty()) HEDDLE_SKIP(reason);
    const Apart apart(a, b);
    for (int i = 0; i < 2; ++i) {
        enable_pool_access(a, b);
        enable_peer_access(a, b);
    }
    CHECK(is_pool_access_enabled(a, b));
    CHECK(is_peer_access_enabled(a, b));
    CHECK(is_pool_access_enabled(b, a) == a.is_cpu());
    CHECK(is_peer_access_enabled(b, a) == a.is_cpu());
    for (int i = 0; i < 2; ++i) {
        disable_pool_access(a, b);
        disable_peer_access(a, b);
    }
    CHECK(is_pool_access_enabled(a, b) == a.is_cpu());
    CHECK(is_peer_access_enabled(a, b) == a.is_cpu());
}

TEST_CASE("copies between devices do not depend on access") {
    Device a = test_device(), b = a;
    if (const std::string reason = pair_of(a, b); !reason.empty()) HEDDLE_SKIP(reason);
    const Apart apart(a, b);
    const Stream on_a(a), on_b(b);
    Array<int> x = full<int>(on_a, 100'000, 7), y = zeros<int>(on_b, 100'000);
    for (const bool enabled : {false, true, false}) {
        std::optional<ScopedPoolAccess> access;
        if (enabled) access.emplace(a, b);
        fill(on_b, y, 0);
        on_b.wait_stream(on_a);
        copy(on_b, y, x);
        on_b.synchronize();
        CHECK(to_host(y) == Ints(100'000, 7));
    }
}

TEST_CASE("a pool tells what is used, keeps high-water marks, and gives memory back when asked") {
    const Device device = test_device();
    const Stream s(device);
    synchronize_device(device);
    reset_peak_memory_stats(device);
    const MemoryStats before = memory_stats(device);
    constexpr std::size_t bytes = 64 << 20;
    {
        Array<std::byte> memory = empty<std::byte>(s, bytes);
        const MemoryStats now = memory_stats(device);
        CHECK(now.in_use >= before.in_use + bytes);
        CHECK(now.reserved >= now.in_use);
    }
    s.synchronize();
    const MemoryStats after = memory_stats(device);
    CHECK(after.in_use < before.in_use + bytes);
    CHECK(after.peak >= before.in_use + bytes);
    reset_peak_memory_stats(device);
    CHECK(memory_stats(device).peak < before.in_use + bytes);
    trim_pool(device);
    CHECK(memory_stats(device).reserved <= after.reserved);
}

TEST_CASE("a pool's release threshold is set and read; CPU devices have none") {
    const Device device = test_device();
    const std::size_t before = pool_release_threshold(device);
    if (device.is_cpu()) {
        CHECK(before == 0);
        const Error refused = thrown_by([&] { set_pool_release_threshold(device, 1); });
        CHECK(refused.code() == ErrorCode::unsupported);
        return;
    }
    set_pool_release_threshold(device, 1 << 20);
    CHECK(pool_release_threshold(device) == 1 << 20);
    set_pool_release_threshold(device, before);
    CHECK(pool_release_threshold(device) == before);
}
