// Foreign memory as blocks: checks, adoption and loans (docs/adr/0071).
#include <heddle/memory/adopt.hpp>

#include "core/base/errors.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/block_records.hpp"
#include "core/memory/ends.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/start.hpp"
#include "core/seam/backend.hpp"

namespace heddle {

namespace detail {

namespace {

std::size_t bytes_of(const ForeignMemory& memory, const ErrorSite& site) {
    std::size_t bytes = 0;
    refuse_negative(memory.count, site.call, site.where);
    if (__builtin_mul_overflow(memory.count, memory.element, &bytes))
        usage_error(site,
                    "{} elements of {} bytes are more than can be addressed: pass fewer elements",
                    memory.count, memory.element);
    return bytes;
}

void check_address(const ForeignMemory& memory, std::size_t bytes, const ErrorSite& site) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
    if (address % memory.alignment != 0)
        usage_error(site,
                    "the address is not a multiple of {} bytes, the alignment of the elements: "
                    "pass an aligned address",
                    memory.alignment);
    if (bytes == 0) return;
    if (memory.data == nullptr)
        usage_error(
            site, "the address is null, but the memory has {} elements: pass the memory's address",
            memory.count);
    if (address + bytes < address)
        usage_error(site,
                    "{} bytes from this address exceed the address space: pass the actual number "
                    "of elements",
                    bytes);
    if (overlaps_block(memory.data, bytes))
        usage_error(site, "the memory already belongs to an array: use views of that array, or "
                          "first destroy the array or end its loan (heddle does not order uses "
                          "through two arrays)");
}

void check_place(const ForeignMemory& memory, std::size_t bytes, const ErrorSite& site) {
    if (bytes == 0) return;
    MemorySpace space;
    const bool is_known = cuda_backend().classify(memory.data, space);
    if (memory.kind == MemoryKind::device && memory.device.is_cuda()) {
        if (!is_known || !is_on_cuda(space))
            usage_error(site,
                        "the memory is in host memory, but the device is {}: pass a CPU device or "
                        "a MemoryKind",
                        memory.device);
        if (space.device != memory.device)
            usage_error(site, "the memory is on {}, but the device is {}: pass the memory's device",
                        space.device, memory.device);
        return;
    }
    if (is_known && is_on_cuda(space))
        usage_error(site, "the memory is on {}, not on the host: pass {} as the device",
                    space.device, space.device);
    if (memory.kind == MemoryKind::pinned && cuda_backend().device_count() > 0 && !is_known)
        usage_error(site, "the memory is not pinned according to CUDA: pass MemoryKind::pageable, "
                          "or pin the memory with Loan::register_host()");
}

}  // namespace

void check_foreign(const ForeignMemory& memory, const char* call, const SourceLocation& where) {
    const ErrorSite site{call, where};
    check_address(memory, bytes_of(memory, site), site);
}

Block& adopt_memory(const ForeignMemory& memory, std::unique_ptr<MemoryEnd> end, const char* call,
                    Where where) try {
    const ErrorSite site{call, where};
    const std::size_t bytes = bytes_of(memory, site);
    check_address(memory, bytes, site);
    check_place(memory, bytes, site);
    start_observers();
    std::unique_ptr<MemoryEnding> ending;
    if (end != nullptr) ending.reset(make_ending(std::move(end), memory.device));
    Block& block = take_block();
    set_memory(block, memory.data, bytes);
    block.ending = ending.release();
    block.device = memory.device;
    block.kind = memory.kind;
    block.origin = memory.origin;
    block.owners.store(1, std::memory_order_relaxed);
    block.alive.store(true, std::memory_order_release);
    notify_adopted(block, where);
    return block;
} catch (...) {
    rethrow_as_error(call, where);
}

Block& adopt_host(MemoryKind kind, const ForeignMemory& memory, std::unique_ptr<MemoryEnd> end,
                  Where where) {
    if (kind == MemoryKind::device)
        usage_error({"adopt", where},
                    "MemoryKind::device does not identify a device: pass the Device instead");
    ForeignMemory host = memory;
    host.kind = kind;
    return adopt_memory(host, std::move(end), "adopt", where);
}

}  // namespace detail

void finish_adopted(Where where) { detail::finish_ends("finish_adopted", where); }

}  // namespace heddle
