// Devices: names, enumeration and properties.
#include "support.hpp"

#include <cstdlib>
#include <unordered_set>

using namespace heddle_test;

TEST_CASE("a device is named by its kind and index") {
    CHECK(Device("cpu").name() == "cpu:0");
    CHECK(Device("cpu:0") == Device("cpu"));
    CHECK(Device(DeviceKind::cpu, 0) == Device("cpu:0"));
    CHECK(Device("cpu").is_cpu());
    CHECK_FALSE(Device("cpu").is_cuda());
    for (Device d : devices()) CHECK(Device(d.name()) == d);
}

TEST_CASE("text that names no device is a usage error which repeats it") {
    const std::string text = GENERATE("", "gpu", "cpu:", "cpu:x", "cpu:1x", "cpu:-1", "cpu :0",
                                      "cuda:99999999999999999999", "cpu:0:0", "CPU");
    CAPTURE(text);
    const Error error = thrown_by([&] { Device{text}; });
    CHECK(error.code() == ErrorCode::usage);
    CHECK_THAT(error.what(), contains(text));
}

TEST_CASE(
    "a device that the machine does not have is NoDevice, and the message says which there are") {
    CHECK_THROWS_AS(Device("cpu:64"), NoDevice);
    CHECK_THROWS_AS(Device(DeviceKind::cpu, 4096), NoDevice);
    CHECK_THROWS_AS(Device(DeviceKind::cuda, 4096), NoDevice);
    const auto error = error_of([] { Device("cpu:63"); });
    if (device_count(DeviceKind::cpu) < 64) {
        REQUIRE(error);
        CHECK(error->code() == ErrorCode::no_device);
        CHECK_THAT(error->what(), contains("cpu:0"));
    }
}

TEST_CASE("a device with a negative index cannot be made") {
    const Error error = thrown_by([] { Device(DeviceKind::cpu, -1); });
    CHECK((error.code() == ErrorCode::usage || error.code() == ErrorCode::no_device));
}

TEST_CASE("an error about a device knows the caller's line") {
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([] { Device("nonsense"); });
    CHECK(error.where().line == line);
    CHECK_THAT(error.where().file, contains("device_test.cpp"));
}

TEST_CASE("without CUDA devices, asking for one says why there are none") {
    if (device_count(DeviceKind::cuda) > 0) HEDDLE_SKIP("there is a CUDA device");
    const Error error = thrown_by([] { Device("cuda:0"); });
    CHECK(error.code() == ErrorCode::no_device);
    CHECK_FALSE(cuda_unavailable_reason().empty());
    CHECK_THAT(error.what(), contains(cuda_unavailable_reason()));
}

TEST_CASE("there is no reason why CUDA is unavailable where there is a CUDA device") {
    CHECK(cuda_unavailable_reason().empty() == (device_count(DeviceKind::cuda) > 0));
}

TEST_CASE("there are as many CPU devices as HEDDLE_CPU_DEVICES says, and one without it") {
    const char* wanted = std::getenv("HEDDLE_CPU_DEVICES");
    CHECK(device_count(DeviceKind::cpu) == (wanted != nullptr ? std::atoi(wanted) : 1));
}

TEST_CASE("a CPU device has as many workers as HEDDLE_CPU_THREADS says") {
    const char* wanted = std::getenv("HEDDLE_CPU_THREADS");
    if (wanted == nullptr) HEDDLE_SKIP("HEDDLE_CPU_THREADS is not set");
    CHECK(cpu_workers() == std::atoi(wanted));
}

TEST_CASE("the list of devices has each one once, CUDA devices first") {
    const std::vector<Device> all = devices();
    const auto cudas = static_cast<std::size_t>(device_count(DeviceKind::cuda));
    REQUIRE(all.size() == cudas + static_cast<std::size_t>(device_count(DeviceKind::cpu)));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_cuda = i < cudas;
        CHECK(all[i] == Device(is_cuda ? DeviceKind::cuda : DeviceKind::cpu,
                               static_cast<int>(is_cuda ? i : i - cudas)));
    }
    CHECK(std::unordered_set<Device>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("a device knows its name, memory, processors and priorities") {
    for (Device d : devices()) {
        CAPTURE(d.name());
        const DeviceInfo& info = d.info();
        CHECK_FALSE(info.name.empty());
        CHECK(info.total_memory > 0);
        CHECK(info.processors >= 1);
        CHECK(info.priorities.least >= info.priorities.greatest);
        CHECK(d.priorities() == info.priorities);
        CHECK(d.free_memory() > 0);
        CHECK(d.free_memory() <= info.total_memory);
        CHECK(info.bus_id.empty() == d.is_cpu());
        CHECK((info.compute_major == 0) == d.is_cpu());
        CHECK((info.copy_engines == 0) == d.is_cpu());
        CHECK(&d.info() == &info);
    }
}

TEST_CASE("every device has more than one priority") {
    for (Device d : devices()) CHECK(d.priorities().least > d.priorities().greatest);
}

TEST_CASE("a device reaches its own memory") {
    for (Device d : devices()) {
        CHECK(d.can_access_peer(d));
        CHECK(d.can_access_pool(d));
    }
}

CUDA_TEST_CASE("a GPU and a CPU device do not reach each other's memory", "[cross]") {
    CHECK_FALSE(cpu_device().can_access_peer(Device("cuda:0")));
    CHECK_FALSE(cpu_device().can_access_pool(Device("cuda:0")));
}

TEST_CASE("a default-constructed device is the thread's current one") {
    const ScopedDevice on{test_devices().back()};
    CHECK(current_device() == test_devices().back());
}

TEST_CASE("a thread starts on the default device") {
    const ScopedDevice on{test_devices().back()};
    std::optional<Device> seen;
    std::thread([&] { seen = current_device(); }).join();
    CHECK(seen == default_device());
}
