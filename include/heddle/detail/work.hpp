// Work without its types: what a launch enqueues, a recorder keeps and a node runs.
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

/// Describes a type of work; one constant for each type of closure. What follows `signals` is null
/// or 0 for host functions, but for the opaque parts.
struct WorkType {
    const OpType* op;
    Signals signals = Signals::no;
    KernelKind kernel = KernelKind::none;
    std::uint8_t dimensions = 0;   ///< of a portable kernel: 1 to 3
    std::uint16_t parameters = 0;  ///< of the kernel, without its indices
    /// Writes the addresses of the closure's parts: the kernel (an object, or a GridHead), the
    /// extents of a portable kernel, one by one, and the arguments.
    void (*addresses)(void* closure, void** to) = nullptr;
    /// Copies a closure to memory that is zeroed. Equal closures have equal bytes then, unless they
    /// need OpType::move.
    void (*copy)(const void* from, void* to) = nullptr;
    /// Portable kernels only. The code is null if nvcc did not compile the launch; the tag
    /// identifies the kernel and its number of indices, whatever its arguments.
    PortableCode (*code)() noexcept = nullptr;
    const void* tag = nullptr;
    /// How many parts may hold pointers that no type tells of, and a function that writes them.
    std::uint16_t opaque_parts = 0;
    void (*opaque)(const void* closure, OpaquePart* to) = nullptr;

    /// Returns how many addresses there are.
    std::size_t parts() const noexcept { return 1u + dimensions + parameters; }
    /// Returns whether such work may tell somebody that it runs there.
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

/// What a kernel or host function node runs. A node is changed by replacing its work.
struct Work {
    const WorkType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    std::vector<Block*> blocks{};          ///< memory that it uses
    std::vector<std::uint64_t> serials{};  ///< Block::serial of `blocks` when the work was set
    LaunchOptions options{};               ///< for kernels
    /// How it uses memory; empty unless observers were there when it was set.
    std::vector<OpAccess> accesses{};
    bool accesses_known = false;
};

/// What a kernel does with a view, if less than the view's type says.
struct DeclaredUse {
    static constexpr std::size_t most_parts = 4;
    MemoryRange parts[most_parts] = {};  ///< that it touches; none is empty
    std::uint8_t count = 0;
    bool has_parts = false;  ///< else it may touch all
    bool is_concurrent = false;

    /// How many accesses that makes.
    std::size_t most() const noexcept { return has_parts ? count : 1; }
    /// Adds a part of the memory `of`. Throws UsageError if it is not within, or one too many.
    void add(const MemoryRange& part, const MemoryRange& of, const SourceLocation& where);
};

/// The memory of an array or view among a kernel's arguments, or in one of them, or in the kernel.
struct MemoryArgument : MemoryRange {
    Block* block = nullptr;     ///< null if heddle does not own the memory
    std::uint32_t element = 1;  ///< bytes of an element
    std::int8_t argument = -1;  ///< its index among the kernel's arguments; -1: in the kernel
    bool writes = false;        ///< whether the kernel can write it
    bool is_array = false;      ///< an Array: without a block it holds nothing
    bool is_found = false;  ///< by a search of the argument's bytes, `offset` from its beginning
    const DeclaredUse* use = nullptr;  ///< null: what `writes` says, with all of it
    std::uint32_t offset = 0;
};

/// Room for memory arguments, which is not initialised.
template <std::size_t most> union MemoryArgumentRoom {
    MemoryArgumentRoom() noexcept {}  // NOLINT(modernize-use-equals-default)
    MemoryArgument all[most];
};

/// The index of an argument in MemoryArgument. Those beyond count as one.
constexpr std::int8_t argument_index(std::size_t i) noexcept {
    return static_cast<std::int8_t>(i < 127 ? i : 127);
}

/// Finds the views with an owner in an object that is a kernel (argument -1), an argument or a host
/// function. Looks at its words, so the views in what it points to stay unknown. Views of arrays
/// that are gone are found too, if their bytes were theirs. Writes them to `to`, where there is
/// room for one for each 24 bytes, and returns the end. `object` is aligned to eight bytes.
MemoryArgument* find_views(const void* object, std::size_t bytes, std::int8_t argument,
                           MemoryArgument* to) noexcept;
/// Throws UsageError if the kernel cannot reach the memory on `stream`, or its array is gone.
void check_memory(const MemoryArgument& memory, const StreamState& stream,
                  const SourceLocation& where);

/// One launch of a kernel, or the launch that a node makes.
struct LaunchCall {
    const WorkType& type;
    void* closure;
    void** addresses;   ///< room for as many as the closure has parts
    std::size_t count;  ///< indices; 0: launches nothing; a grid: 1
    std::span<const MemoryArgument> memory;
    const GivenOptions& how;
    const SourceLocation& where;
};

/// Checks a launch and enqueues it, or lets a capture or batch record it. All launches of kernels
/// go through it.
void submit_launch(StreamState& stream, const LaunchCall& call);

/// Checks a host function and enqueues it, or lets a capture or batch record it. `memory` is what
/// it says that it uses. Moves the function out of `self`. On a stream that has failed only those
/// with OpType::complete are enqueued.
void submit_host_function(StreamState& stream, const WorkType& type, void* self,
                          std::span<const MemoryArgument> memory, const SourceLocation& where);

/// Records work on a stream that is being recorded (Admission::recorded). Moves the closure out of
/// `self`, or copies it, and notes the memory that it uses. Returns false if the stream is no
/// longer recorded, or the work cannot be recorded; the caller then enqueues it on the stream.
bool record_work(StreamState& stream, const WorkType& type, void* self, std::size_t count,
                 std::span<const MemoryArgument> memory, const LaunchOptions& options,
                 const SourceLocation& where);

/// Zeroes the bytes of an object that belong to no member, where the compiler knows them.
template <class T> void clear_padding([[maybe_unused]] T& object) noexcept {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    if constexpr (std::is_trivially_copyable_v<T> && !std::is_array_v<T>)
        __builtin_clear_padding(&object);
#endif
#endif
}

/// Copies a part of a closure to its offset in `to`, which is zeroed. Bytes between the parts, and
/// where the compiler can tell those inside them, stay zero.
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
