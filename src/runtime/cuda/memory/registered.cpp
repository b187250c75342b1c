// Pins host memory of users in place.
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
#include "cuda/host_sync/wait_gate.hpp"
#include "cuda/memory/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

/// The pages that heddle has registered. CUDA pins whole pages, and each page only once. So an
/// array whose pages are already registered counts as another use of that registration.
class RegisteredPages {
public:
    void add(void* data, std::size_t bytes, const SourceLocation& where) {
        const auto [begin, end] = pages_of(data, bytes);
        const std::lock_guard lock(mutex_);
        if (const auto found = find(begin); found != registered_.end()) {
            if (end <= found->second.end) return void(++found->second.uses);
            throw_shared_page(where);
        }
        const auto next = registered_.lower_bound(begin);
        if (next != registered_.end() && next->first < end) throw_shared_page(where);
        const auto added = registered_.emplace_hint(next, begin, Pages{end, 1});
        try {
            register_pages(reinterpret_cast<void*>(begin), end - begin, where);
        } catch (...) {
            registered_.erase(added);
            throw;
        }
    }

    /// Blocks until wait_gate can be closed, because unregistering may wait for all devices with
    /// the driver's lock held. Cannot be deferred, because the owner of the pages may free them
    /// afterwards.
    void remove(void* data, std::size_t bytes) noexcept {
        while (!try_remove(data, bytes)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

private:
    struct Pages {
        std::uintptr_t end;
        std::size_t uses;
    };
    struct Range {
        std::uintptr_t begin, end;
    };

    static Range pages_of(void* data, std::size_t bytes) noexcept {
        static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const auto address = reinterpret_cast<std::uintptr_t>(data);
        return {address & -page, (address + bytes + page - 1) & -page};
    }

    bool try_remove(void* data, std::size_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        const auto found = find(pages_of(data, bytes).begin);
        if (found == registered_.end()) return true;
        if (found->second.uses > 1) {
            --found->second.uses;
            return true;
        }
        if (Gpu* const g = any_gpu(); g != nullptr) {
            if (!wait_gate.close()) return false;
            {
                RelaxedCapture relaxed;
                const InContext in(*g);
                note_failure(api.cudaHostUnregister(reinterpret_cast<void*>(found->first)),
                             "cudaHostUnregister", g->index);
            }
            wait_gate.open();
        }
        registered_.erase(found);
        return true;
    }

    /// Returns the registration that contains the page.
    std::map<std::uintptr_t, Pages>::iterator find(std::uintptr_t page) noexcept {
        const auto next = registered_.upper_bound(page);
        if (next == registered_.begin()) return registered_.end();
        const auto found = std::prev(next);
        return page < found->second.end ? found : registered_.end();
    }

    [[noreturn]] static void throw_shared_page(const SourceLocation& where) {
        usage_error({"register_host", where},
                    "a part of the memory is in pages that are registered already for other "
                    "memory: register both as one range, or place them in separate pages");
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
                        "{} bytes cannot be pinned, because the system cannot lock that many "
                        "pages: free pinned memory, then retry",
                        bytes);
        if (code == cudaErrorHostMemoryAlreadyRegistered)
            usage_error(site, "code outside heddle has pinned some or all of these pages: if all "
                              "are pinned, use adopt(MemoryKind::pinned, ...), otherwise unpin "
                              "them first, or use Loan::lend()");
        usage_error(site,
                    "CUDA cannot pin this memory, for example because it is mapped read-only, or "
                    "maps a file or device: use Loan::lend(), or copy the data to pinned() memory");
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
                    "memory cannot be pinned in a host function of a CUDA stream, which must not "
                    "call CUDA: pin it on another thread");
    registered.get().add(data, bytes, where);
}

void CudaBackend::unregister_host(void* data, std::size_t bytes) noexcept {
    if (!is_forked()) registered.get().remove(data, bytes);
}

}  // namespace heddle::detail::cu
