// named_stream_costs: checks that a call with a named stream does not allocate, lock a mutex, add a
// wait or change the current stream (docs/internals.md, the section about the hot path). This is a
// separate program, because it replaces `operator new` and pthread_mutex_lock() to count their
// calls. It only uses CPU devices, because a CUDA driver may allocate at any time.
#include <heddle/heddle.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <pthread.h>
#include <thread>

namespace {

thread_local std::size_t allocations = 0, locks = 0;

void* allocate(std::size_t size, std::size_t alignment) {
    ++allocations;
    const std::size_t padded = (size + alignment - 1) / alignment * alignment;
    if (void* memory = std::aligned_alloc(alignment, padded == 0 ? alignment : padded))
        return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    using Lock = int (*)(pthread_mutex_t*);
    static std::atomic<Lock> real{nullptr};
    Lock lock = real.load(std::memory_order_relaxed);
    if (lock == nullptr)
        real = lock = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    ++locks;
    return lock(mutex);
}

using namespace heddle;

namespace {

struct Add {
    HEDDLE_FN void operator()(std::size_t i, View<int> x, int value) const { x[i] += value; }
};

/// Holds a stream while this object exists, so that calls only enqueue.
class Held {
public:
    explicit Held(StreamRef stream) {
        is_open = false;
        launch_host(stream, [] {
            while (!is_open.load()) std::this_thread::yield();
        });
    }
    ~Held() { is_open = true; }

private:
    static inline std::atomic<bool> is_open{true};
};

int failures = 0;

/// Checks the costs of 200 calls on a held stream. Before that, some runs allocate all necessary
/// memory. Waits must be counted last, because counting needs an observer, which has costs itself.
template <class F> void check(bool count_waits, const char* name, StreamRef stream, F&& call) {
    std::size_t allocated = 0, locked = 0, waits = 0;
    const StreamRef current = current_stream();
    // Repeats often enough: each worker may hold a chunk of the queue's memory.
    const int most = 20 + static_cast<int>(std::thread::hardware_concurrency());
    for (int time = 0; time < most; ++time) {
        const std::optional<OpCounter> counter =
            count_waits ? std::optional<OpCounter>(std::in_place) : std::nullopt;
        {
            const Held held(stream);
            allocated = allocations, locked = locks;
            for (int i = 0; i < 200; ++i) call();
            allocated = allocations - allocated, locked = locks - locked;
        }
        if (count_waits) {
            const OpStats since = counter->stats();
            waits = since.waits_inserted + since.waits_elided + since.synchronizations;
            allocated = locked = 0;
        }
        stream.synchronize();
        // A worker may still hold a chunk of the queue's memory. The next run then allocates
        // another one.
        if (time >= 2 && allocated == 0) break;
    }
    const bool moved = current_stream() != current;
    const bool fine = allocated == 0 && locked == 0 && waits == 0 && !moved;
    failures += !fine;
    std::printf("%-14s %zu allocations, %zu mutexes, %zu waits in 200 calls%s%s\n", name, allocated,
                locked, waits, moved ? ", another stream is current" : "", fine ? "" : "  WRONG");
}

}  // namespace

int main() {
    const Device device("cpu");
    const Stream stream(device), other(device);
    Array<int> x = zeros<int>(stream, 100), y = zeros<int>(stream, 100), staging = pinned<int>(100);
    stream.synchronize();
    // Makes another stream current. The calls must ignore it.
    const ScopedStream in(other);
    for (const bool waits : {false, true}) {
        check(waits, "launch", stream, [&] { launch(stream, Add{}, dim(100), x, 1); });
        check(waits, "launch 2d", stream, [&] {
            launch(stream, [] HEDDLE_FN(std::size_t, std::size_t, View<int>) {}, dim(10, 10), x);
        });
        check(waits, "launch_host", stream, [&] { launch_host(stream, [&x] { (void)x; }); });
        check(waits, "copy", stream, [&] { copy(stream, y, x); });
        check(waits, "copy, pinned", stream, [&] { copy(stream, y, staging); });
        check(waits, "fill", stream, [&] { fill(stream, x, 1); });
        check(waits, "fill_zero", stream, [&] { fill_zero(stream, x); });
    }
    return failures == 0 ? 0 : 1;
}
