// to_dlpack(): tensors of heddle's memory (docs/adr/0072).
#include <memory>
#include <span>

#include "core/base/errors.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/dlpack.hpp"
#include "core/memory/memory.hpp"
#include "core/memory/users.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {

constexpr const char* call = "to_dlpack";

template <class M> struct Struct;
template <> struct Struct<DLManagedTensor> {
    using Type = dlpack::Unversioned;
};
template <> struct Struct<DLManagedTensorVersioned> {
    using Type = dlpack::Versioned;
};

/// A tensor, and its share in the ownership of the memory.
template <class M> struct Exported {
    typename Struct<M>::Type managed{};
    Block* block = nullptr;  ///< null: no elements
    std::unique_ptr<std::int64_t[]> sizes_and_strides;

    static void end(M* self) noexcept {
        const std::unique_ptr<Exported> all(static_cast<Exported*>(dlpack::managed(*self).context));
        if (all->block != nullptr) release(*all->block);
    }
};

/// Returns the array's block, which is alive. Returns null if there are no elements.
Block* owner_of(const DlpackMemory& memory, const SourceLocation& where) {
    if (memory.owner != nullptr && !memory.owner->alive.load(std::memory_order_acquire))
        throw_dead_block(*memory.owner, call, where);
    if (memory.size == 0) return nullptr;
    Block* const owner = memory.owner != nullptr ? memory.owner : find_block(memory.data);
    if (owner == nullptr || !holds(*owner, memory.data, memory.size * memory.element_bytes))
        usage_error({call, where}, "no array owns the view's memory, so a tensor cannot share its "
                                   "ownership: pass an array, or a view of one");
    if (owner->origin == MemoryOrigin::lent)
        usage_error({call, where}, "the memory is lent, and a tensor could outlive its Loan: copy "
                                   "the memory, or use adopt() instead of lend()");
    if (is_of_capture(*owner))
        usage_error({call, where}, "the array was made in a capture that is still open: make it "
                                   "before the capture, or export it after the capture");
    return owner;
}

void check_sizes(std::span<const std::int64_t> sizes, std::size_t count,
                 const SourceLocation& where) {
    std::size_t all = 1;
    bool is_known = true;
    for (const std::int64_t size : sizes) {
        if (size < 0)
            usage_error({call, where}, "a dimension has {} elements: pass 0 or more", size);
        if (__builtin_mul_overflow(all, static_cast<std::size_t>(size), &all)) is_known = false;
    }
    if (!is_known || all != count)
        usage_error({call, where},
                    "the shape has {} elements, but the array has {}: pass a shape of as many "
                    "elements as the array",
                    is_known ? formatted("{}", all) : std::string("too many"), count);
}

/// Returns the sizes, and after them the strides of contiguous elements.
std::unique_ptr<std::int64_t[]> layout(std::span<const std::int64_t> sizes) {
    auto both = std::make_unique<std::int64_t[]>(2 * sizes.size());
    std::int64_t stride = 1;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        both[i] = sizes[i];
        both[sizes.size() + i] = stride;
        stride *= sizes[i];
    }
    return both;
}

/// Returns the kind of the memory. Pinned memory counts as ordinary host memory if there is no GPU.
dlpack::Kind kind_of(const Block& block) {
    if (block.kind == MemoryKind::device)
        return block.device.is_cuda() ? dlpack::cuda : dlpack::cpu;
    const bool is_pinned = block.kind == MemoryKind::pinned && device_count(DeviceKind::cuda) > 0;
    return is_pinned ? dlpack::cuda_host : dlpack::cpu;
}

void order(const StreamRef* consumer, Block& block, const SourceLocation& where) {
    if (consumer == nullptr) {
        block_until_unused(&block, where);
        throw_failure_of(block);
        return;
    }
    wait_for_users(record_of(*consumer), block, WaitReason::user, where);
    declare_use(block, *consumer, where);
    send_batch_of(record_of(*consumer), where);  // the consumer does not enqueue through heddle
}

void mark(dlpack::Unversioned&, bool only_reads, const SourceLocation& where) {
    if (only_reads)
        usage_error({call, where}, "a DLManagedTensor cannot be marked as read-only: make a "
                                   "DLManagedTensorVersioned, or pass an array that is not const");
}
void mark(dlpack::Versioned& managed, bool only_reads, const SourceLocation&) noexcept {
    managed.major = dlpack::major_version;
    managed.flags = only_reads ? dlpack::read_only : 0;
}

template <class M> void end(M* tensor) noexcept {
    const auto deleter = dlpack::managed(*tensor).deleter;
    if (deleter != nullptr) deleter(tensor);
}

}  // namespace

void end_tensor(DLManagedTensor* tensor) noexcept { end(tensor); }
void end_tensor(DLManagedTensorVersioned* tensor) noexcept { end(tensor); }

template <DlpackTensor M>
M* export_tensor(const StreamRef* consumer, const DlpackMemory& memory, const DlpackShape& shape,
                 const SourceLocation& where) try {
    if (consumer != nullptr) check_usable(record_of(*consumer), call, where);
    Block* const block = owner_of(memory, where);
    const auto one = static_cast<std::int64_t>(memory.size);
    std::span<const std::int64_t> sizes = shape.sizes();
    if (sizes.empty()) sizes = {&one, 1};
    check_sizes(sizes, memory.size, where);

    auto all = std::make_unique<Exported<M>>();
    mark(all->managed, memory.only_reads, where);
    all->sizes_and_strides = layout(sizes);
    dlpack::Tensor& tensor = all->managed.tensor;
    tensor.kind = memory.owner != nullptr ? kind_of(*memory.owner) : dlpack::cpu;
    tensor.dimensions = static_cast<std::int32_t>(sizes.size());
    tensor.element = memory.element;
    tensor.sizes = all->sizes_and_strides.get();
    tensor.strides = tensor.sizes + sizes.size();
    if (block != nullptr) {
        order(consumer, *block, where);
        tensor.data = const_cast<void*>(memory.data);
        tensor.kind = kind_of(*block);
        block->owners.fetch_add(1, std::memory_order_relaxed);
        all->block = block;
    }
    const Block* const on = block != nullptr ? block : memory.owner;
    tensor.device = on != nullptr && tensor.kind == dlpack::cuda ? on->device.index() : 0;
    all->managed.context = all.get();
    all->managed.deleter = &Exported<M>::end;
    return reinterpret_cast<M*>(&all.release()->managed);
} catch (...) {
    rethrow_as_error(call, where);
}

template DLManagedTensor* export_tensor(const StreamRef*, const DlpackMemory&, const DlpackShape&,
                                        const SourceLocation&);
template DLManagedTensorVersioned* export_tensor(const StreamRef*, const DlpackMemory&,
                                                 const DlpackShape&, const SourceLocation&);

}  // namespace heddle::detail
