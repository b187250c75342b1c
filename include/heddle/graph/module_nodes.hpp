// Graph nodes that launch kernels of modules.
#pragma once

#include <utility>

#include <heddle/code/module.hpp>
#include <heddle/graph/nodes.hpp>

namespace heddle HEDDLE_VISIBLE {

/// A node that launches a kernel of a module, on the module's device. Made by kernel_node().
using ModuleNode = BasicKernelNode<ModuleKernel, LaunchGrid>;

/// Makes a node for a module's kernel with dim(). As in launch(), uses blocks of 256 threads (or
/// LaunchOptions::block) along the first extent. Throws UsageError for an extent of 0.
template <int N, class... A>
ModuleNode kernel_node(const ModuleKernel& kernel, const Dim<N>& d, A&&... args) {
    return kernel_node(kernel, detail::grid_for(d), std::forward<A>(args)...);
}

}  // namespace heddle
