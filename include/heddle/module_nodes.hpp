// Kernels of modules as nodes of graphs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <heddle/graph_nodes.hpp>
#include <heddle/module.hpp>

namespace heddle {

namespace detail {
/// What launch() throws for these on a stream of the kernel's device; lets the kernel have its dynamic shared memory.
inline void check_node_blocks(ModuleKernelData& kernel, const Blocks& blocks) {
    check_blocks(any_stream(kernel.device), kernel, blocks);
}
}  // namespace detail

/// A kernel of a module as a node, on the module's device.
class ModuleNode : public NodeOf<ModuleNode> {
public:
    ModuleNode(ModuleKernel kernel, const Blocks& blocks)
        : NodeOf(detail::new_node(NodeKind::kernel, kernel.device(), blocks.where)), kernel_(kernel),
          blocks_(blocks) {
        detail::check_node_blocks(kernel.data(), blocks);
        name(kernel.name());
        if (kernel.parameters().empty()) args();
    }
    /// Its arguments, checked as those of launch(): as many as parameters, each of its parameter's size. They may be given and changed
    /// later.
    template <class... A> ModuleNode& args(A&&... arguments) {
        static_assert((detail::is_kernel_argument<A> && ...),
                      "heddle::kernel_node: arguments are arrays, views and trivially copyable values");
        using Operation = detail::ModuleOp<detail::KernelArg<A>...>;
        detail::check_module_arguments<detail::KernelArg<A>...>(kernel_.data(), blocks_.where,
                                                                std::index_sequence_for<A...>());
        (detail::check_node_argument(arguments, device(), blocks_.where), ...);
        values_ = std::make_shared<Operation>(
            Operation{&kernel_.data(), blocks_,
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
    /// Other blocks, from the next launch on.
    ModuleNode& blocks(const Blocks& blocks) {
        detail::check_node_blocks(kernel_.data(), blocks);
        blocks_ = blocks;
        if (values_ == nullptr) return *this;
        values_ = with_blocks_(values_.get(), blocks);
        give();
        return *this;
    }
    /// As for portable kernels.
    ModuleNode& priority(int value, SourceLocation where = SourceLocation::current()) {
        detail::set_priority(data(), value, where);
        return *this;
    }

private:
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

/// A node that launches a kernel of a module, on the module's device. Arguments may be left out, and given by args().
template <class... A> ModuleNode kernel_node(ModuleKernel kernel, const Blocks& blocks, A&&... args) {
    ModuleNode node(kernel, blocks);
    if constexpr (sizeof...(A) > 0) node.args(std::forward<A>(args)...);
    return node;
}
/// With dim(): blocks of 256 threads along the first extent, as launch() of such a kernel has. UsageError for an extent of 0.
template <int N, class... A>
ModuleNode kernel_node(const ModuleKernel& kernel, const Dim<N>& d, A&&... args) {
    return kernel_node(kernel, detail::blocks_for(d), std::forward<A>(args)...);
}

}  // namespace heddle
