// The work of a graph's node, without its types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include <heddle/detail/host_op.hpp>
#include <heddle/error.hpp>
#include <heddle/launch/launch_options.hpp>

namespace heddle::detail {

struct Block;

enum class ConditionalKind : std::uint8_t { if_else, while_loop, switch_case };

/// A kernel as CUDA takes it. `arguments` point into the closure that the form was made from.
struct KernelForm {
    const void* function = nullptr;
    /// `function` is the driver's, of a module loaded at run time; otherwise it is a symbol.
    bool is_loaded = false;
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    std::size_t shared_bytes = 0;
    std::vector<void*> arguments;
};

/// Makes the form of a closure for a device with `processors` multiprocessors. Throws UsageError if
/// the kernel was not compiled for CUDA, or the extents or options are not valid.
using MakeForm = void (*)(void* closure, unsigned processors, const LaunchOptions& options,
                          KernelForm& form, const SourceLocation& where);

/// An immutable closure with several owners.
using SharedClosure = std::shared_ptr<void>;

struct Work;
/// Changes the extents of work. Makes a new closure, because others may share the old one.
using Resize = void (*)(Work& work, const std::size_t* extent, std::size_t count);

/// Describes a type of work; one constant for each type of closure.
struct WorkType {
    const OpType* op;
    MakeForm form = nullptr;  ///< null for a host function
    Resize resize = nullptr;
    const char* (*name)(const void* closure) = nullptr;  ///< if null, op->pretty has the name
    /// Portable kernels only: identify the kernel, and read its extents.
    const void* kernel = nullptr;
    void (*extents)(const void* closure, std::size_t* to) = nullptr;
};

/// What a kernel or host function node runs. A node is changed by replacing its work.
struct Work {
    const WorkType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    std::vector<Block*> blocks{};          ///< memory that it uses
    std::vector<std::uint64_t> serials{};  ///< Block::serial of `blocks` when the work was set
    LaunchOptions options{};               ///< for kernels
};

template <class F> inline constexpr WorkType host_work_type{&HostFunction<F>::type};

/// Its address identifies a kernel with N indices, whatever its arguments.
template <class K, int N> inline constexpr char kernel_tag = 0;
template <class K, int N, class... P> void portable_extents(const void* closure, std::size_t* to) {
    const auto& op = *static_cast<const PortableOp<K, N, P...>*>(closure);
    for (int i = 0; i < N; ++i) to[i] = op.extent[i];
}

/// Records work on a stream that is being recorded (Admission::recorded). Moves the closure out of
/// `self` and notes the blocks it uses. Returns false if the stream is no longer recorded, or the
/// work cannot be recorded; the caller then enqueues it on the stream.
bool record_work(StreamState& stream, const WorkType& type, void* self, std::size_t count,
                 Block* const* blocks, std::size_t block_count, const LaunchOptions& options,
                 const SourceLocation& where);

/// Copies a part of an operation to its offset in `to`, which is zeroed. Bytes between the parts
/// stay zero, so that equal operations have equal bytes.
template <class Operation, class T>
void keep_part(std::byte* to, const Operation& operation, const T& part) noexcept {
    if constexpr (!std::is_empty_v<T>) {
        const auto at = reinterpret_cast<const std::byte*>(&part) -
                        reinterpret_cast<const std::byte*>(&operation);
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
        if constexpr (std::is_trivially_copyable_v<T> && !std::is_array_v<T>) {
            T clean = part;
            __builtin_clear_padding(&clean);
            std::memcpy(to + at, &clean, sizeof clean);
            return;
        }
#endif
#endif
        std::memcpy(to + at, &part, sizeof part);
    }
}

template <class K, int N, class... P>
void resize_portable(Work& work, const std::size_t* extent, std::size_t count) {
    auto other = std::make_shared<PortableOp<K, N, P...>>(
        *static_cast<const PortableOp<K, N, P...>*>(work.closure.get()));
    for (int i = 0; i < N; ++i) other->extent[i] = extent[i];
    work.closure = std::move(other);
    work.count = count;
}

}  // namespace heddle::detail
