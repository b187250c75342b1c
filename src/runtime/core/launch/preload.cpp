// preload(), and the policy for launches that load code.
#include <heddle/code/preload.hpp>

#include <atomic>

#include "core/launch/preload.hpp"
#include "core/seam/backend.hpp"

namespace heddle {

namespace {
std::atomic<CodeLoadPolicy> policy{CodeLoadPolicy::count};
std::atomic<std::uint64_t> loads{0};
}  // namespace

namespace detail {

void preload_kernel(Device device, const void* tag, const SourceLocation& where) try {
    backend_of(device.kind()).preload(device.index(), tag, where);
} catch (...) {
    detail::rethrow_as_error("preload", where);
}

void count_load_while_busy() noexcept { loads.fetch_add(1, std::memory_order_relaxed); }

}  // namespace detail

void set_code_load_policy(CodeLoadPolicy wanted) noexcept {
    policy.store(wanted, std::memory_order_relaxed);
}
CodeLoadPolicy code_load_policy() noexcept { return policy.load(std::memory_order_relaxed); }
std::uint64_t code_loads_while_busy() noexcept { return loads.load(std::memory_order_relaxed); }

}  // namespace heddle
