// What a node of a graph runs, without its types.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <heddle/detail/host_op.hpp>
#include <heddle/error.hpp>

namespace heddle::detail {

struct Block;

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

/// What a kernel or host function node runs. Changing a node means giving it other work.
struct Work {
    const OpType* type = nullptr;
    SharedClosure closure;
    std::size_t count = 1;
    MakeForm form = nullptr;       ///< null: a host function
    std::vector<Block*> blocks{};  ///< memory that it uses
};

/// Moves a closure to where nodes share it.
SharedClosure share_closure(const OpType& type, void* self);

}  // namespace heddle::detail
