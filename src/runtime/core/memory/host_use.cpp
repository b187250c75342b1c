#include "core/memory/host_use.hpp"

#include <heddle/memory/view.hpp>
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

/// The answers to the thread's most recent queries. With these, a loop over a few arrays queries
/// each array only once.
struct Known {
    std::uint64_t epoch = 0;
    KnownUses uses;
};
constexpr std::size_t most_known = 8;
constinit thread_local Known known_uses[most_known];
constinit thread_local std::size_t next_known = 0;

std::uint8_t kind_of(HostUse use) noexcept {
    if (use.call() == HostCall::data) return KnownUses::addresses;
    return use.only_reads() ? KnownUses::reads : KnownUses::all;
}

}  // namespace

// Uses in host functions and kernels are not reported. They are ordered as work of their streams,
// and declared as arguments.
void tell_host_use(const Block* block, std::size_t offset, std::size_t bytes, HostUse use,
                   SourceLocation where) noexcept {
    if (block == nullptr || bytes == 0 || thread_states.in_host_function) return;
    const std::uint64_t epoch = host_use_epoch.load(std::memory_order_acquire);
    if (epoch == 0) return;
    const auto array = reinterpret_cast<std::uintptr_t>(block->data);
    const std::uintptr_t begin = array + offset, end = begin + bytes;
    for (const Known& known : known_uses)
        if (known.epoch == epoch && known.uses.begin <= begin && end <= known.uses.end &&
            (known.uses.kinds & kind_of(use)) != 0)
            return;
    if (!holds(*block, reinterpret_cast<const void*>(begin), bytes) || !host_reaches(block)) return;
    const HostUseFunction ask = host_use_function.load(std::memory_order_relaxed);
    known_uses[next_known++ % most_known] = {epoch, ask({.begin = begin,
                                                         .end = end,
                                                         .array_begin = array,
                                                         .array_end = array + block->bytes,
                                                         .allocation = allocation_of(block),
                                                         .use = use,
                                                         .where = where})};
}

}  // namespace heddle::detail
