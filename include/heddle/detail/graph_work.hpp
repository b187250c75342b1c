// What a node of a graph runs, without its types.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <heddle/detail/host_op.hpp>
#include <heddle/error.hpp>

namespace heddle::detail {

struct Block;

/// How a conditional node decides: if (and else), while, switch.
enum class ConditionalKind : std::uint8_t { if_else, while_loop, switch_case };

/// A kernel as CUDA wants it: the arguments point into the closure it was made of.
struct KernelForm {
    const void* function = nullptr;
    unsigned grid[3] = {1, 1, 1};
    unsigned block[3] = {1, 1, 1};
    std::size_t shared_bytes = 0;
    std::vector<void*> arguments;
};

/// Makes the form of a closure for a device with so many multiprocessors. Throws UsageError where the kernel was not compiled for CUDA
/// or the extents are too large.
using MakeForm = void (*)(void* closure, unsigned processors, KernelForm& form, const SourceLocation& where);

/// A closure that several owners share and nobody changes.
using SharedClosure = std::shared_ptr<void>;

struct Work;
/// Gives work other extents: a new closure, because others may share the old one.
using Resize = void (*)(Work& work, const std::size_t* extent, std::size_t count);

/// What a kernel or host function node runs. Changing a node means giving it other work.
struct Work {
    const OpType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    MakeForm form = nullptr;  ///< null: a host function
    Resize resize = nullptr;
    std::vector<Block*> blocks{};  ///< memory that it uses
};

template <class K, int N, class... P>
void resize_portable(Work& work, const std::size_t* extent, std::size_t count) {
    auto other = std::make_shared<PortableOp<K, N, P...>>(
        *static_cast<const PortableOp<K, N, P...>*>(work.closure.get()));
    for (int i = 0; i < N; ++i) other->extent[i] = extent[i];
    work.closure = std::move(other);
    work.count = count;
}

}  // namespace heddle::detail
