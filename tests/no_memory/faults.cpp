#include "no_memory/faults.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include <dlfcn.h>
#include <execinfo.h>

namespace heddle_test {

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> everywhere{false}, for_good{false};
std::atomic<long> countdown{0}, failed{0};
std::atomic<long> live{0};
thread_local bool is_here = false;  // true in the thread that made the Faults object
thread_local bool is_own = false;

/// Returns whether NCCL started the calling thread, that is, whether the thread's stack begins in
/// NCCL's library.
bool is_thread_of_nccl() noexcept {
    enum class Starter : unsigned char { not_known, nccl, other };
    thread_local Starter starter = Starter::not_known;
    if (starter == Starter::not_known) {
        const OwnMemory own;
        void* frames[256];
        const int count = backtrace(frames, static_cast<int>(std::size(frames)));
        starter = Starter::other;
        for (int i = 0; i < count; ++i) {
            Dl_info info;
            if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
            const char* const slash = std::strrchr(info.dli_fname, '/');
            if (std::strstr(slash != nullptr ? slash : info.dli_fname, "nccl") != nullptr)
                starter = Starter::nccl;
        }
    }
    return starter == Starter::nccl;
}

bool fails() noexcept {
    if (!armed.load(std::memory_order_acquire) || is_own) return false;
    if (!is_here && (!everywhere.load(std::memory_order_relaxed) || is_thread_of_nccl()))
        return false;
    const long before = countdown.fetch_sub(1, std::memory_order_relaxed);
    if (before > 0 || (before < 0 && !for_good.load(std::memory_order_relaxed))) return false;
    failed.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void* take(std::size_t bytes, std::size_t alignment) noexcept {
    if (fails()) return nullptr;
    void* const data =
        alignment <= alignof(std::max_align_t)
            ? std::malloc(bytes != 0 ? bytes : 1)
            : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (data != nullptr) live.fetch_add(1, std::memory_order_relaxed);
    return data;
}

void* take_or_throw(std::size_t bytes, std::size_t alignment = 1) {
    if (void* const data = take(bytes, alignment)) return data;
    throw std::bad_alloc();
}

void give(void* data) noexcept {
    if (data != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
    std::free(data);
}

}  // namespace

Faults::Faults(Fault fault, long k) noexcept {
    is_here = true;
    everywhere = fault == Fault::one_anywhere;
    for_good = fault == Fault::all_here;
    countdown = k;
    failed = 0;
    armed = true;
}
Faults::~Faults() {
    armed = false;
    is_here = false;
}
long Faults::count() const noexcept { return failed.load(); }

OwnMemory::OwnMemory() noexcept : before_(std::exchange(is_own, true)) {}
OwnMemory::~OwnMemory() { is_own = before_; }

long live_allocations() noexcept { return live.load(); }

}  // namespace heddle_test

using heddle_test::give;
using heddle_test::take;
using heddle_test::take_or_throw;
using Align = std::align_val_t;
using std::size_t;

void* operator new(size_t n) { return take_or_throw(n); }
void* operator new[](size_t n) { return take_or_throw(n); }
void* operator new(size_t n, Align a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, Align a) { return take_or_throw(n, static_cast<size_t>(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(n, 1); }
void* operator new(size_t n, Align a, const std::nothrow_t&) noexcept {
    return take(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, Align a, const std::nothrow_t&) noexcept {
    return take(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, size_t) noexcept { give(p); }
void operator delete[](void* p, size_t) noexcept { give(p); }
void operator delete(void* p, Align) noexcept { give(p); }
void operator delete[](void* p, Align) noexcept { give(p); }
void operator delete(void* p, size_t, Align) noexcept { give(p); }
void operator delete[](void* p, size_t, Align) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete(void* p, Align, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, Align, const std::nothrow_t&) noexcept { give(p); }
