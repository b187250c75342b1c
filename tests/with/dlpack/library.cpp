// A shared library made with heddle, for the Python programs of this folder. Its functions receive
// and return DLPack tensors. A function owns each tensor that it receives, even after an error.
//
// A stream is passed as the number that __dlpack__(stream=...) receives. `own` stands for the
// library's own stream of the device. Functions that return an int return 0, or 1 after an error;
// functions that return a pointer return null after an error. Errors are printed.
#include "structs.hpp"

#include <heddle/heddle.hpp>
#ifdef __CUDACC__
#include <heddle/cuda.hpp>
#endif

#include <atomic>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

using namespace heddle;

namespace {

constexpr std::intptr_t own = 0;

struct Add {
    HEDDLE_FN void operator()(std::size_t i, float amount, View<float> x) const { x[i] += amount; }
};
struct Count {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] = static_cast<float>(i); }
};

/// The streams that were used so far. The wrappers of consumers' streams persist. So when a tensor
/// ends, its memory is also freed after work that the consumer enqueued later.
struct Streams {
    std::mutex mutex;
    std::map<std::pair<Device, std::intptr_t>, Stream> all;
};
Streams& streams() {
    static auto* const one = new Streams;
    return *one;
}
StreamRef stream_of(Device device, std::intptr_t number) {
    Streams& here = streams();
    const std::lock_guard lock(here.mutex);
    auto found = here.all.find({device, number});
    if (found == here.all.end())
        found = here.all
                    .emplace(std::pair{device, number},
                             number == own ? Stream(device) : dlpack_stream(device, number))
                    .first;
    return found->second;
}

constexpr int cpu_type = 1;
Device device_of(int type, int id) {
    return type == cpu_type ? Device("cpu") : Device(DeviceKind::cuda, id);
}
Device device_of(const DLTensor& tensor) { return device_of(tensor.device_type, tensor.device_id); }

std::atomic<bool> is_open{true};

/// Calls f. If it throws, prints the error and returns `failed`.
template <class R, class F> R guarded(R failed, const F& f) {
    try {
        return f();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return failed;
    }
}

/// Returns a tensor of x for the consumer. A consumer on the host has no stream.
template <class M, class X>
void* made_for(Device device, std::intptr_t consumer, X& x, const DlpackShape& shape) {
    if (device.is_cpu()) return to_dlpack<M>(x, shape).release();
    return to_dlpack<M>(stream_of(device, consumer), x, shape).release();
}

/// Calls f with the tensor: a DLManagedTensorVersioned if `is_versioned` is not 0, else a
/// DLManagedTensor.
template <class F> auto typed(void* tensor, int is_versioned, const F& f) {
    if (is_versioned != 0) return f(static_cast<DLManagedTensorVersioned*>(tensor));
    return f(static_cast<DLManagedTensor*>(tensor));
}

}  // namespace

extern "C" {

int heddle_gpus() { return device_count(DeviceKind::cuda); }

/// Returns the number of the library's own stream, which a producer receives in
/// __dlpack__(stream=...).
std::intptr_t own_stream([[maybe_unused]] int gpu) {
#ifdef __CUDACC__
    return guarded(std::intptr_t{-1}, [&] {
        return reinterpret_cast<std::intptr_t>(
            native_handle(stream_of(Device(DeviceKind::cuda, gpu), own)));
    });
#else
    return -1;
#endif
}

/// Enqueues a host function that returns after open_gate().
int hold(int type, int id, std::intptr_t number) {
    return guarded(1, [&] {
        is_open = false;
        launch_host(stream_of(device_of(type, id), number), [] { is_open.wait(false); });
        return 0;
    });
}
void open_gate() {
    is_open = true;
    is_open.notify_all();
}

/// Returns a tensor of a new array of 0, 1, 2, ... The tensor is the array's only owner. The array
/// is filled on the library's own stream.
void* make(int type, int id, long rows, long columns, int is_read_only, std::intptr_t consumer,
           int is_versioned) {
    return guarded(static_cast<void*>(nullptr), [&] {
        const Device device = device_of(type, id);
        const StreamRef s = stream_of(device, own);
        Array<float> x(s, static_cast<std::size_t>(rows * columns));
        launch(s, Count{}, dim(x.size()), x);
        const DlpackShape shape{rows, columns};
        if (is_versioned == 0) return made_for<DLManagedTensor>(device, consumer, x, shape);
        if (is_read_only == 0)
            return made_for<DLManagedTensorVersioned>(device, consumer, x, shape);
        return made_for<DLManagedTensorVersioned>(device, consumer, std::as_const(x), shape);
    });
}

/// Enqueues an addition to each element, on the stream with this number.
int add(void* tensor, int is_versioned, std::intptr_t number, float amount) {
    return guarded(1, [&] {
        typed(tensor, is_versioned, [&](auto* managed) {
            const StreamRef s = stream_of(device_of(managed->tensor), number);
            Array<float> x = from_dlpack<float>(s, managed);
            launch(s, Add{}, dim(x.size()), amount, x);
        });
        return 0;
    });
}

/// Same as add(), but also returns the memory as a new tensor of one dimension.
void* pass_through(void* tensor, int is_versioned, std::intptr_t number, float amount,
                   std::intptr_t consumer, int as_versioned) {
    return guarded(static_cast<void*>(nullptr), [&] {
        return typed(tensor, is_versioned, [&](auto* managed) {
            const Device device = device_of(managed->tensor);
            const StreamRef s = stream_of(device, number);
            Array<float> x = from_dlpack<float>(s, managed);
            launch(s, Add{}, dim(x.size()), amount, x);
            return as_versioned != 0 ? made_for<DLManagedTensorVersioned>(device, consumer, x, {})
                                     : made_for<DLManagedTensor>(device, consumer, x, {});
        });
    });
}

/// Returns the sum of the elements. Blocks. Returns -1 after an error.
double sum(void* tensor, int is_versioned, std::intptr_t number) {
    return guarded(-1.0, [&] {
        return typed(tensor, is_versioned, [&](auto* managed) {
            const StreamRef s = stream_of(device_of(managed->tensor), number);
            double all = 0;
            for (const float v : to_host(s, from_dlpack<float>(s, managed))) all += v;
            return all;
        });
    });
}

/// Overwrites freed memory: fills new arrays of this size, on the library's own stream.
int reuse(int type, int id, long elements) {
    return guarded(1, [&] {
        const StreamRef s = stream_of(device_of(type, id), own);
        std::vector<Array<float>> arrays;
        for (int i = 0; i < 8; ++i) {
            arrays.emplace_back(s, static_cast<std::size_t>(elements));
            fill(s, arrays.back(), -1.0f);
        }
        return 0;
    });
}

/// Calls the tensor's deleter.
void end(void* tensor, int is_versioned) {
    typed(tensor, is_versioned, [](auto* managed) { DlpackDeleter{}(managed); });
}

/// Blocks until the deleters of all tensors without users have been called.
int finish_deleters() {
    return guarded(1, [] { return finish_adopted(), 0; });
}
/// Same as finish_deleters(), for Python's atexit, because deleters may need Python. Also ends the
/// library's streams.
void finish() {
    guarded(1, [] {
        finish_adopted();
        Streams& here = streams();
        const std::lock_guard lock(here.mutex);
        here.all.clear();
        return 0;
    });
}
}
