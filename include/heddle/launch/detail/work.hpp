// Type-erased work, which a launch enqueues, a capture or batch records and a node runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <heddle/error.hpp>
#include <heddle/launch/detail/signals.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/memory/detail/memory_argument.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

enum class ConditionalKind : std::uint8_t { if_else, while_loop, switch_case };

/// The kinds of kernels, and host functions.
enum class KernelKind : std::uint8_t {
    none,       ///< a host function
    portable,   ///< an object with a HEDDLE_FN operator()
    global,     ///< a __global__ function of the program
    in_module,  ///< a kernel of a module
};

struct PortableCode;

/// Describes a type of work; one constant for each type of closure. For host functions, the members
/// after `signals` are null or 0, except for the opaque parts.
struct WorkType {
    const OpType* op;
    Signals signals = Signals::no;
    KernelKind kernel = KernelKind::none;
    std::uint8_t dimensions = 0;  ///< of a portable kernel: 1 to 3
    /// For kernels on GPUs: whether the kernel checks indices. A portable kernel that checks them
    /// takes a pointer to its BoundsSite as its first parameter. The address of that parameter is
    /// stored in front of LaunchCall::addresses.
    bool has_bounds = false;
    std::uint16_t parameters = 0;  ///< of the kernel, without its indices
    /// Writes the addresses of the closure's parts: the kernel (an object, or a GridHead), the
    /// extents of a portable kernel, one by one, and the arguments.
    void (*addresses)(void* closure, void** to) = nullptr;
    /// Copies a closure to zeroed memory. Equal closures then have equal bytes, unless they need
    /// OpType::move.
    void (*copy)(const void* from, void* to) = nullptr;
    /// Portable kernels only. The code is null if nvcc did not compile the launch. The tag
    /// identifies the kernel and its number of indices, independent of the arguments.
    PortableCode (*code)() noexcept = nullptr;
    const void* tag = nullptr;
    /// The number of parts that may hold pointers unknown to their types, and a function that
    /// writes those parts.
    std::uint16_t opaque_parts = 0;
    void (*opaque)(const void* closure, OpaquePart* to) = nullptr;

    /// Returns the number of addresses that addresses() writes.
    std::size_t parts() const noexcept { return 1u + dimensions + parameters; }
    /// Returns whether such work may signal others while it runs on `device`.
    bool may_signal(Device device) const noexcept {
        return signals == Signals::yes || (signals == Signals::on_host && device.is_cpu());
    }
};

template <class F>
inline constexpr WorkType host_work_type{.op = &HostFunction<F>::type,
                                         .signals = host_signals<F>,
                                         .opaque_parts = may_hold_words<F>,
                                         .opaque = &HostFunction<F>::opaque};

/// An immutable closure with several owners.
using SharedClosure = std::shared_ptr<void>;

/// The work of a kernel or host function node. A node is changed by replacing its work.
struct Work {
    const WorkType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    std::vector<Block*> blocks{};          ///< memory that the work uses
    std::vector<std::uint64_t> serials{};  ///< Block::serial of `blocks` when the work was set
    LaunchOptions options{};               ///< for kernels
    /// How the work uses memory. Empty if no observer existed when the work was set.
    std::vector<OpAccess> accesses{};
    bool accesses_known = false;
};

/// One launch of a kernel, or the launch that a node makes.
struct LaunchCall {
    const WorkType& type;
    void* closure;
    void** addresses;   ///< one address per part; with has_bounds, space for one more in front
    std::size_t count;  ///< indices; 0: launches nothing; 1 for a grid
    std::span<const MemoryArgument> memory;
    const PassedOptions& how;
    const SourceLocation& where;
};

/// Checks a launch, then enqueues it, or lets a capture or batch record it. All launches of kernels
/// call this.
void submit_launch(StreamState& stream, const LaunchCall& call);

/// Checks a host function, then enqueues it, or lets a capture or batch record it. `memory` is its
/// declared memory. Moves the function out of `self`. On a failed stream, enqueues it only if it
/// has OpType::complete.
void submit_host_function(StreamState& stream, const WorkType& type, void* self,
                          std::span<const MemoryArgument> memory, const SourceLocation& where);

/// Records work on a stream that is being recorded (Admission::recorded). Moves the closure out of
/// `self`, or copies it, and notes the memory that it uses. Returns false if the stream is no
/// longer recorded, or if the work cannot be recorded; the caller then enqueues it on the stream.
bool record_work(StreamState& stream, const WorkType& type, void* self, std::size_t count,
                 std::span<const MemoryArgument> memory, const LaunchOptions& options,
                 const SourceLocation& where);

/// Zeroes the padding of an object, if the compiler supports that.
template <class T> void clear_padding([[maybe_unused]] T& object) noexcept {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    if constexpr (std::is_trivially_copyable_v<T> && !std::is_array_v<T>)
        __builtin_clear_padding(&object);
#endif
#endif
}

/// Copies a part of a closure to its offset in `to`, which is zeroed. Bytes between the parts stay
/// zero, and so does padding inside them if the compiler supports that.
template <class Closure, class T>
void copy_part(void* to, const Closure& from, const T& part) noexcept {
    if constexpr (!std::is_empty_v<T>) {
        auto* const at = static_cast<std::byte*>(to) + (reinterpret_cast<const std::byte*>(&part) -
                                                        reinterpret_cast<const std::byte*>(&from));
        if constexpr (std::is_trivially_copyable_v<T> && !std::is_array_v<T>) {
            T clean = part;
            detail::clear_padding(clean);
            std::memcpy(at, &clean, sizeof clean);
        } else {
            std::memcpy(at, &part, sizeof part);
        }
    }
}

}  // namespace detail
}  // namespace heddle
