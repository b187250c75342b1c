#include "support.hpp"

#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"

#include <algorithm>
#include <cstdlib>

// These options are needed because tests make allocations that are too large, and call fork().
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
    return "allocator_may_return_null=1:die_after_fork=0";
}

namespace heddle_test {

namespace {

// By default, CUDA loads a kernel when it is first launched, and loading waits for running kernels.
// If a gate holds a stream, loading could take forever.
[[maybe_unused]] const int load_eagerly = setenv("CUDA_MODULE_LOADING", "EAGER", 0);

// Streams share hardware queues, by default 8. A stream that shares a queue with a held stream may
// wait for the gate, too.
[[maybe_unused]] const int many_queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);

DeviceKind test_kind() {
    const char* kind = std::getenv("HEDDLE_TEST_DEVICE");
    return kind != nullptr && std::string(kind) == "cuda" ? DeviceKind::cuda : DeviceKind::cpu;
}

}  // namespace

Device test_device() { return Device(test_kind(), 0); }

std::vector<Device> test_devices() {
    std::vector<Device> all = devices();
    std::erase_if(all, [](Device d) { return d.kind() != test_kind(); });
    return all;
}

Device cpu_device() { return Device("cpu:0"); }

int cpu_workers() { return cpu_device().info().processors; }

std::size_t repetitions(std::size_t on_cpu, std::size_t on_cuda) {
    return test_kind() == DeviceKind::cuda ? on_cuda
           : HEDDLE_TEST_TSAN != 0         ? (on_cpu + 3) / 4
                                           : on_cpu;
}

std::chrono::milliseconds patience(std::chrono::milliseconds usual) {
    static const double factor = [] {
        const char* const text = std::getenv("HEDDLE_TEST_PATIENCE");
        const double asked = text != nullptr ? std::atof(text) : 1;
        return (asked > 0 ? asked : 1) * (HEDDLE_TEST_SANITIZED != 0 ? 3 : 1);
    }();
    return std::chrono::duration_cast<std::chrono::milliseconds>(usual * factor);
}

// The empty host function makes the keeper submit its work.
Gate::Gate()
    : opened_(detail::make_completion()), keeper_(cpu_device(), {.priority = 0, .name = "gate"}) {
    detail::cpu_backend().wait_completion(detail::record_of(keeper_), opened_, Where());
    launch_host(keeper_, [] {});
    event_.emplace(keeper_.record_event());
}

Gate::~Gate() { open(); }

void Gate::hold(StreamRef stream) const { stream.wait_event(*event_); }

void Gate::open() {
    if (!std::exchange(open_, true)) opened_->complete();
}

Apart::Apart(Device a, Device b)
    : a_(a), b_(b), pool_{is_pool_access_enabled(a, b), is_pool_access_enabled(b, a)},
      peer_{is_peer_access_enabled(a, b), is_peer_access_enabled(b, a)} {
    synchronize();
    disable_pool_access(a, b);
    disable_pool_access(b, a);
    disable_peer_access(a, b);
    disable_peer_access(b, a);
}

Apart::~Apart() {
    synchronize();
    if (pool_[0]) enable_pool_access(a_, b_);
    if (pool_[1]) enable_pool_access(b_, a_);
    if (peer_[0]) enable_peer_access(a_, b_);
    if (peer_[1]) enable_peer_access(b_, a_);
}

void Flag::set() const {
    {
        const std::lock_guard lock(state_->mutex);
        state_->set = true;
    }
    state_->changed.notify_all();
}

bool Flag::is_set() const {
    const std::lock_guard lock(state_->mutex);
    return state_->set;
}

bool Flag::wait() const { return wait(patience(std::chrono::seconds(20))); }

bool Flag::wait(std::chrono::milliseconds limit) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, limit, [&] { return state_->set; });
}

void OrderLog::add(std::string what) const {
    const std::lock_guard lock(state_->mutex);
    state_->seen.push_back(std::move(what));
}

void OrderLog::note(StreamRef stream, std::string what) const {
    launch_host(stream, [recorder = *this, what = std::move(what)] { recorder.add(what); });
}

std::vector<std::string> OrderLog::seen() const {
    const std::lock_guard lock(state_->mutex);
    return state_->seen;
}

bool OrderLog::has(const std::string& what) const {
    const std::lock_guard lock(state_->mutex);
    return std::find(state_->seen.begin(), state_->seen.end(), what) != state_->seen.end();
}

void finish_work(Device device) {
    for (int i = 0; i < 3; ++i) {
        Stream last(device, {.priority = device.priorities().least, .name = "finish_work"});
        launch_host(last, [] {});
        last.synchronize();
    }
}

void (*call_unchecked)(const std::function<void()>&) = [](const std::function<void()>& function) {
    function();
};

Drained::~Drained() {
    for (Device device : devices()) {
        try {
            synchronize_device(device);
        } catch (...) {  // the test itself has checked the expected failures
        }
    }
}

Reports::Reports()
    : before_(set_report_hook([state = state_](const Error& error) {
          const std::lock_guard lock(state->mutex);
          state->errors.push_back(error);
      })) {}

Reports::~Reports() { set_report_hook(before_); }

std::vector<Error> Reports::all() const {
    const std::lock_guard lock(state_->mutex);
    return state_->errors;
}

std::string cause_of(const Error& error) {
    if (error.cause() == nullptr) return "(no cause)";
    try {
        std::rethrow_exception(error.cause());
    } catch (const std::exception& cause) {
        return cause.what();
    } catch (...) {
        return "(not a std::exception)";
    }
}

void poison(StreamRef stream, const std::string& text) {
    launch_host(stream, [text] { throw Boom(text); });
    if (!eventually([&] { return stream.is_poisoned(); }))
        throw std::runtime_error("the stream was never poisoned");
}

}  // namespace heddle_test
