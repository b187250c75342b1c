// Graph nodes that launch kernels of modules.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <heddle/code/module.hpp>
#include <heddle/graph/nodes.hpp>

namespace heddle {

namespace detail {
/// Throws what launch() would on a stream of the kernel's device. Raises the kernel's limit of
/// dynamic shared memory if needed.
inline void check_node_blocks(ModuleKernelData& kernel, const Blocks& blocks) {
    check_blocks(any_stream(kernel.device), kernel, blocks);
}
}  // namespace detail

/// A node that launches a kernel of a module, on the module's device. Made by kernel_node().
class ModuleNode : public NodeOf<ModuleNode> {
public:
    /// Sets the arguments, from the next launch on. Throws UsageError, as launch() does, unless
    /// there are as many as parameters, each of its parameter's size.
    template <class... A> ModuleNode& args(A&&... arguments) {
        static_assert(
            (detail::KernelArgument<A> && ...),
            "heddle: a kernel's arguments are arrays, views and trivially copyable values");
        using Operation = detail::ModuleOp<detail::KernelArg<A>...>;
        detail::check_module_arguments<detail::KernelArg<A>...>(
            detail::Access::data(kernel_), blocks_.where, std::index_sequence_for<A...>());
        (detail::check_node_argument(arguments, device(), blocks_.where), ...);
        values_ = std::make_shared<Operation>(Operation{
            &detail::Access::data(kernel_), blocks_,
            std::tuple<detail::ModuleArg<detail::KernelArg<A>>...>(
                detail::ModuleArg<detail::KernelArg<A>>(detail::kernel_argument(arguments))...)});
        type_ = &Operation::work_type;
        with_blocks_ = [](const void* values, const Blocks& blocks) -> std::shared_ptr<void> {
            auto other = std::make_shared<Operation>(*static_cast<const Operation*>(values));
            other->blocks = blocks;
            return other;
        };
        memory_.clear();
        (detail::add_block(memory_, arguments), ...);
        give();
        return *this;
    }
    /// Sets grid, block, dynamic shared memory and launch options, from the next launch on. Throws
    /// what launch() does for impossible blocks, and Unsupported as KernelNode::dim() does.
    ModuleNode& blocks(const Blocks& blocks) {
        detail::check_node_blocks(detail::Access::data(kernel_), blocks);
        blocks_ = blocks;
        if (values_ == nullptr) return *this;
        values_ = with_blocks_(values_.get(), blocks);
        give();
        return *this;
    }
    /// Sets the priority, as KernelNode::priority() does.
    ModuleNode& priority(int value, Where where = {}) {
        detail::set_priority(data(), value, where);
        return *this;
    }

private:
    friend detail::Access;
    ModuleNode(ModuleKernel kernel, const Blocks& blocks)
        : NodeOf(detail::new_node(NodeKind::kernel, kernel.device(), blocks.where)),
          kernel_(kernel), blocks_(blocks) {
        detail::check_node_blocks(detail::Access::data(kernel), blocks);
        name(kernel.name());
        if (kernel.parameters().empty()) args();
    }
    void give() {
        detail::Work work;
        work.type = type_;
        work.closure = values_;
        work.blocks = memory_;
        work.options = blocks_.how.options;
        detail::set_work(data(), std::move(work), blocks_.where);
    }

    ModuleKernel kernel_;
    Blocks blocks_;
    const detail::WorkType* type_ = nullptr;
    std::shared_ptr<void> values_;
    std::shared_ptr<void> (*with_blocks_)(const void* values, const Blocks& blocks) = nullptr;
    std::vector<detail::Block*> memory_;
};

/// Makes a node that launches a kernel of a module, on the module's device. Arguments may be left
/// out, and set by args() before build().
template <class... A>
ModuleNode kernel_node(ModuleKernel kernel, const Blocks& blocks, A&&... args) {
    auto node = detail::Access::make<ModuleNode>(kernel, blocks);
    if constexpr (sizeof...(A) > 0) node.args(std::forward<A>(args)...);
    return node;
}
/// The same with dim(), which makes blocks of 256 threads (or LaunchOptions::block) along the first
/// extent, as launch() does. Throws UsageError for an extent of 0.
template <int N, class... A>
ModuleNode kernel_node(const ModuleKernel& kernel, const Dim<N>& d, A&&... args) {
    return kernel_node(kernel, detail::blocks_for(d), std::forward<A>(args)...);
}

}  // namespace heddle
