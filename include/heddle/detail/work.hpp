// Type-erased work, which a launch enqueues, a capture or batch records and a node runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <heddle/detail/block.hpp>
#include <heddle/detail/host_op.hpp>
#include <heddle/detail/signals.hpp>
#include <heddle/error.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

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

/// The memory that a kernel uses through a view, if less than the view's type allows.
struct DeclaredUse {
    static constexpr std::size_t most_parts = 4;
    MemoryRange parts[most_parts] = {};  ///< the parts that the kernel uses; none is empty
    std::uint8_t count = 0;
    bool has_parts = false;  ///< if false, the kernel may use all of the view
    bool is_concurrent = false;

    /// Returns the number of accesses that this declaration describes.
    std::size_t most() const noexcept { return has_parts ? count : 1; }
    /// Adds a part of the memory `of`. Throws UsageError if the part is not within it, or if there
    /// are too many parts.
    void add(const MemoryRange& part, const MemoryRange& of, const SourceLocation& where);
};

/// The memory of an array or view: an argument of a kernel, or inside an argument or the kernel.
struct MemoryArgument : MemoryRange {
    Block* block = nullptr;     ///< null if heddle does not own the memory
    std::uint32_t element = 1;  ///< bytes of an element
    std::int8_t argument = -1;  ///< its index among the kernel's arguments; -1: in the kernel
    bool writes = false;        ///< whether the kernel can write it
    bool is_array = false;      ///< an Array, which is empty if it has no block
    /// Whether it was found by a search of the argument's bytes, at `offset` from its beginning.
    bool is_found = false;
    const DeclaredUse* use = nullptr;  ///< if null, uses all of the memory as `writes` says
    std::uint32_t offset = 0;
};

/// Uninitialised space for memory arguments.
template <std::size_t most> union MemoryArgumentRoom {
    MemoryArgumentRoom() noexcept {}  // NOLINT(modernize-use-equals-default)
    MemoryArgument all[most];
};

/// Returns the index of an argument in MemoryArgument. All indices from 127 on share one.
constexpr std::int8_t argument_index(std::size_t i) noexcept {
    return static_cast<std::int8_t>(i < 127 ? i : 127);
}

/// Finds the views with an owner in a kernel object (argument -1), an argument or a host function.
/// Searches the object's words only, not the memory that they point to. Also finds views of freed
/// arrays if their bytes lie in the block's current or last memory. Writes them to `to`, which
/// needs space for one view per 24 bytes, and returns the end. `object` must be aligned to eight
/// bytes.
MemoryArgument* find_views(const void* object, std::size_t bytes, std::int8_t argument,
                           MemoryArgument* to) noexcept;
/// Throws UsageError if the kernel cannot access the memory on `stream`, or if its array was freed.
void check_memory(const MemoryArgument& memory, const StreamState& stream,
                  const SourceLocation& where);

/// One launch of a kernel, or the launch that a node makes.
struct LaunchCall {
    const WorkType& type;
    void* closure;
    void** addresses;   ///< one address per part; with has_bounds, space for one more in front
    std::size_t count;  ///< indices; 0: launches nothing; 1 for a grid
    std::span<const MemoryArgument> memory;
    const GivenOptions& how;
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

}  // namespace heddle::detail
