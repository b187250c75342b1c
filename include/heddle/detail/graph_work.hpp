// What a node of a graph runs, without its types.
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
#include <heddle/launch_options.hpp>

namespace heddle::detail {

struct Block;

/// How a conditional node decides: if (and else), while, switch.
enum class ConditionalKind : std::uint8_t { if_else, while_loop, switch_case };

/// A kernel as CUDA wants it: the arguments point into the closure it was made of.
struct KernelForm {
    const void* function = nullptr;
    bool is_loaded =
        false;  ///< the function is the driver's own, of a module loaded at run time; else a symbol
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    std::size_t shared_bytes = 0;
    std::vector<void*> arguments;
};

/// Makes the form of a closure for a device with so many multiprocessors. Throws UsageError where the kernel was not compiled for CUDA
/// or the extents are too large.
using MakeForm = void (*)(void* closure, unsigned processors, const LaunchOptions& options, KernelForm& form,
                          const SourceLocation& where);

/// A closure that several owners share and nobody changes.
using SharedClosure = std::shared_ptr<void>;

struct Work;
/// Gives work other extents: a new closure, because others may share the old one.
using Resize = void (*)(Work& work, const std::size_t* extent, std::size_t count);

/// All that is known of a type of work: one constant for each type of closure.
struct WorkType {
    const OpType* op;
    MakeForm form = nullptr;  ///< null: a host function
    Resize resize = nullptr;
    const char* (*name)(const void* closure) = nullptr;  ///< null: op->pretty tells
    /// Portable kernels: which kernel it is, and its extents.
    const void* kernel = nullptr;
    void (*extents)(const void* closure, std::size_t* to) = nullptr;
};

/// What a kernel or host function node runs. Changing a node means giving it other work.
struct Work {
    const WorkType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    std::vector<Block*> blocks{};          ///< memory that it uses
    std::vector<std::uint64_t> serials{};  ///< and which allocation it was when it was given
    LaunchOptions options{};               ///< kernels
};

template <class F> inline constexpr WorkType host_work_type{&HostFunction<F>::type};

/// Stands for a kernel with so many indices, whatever its arguments.
template <class K, int N> inline constexpr char kernel_tag = 0;
template <class K, int N, class... P> void portable_extents(const void* closure, std::size_t* to) {
    const auto& op = *static_cast<const PortableOp<K, N, P...>*>(closure);
    for (int i = 0; i < N; ++i) to[i] = op.extent[i];
}

/// Records work for a stream that is recorded (Admission::recorded). The closure is moved out of `self` and what it uses noted. False:
/// the stream is recorded no longer, or this cannot be: give it to the stream.
bool record_work(StreamState& stream, const WorkType& type, void* self, std::size_t count,
                 Block* const* blocks, std::size_t block_count, const LaunchOptions& options,
                 const SourceLocation& where);

/// Copies a part of an operation to the same place in `to`, which is zero: what lies between the parts stays zero, so that equal
/// operations are equal bytes.
template <class Operation, class T>
void keep_part(std::byte* to, const Operation& operation, const T& part) noexcept {
    if constexpr (!std::is_empty_v<T>) {
        const auto at =
            reinterpret_cast<const std::byte*>(&part) - reinterpret_cast<const std::byte*>(&operation);
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
