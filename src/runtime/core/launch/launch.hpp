// Launches and closures of kernels, without their types.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/base/errors.hpp"
#include <heddle/launch/detail/kernel_closures.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/memory/detail/memory_argument.hpp>

namespace heddle::detail {

/// Describes a kernel's memory for observers. Writes as many accesses as there is room for in `to`,
/// which need not be initialised, and returns their number.
std::size_t describe_accesses(std::span<const MemoryArgument> memory,
                              std::span<OpAccess> to) noexcept;
/// Returns all accesses, as described by describe_accesses().
std::vector<OpAccess> accesses_of(std::span<const MemoryArgument> memory);

/// Throws if the stream cannot run the launch because of its kernel, grid or memory. `name` is the
/// public call that received the arguments.
void check_launch(StreamState& stream, const LaunchCall& call, const char* name);
/// Checks the grid, for check_launch().
void check_grid(StreamState& stream, const WorkType& type, const GridHead& head,
                const PassedOptions& how, const SourceLocation& where);

/// Returns the address of the kernel in the closure: an object, or a GridHead.
const void* kernel_of(const Work& work);
/// Returns the kernel's name: the name of its type, the name of the __global__ function, or the
/// readable name of a module's kernel. `kernel` is its address in a closure.
const char* name_of_kernel(const WorkType& type, const void* kernel) noexcept;

/// Copies a kernel's closure. Several nodes may own the copy.
SharedClosure copy_closure(const WorkType& type, const void* from);
/// Moves a closure. The caller still has to destroy the original.
SharedClosure moved_closure(const WorkType& type, void* from);
/// Return the closure of a portable kernel with other extents, or of a grid's kernel with another
/// grid. Both make a new closure, because several nodes may share the old one.
SharedClosure resized_closure(const Work& work, const std::size_t* extent);
SharedClosure resized_closure(const Work& work, const LaunchGrid& grid);
/// Reads the extents of a portable kernel into `to`.
void read_extents(const Work& work, std::size_t* to);

/// Throws UsageError for a __global__ function on a CPU device.
[[noreturn]] void throw_global_on_cpu(const ErrorSite& site);

}  // namespace heddle::detail
