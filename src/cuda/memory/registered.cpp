// Host memory of users that is pinned in place.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/host_sync/await_gate.hpp"
#include "cuda/memory/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

/// The pages that heddle has registered, as ranges that do not overlap. CUDA pins whole pages, each
/// of them once. So an array registers only pages that are not registered yet, and counts as a user
/// of each range that it touches.
class RegisteredPages {
public:
    void add(void* data, std::size_t bytes, const SourceLocation& where) {
        const Range pages = pages_of(data, bytes);
        Used used{*this, {pages.begin, pages.begin}};
        const std::lock_guard lock(mutex_);
        while (used.pages.end < pages.end)
            used.pages.end = use_next(used.pages.end, pages.end, where);
        used.pages.begin = used.pages.end;
    }

    /// Blocks until the gate can be closed, because unregistering may wait for all devices with the
    /// driver's lock held. The pages' owner will free them, so this cannot be left for later.
    void remove(void* data, std::size_t bytes) noexcept { remove(pages_of(data, bytes)); }

private:
    struct Pages {
        std::uintptr_t end;
        std::size_t uses;
    };
    struct Range {
        std::uintptr_t begin, end;
    };
    /// Pages whose uses are removed again. Must be destroyed without the mutex.
    struct Used {
        RegisteredPages& owner;
        Range pages;
        ~Used() { owner.remove(pages); }
    };

    static Range pages_of(void* data, std::size_t bytes) noexcept {
        static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const auto address = reinterpret_cast<std::uintptr_t>(data);
        return {address & -page, (address + bytes + page - 1) & -page};
    }

    /// Adds a use of the range that contains the page `at`, or registers the pages from there up to
    /// the next range or `end`. Returns the end of the range. Call with the mutex held.
    std::uintptr_t use_next(std::uintptr_t at, std::uintptr_t end, const SourceLocation& where) {
        const auto next = registered_.upper_bound(at);
        if (next != registered_.begin() && std::prev(next)->second.end > at) {
            ++std::prev(next)->second.uses;
            return std::prev(next)->second.end;
        }
        if (next != registered_.end()) end = std::min(end, next->first);
        const auto added = registered_.emplace_hint(next, at, Pages{end, 1});
        try {
            register_pages(reinterpret_cast<void*>(at), end - at, where);
        } catch (...) {
            registered_.erase(added);
            throw;
        }
        return end;
    }

    void remove(Range pages) noexcept {
        while (!try_remove(pages)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    /// Removes a use of each range in `pages`. Returns false if it has to be called again, with the
    /// rest in `pages`.
    bool try_remove(Range& pages) noexcept {
        const std::lock_guard lock(mutex_);
        while (pages.begin < pages.end) {
            const auto range = std::prev(registered_.upper_bound(pages.begin));
            const std::uintptr_t next = range->second.end;
            if (range->second.uses > 1) {
                --range->second.uses;
            } else {
                if (!unregister_pages(reinterpret_cast<void*>(range->first))) return false;
                registered_.erase(range);
            }
            pages.begin = next;
        }
        return true;
    }

    /// Returns false if the gate cannot be closed now.
    static bool unregister_pages(void* begin) noexcept {
        Gpu* const g = any_gpu();
        if (g == nullptr) return true;
        if (!await_gate.close()) return false;
        {
            RelaxedCapture relaxed;
            const InContext in(*g);
            note_failure(api.cudaHostUnregister(begin), "cudaHostUnregister", g->index);
        }
        await_gate.open();
        return true;
    }

    static void register_pages(void* data, std::size_t bytes, const SourceLocation& where) {
        Gpu& g = some_gpu("register_host", where);
        RelaxedCapture relaxed;
        const InContext in(g);
        const cudaError_t code =
            api.cudaHostRegister(data, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
        if (code == cudaSuccess) return;
        if (is_sticky(code)) fail(code, "cudaHostRegister", g.index, nullptr, where);
        cudaGetLastError();
        const ErrorSite site = with_native({"register_host", where, gpu_device(g.index)}, code);
        if (code == cudaErrorMemoryAllocation)
            coded_error(ErrorCode::out_of_memory, site,
                        "{} bytes cannot be pinned: the system cannot lock that many pages", bytes);
        if (code == cudaErrorHostMemoryAlreadyRegistered)
            usage_error(site, "code outside heddle has pinned these pages, or some of them: "
                              "adopt(MemoryKind::pinned, ...) them if it pinned all");
        usage_error(site, "CUDA cannot pin this memory, for example because it is a read-only "
                          "mapping, or of a file or device: lend() it, or copy it to pinned() "
                          "memory");
    }

    std::mutex mutex_;
    std::map<std::uintptr_t, Pages> registered_;
};

constinit MadeOnce<RegisteredPages> registered;

}  // namespace

void CudaBackend::register_host(void* data, std::size_t bytes, const SourceLocation& where) {
    refuse_forked("register_host", where);
    if (in_callback)
        usage_error({"register_host", where},
                    "a host function of a CUDA stream may not call CUDA, which pins the memory");
    registered.get().add(data, bytes, where);
}

void CudaBackend::unregister_host(void* data, std::size_t bytes) noexcept {
    if (!is_forked()) registered.get().remove(data, bytes);
}

}  // namespace heddle::detail::cu
