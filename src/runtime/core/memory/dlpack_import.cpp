// from_dlpack(): arrays of other libraries' tensors (docs/adr/0072).
#include <memory>
#include <mutex>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/memory/dlpack.hpp"
#include "core/memory/foreign_owners.hpp"
#include "core/memory/memory.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

namespace detail {

namespace {

struct Call : ErrorSite {
    const DlpackRequest& request;
};

/// Calls the tensor's deleter after the last use.
template <class M> class TensorEnd final : public MemoryEnd {
public:
    explicit TensorEnd(M* tensor) noexcept : MemoryEnd(Order::host), tensor_(tensor) {}
    void run(const StreamRef*) override { end_tensor(tensor_); }

private:
    M* tensor_;
};

void check_managed(const dlpack::Unversioned&, const Call&) {}
void check_managed(const dlpack::Versioned& managed, const Call& call) {
    if (managed.major > dlpack::major_version)
        usage_error(call,
                    "the tensor has DLPack version {}.{}, but heddle supports version 1: call "
                    "__dlpack__() with max_version=(1, 0)",
                    managed.major, managed.minor);
    if ((managed.flags & dlpack::read_only) != 0 && !call.request.only_reads)
        usage_error(
            call,
            "the tensor is read-only: import it with rows_from_dlpack<const T>(), or copy it");
}

/// Sets the device and the kind of the memory. Host memory is memory of `device` if that is a CPU,
/// else pageable.
void set_space(ForeignMemory& memory, const dlpack::Tensor& tensor, Device device,
               const Call& call) {
    switch (tensor.kind) {
    case dlpack::cpu:
        if (device.is_cpu()) memory.device = device;
        else memory.kind = MemoryKind::pageable;
        return;
    case dlpack::cuda_host: memory.kind = MemoryKind::pinned; return;
    case dlpack::cuda:
        memory.device = Device(DeviceKind::cuda, tensor.device, call.where);
        if (device.is_cpu())
            usage_error(call,
                        "the tensor is on {}, but the stream belongs to a CPU device: pass a "
                        "stream of a CUDA device",
                        memory.device);
        return;
    case dlpack::cuda_managed:
        usage_error(call, "the tensor is in managed memory, which heddle's arrays do not support: "
                          "copy the tensor");
    default:
        usage_error(call,
                    "the tensor is on a DLPack device of type {}, but heddle supports CPUs (1), "
                    "CUDA GPUs (2) and pinned memory (3) only: copy the tensor to one of these",
                    tensor.kind);
    }
}

void check_element(const dlpack::Tensor& tensor, const Call& call) {
    const DlpackElement is = tensor.element, wanted = call.request.element;
    if (is != wanted)
        usage_error(
            call,
            "the tensor's elements have type code {}, {} bits and {} lanes, but the array's have "
            "code {}, {} bits and {} lanes: import the tensor with its own element type",
            is.code, is.bits, is.lanes, wanted.code, wanted.bits, wanted.lanes);
}

/// The sizes and strides of a tensor.
class Layout {
public:
    Layout(const dlpack::Tensor& tensor, const Call& call) : tensor_(tensor), call_(call) {
        if (tensor.dimensions < 0 || (tensor.dimensions > 0 && tensor.sizes == nullptr))
            usage_error(call,
                        "the tensor has {} dimensions and {} shape: pass a tensor with ndim >= 0 "
                        "and, unless ndim is 0, a non-null shape",
                        tensor.dimensions, tensor.sizes == nullptr ? "a null" : "a non-null");
        for (int i = 0; i < tensor.dimensions; ++i) {
            if (tensor.sizes[i] < 0)
                usage_error(call,
                            "a dimension of the tensor has {} elements: pass a tensor whose "
                            "dimensions have 0 or more elements",
                            tensor.sizes[i]);
            if (tensor.sizes[i] == 0) is_empty_ = true;
        }
        if (tensor.dimensions == 0) columns_ = 1;
        else columns_ = size(tensor.dimensions - 1);
        merge_rows();
    }

    bool is_empty() const noexcept { return is_empty_; }
    /// Returns the rows of the last dimension. Throws UsageError if they are not equally far apart.
    DlpackImport rows() const {
        if (is_empty_) return {nullptr, nullptr, 0, 0, 0};
        if (!is_regular_)
            usage_error(call_, "the tensor does not consist of contiguous rows at equal distances: "
                               "make it contiguous");
        return {nullptr, nullptr, rows_, columns_, pitch_};
    }
    /// Returns all elements as one row. Throws UsageError if they are not contiguous.
    DlpackImport whole() const {
        if (is_empty_) return {nullptr, nullptr, 0, 0, 0};
        if (!is_regular_ || (rows_ > 1 && pitch_ != columns_))
            usage_error(call_, "the tensor is not contiguous: make it contiguous or, if only its "
                               "rows are apart, import it with rows_from_dlpack()");
        const std::size_t all = multiply(rows_, columns_);
        return {nullptr, nullptr, 1, all, all};
    }

private:
    std::size_t size(int i) const noexcept { return static_cast<std::size_t>(tensor_.sizes[i]); }
    std::size_t multiply(std::size_t a, std::size_t b) const {
        std::size_t all = 0;
        if (__builtin_mul_overflow(a, b, &all))
            usage_error(call_, "the tensor's shape has more elements than can be addressed: pass "
                               "a tensor with a valid shape");
        return all;
    }
    /// Joins all dimensions but the last into a single dimension of rows.
    void merge_rows() {
        const int last = tensor_.dimensions - 1;
        pitch_ = columns_;
        if (is_empty_) return;
        const auto has_stride = [&](int i, std::size_t wanted) {
            return tensor_.strides == nullptr || tensor_.sizes[i] == 1 ||
                   (tensor_.strides[i] >= 0 &&
                    static_cast<std::size_t>(tensor_.strides[i]) == wanted);
        };
        if (last >= 0 && !has_stride(last, 1)) is_regular_ = false;
        for (int i = last - 1; i >= 0; --i) {
            if (size(i) == 1) continue;
            if (rows_ == 1 && tensor_.strides != nullptr) {
                if (tensor_.strides[i] < static_cast<std::int64_t>(columns_)) is_regular_ = false;
                else pitch_ = static_cast<std::size_t>(tensor_.strides[i]);
            } else if (!has_stride(i, multiply(pitch_, rows_))) {
                is_regular_ = false;
            }
            rows_ = multiply(rows_, size(i));
        }
    }

    const dlpack::Tensor& tensor_;
    const Call& call_;
    std::size_t rows_ = 1, columns_ = 0, pitch_ = 0;
    bool is_empty_ = false, is_regular_ = true;
};

/// Held from the check whether an array already owns the memory until an array owns it, because two
/// threads may import tensors of the same memory. No foreign code runs with the lock held.
constinit std::mutex import_lock;
const ForkRegistration imports_registered{ForkOrder::dlpack_imports, import_lock};

/// If an array owns the memory, adds an owner to the array's block. Otherwise makes a block from
/// the tensor, with one owner.
template <class M>
Block& block_of(const ForeignMemory& memory, M* tensor, const Call& call, bool& is_shared) {
    const std::lock_guard lock(import_lock);
    Block* const block = share_of(memory.data);
    is_shared = block != nullptr;
    if (is_shared) return *block;
    return adopt_memory(memory, std::make_unique<TensorEnd<M>>(tensor), call.call, call.where);
}

/// Throws UsageError, and releases the block, unless the tensor lies within the block. For
/// from_dlpack(), the tensor must also begin where the block begins.
void check_share(Block& block, const ForeignMemory& memory, const Call& call) {
    const bool begins_there = call.request.as_rows || block.data == memory.data;
    if (begins_there && holds(block, memory.data, memory.count * memory.element)) return;
    release(block);
    usage_error(call,
                "the tensor's memory is only a part of an existing array, or reaches beyond it: "
                "use a view of that array, or import the tensor with rows_from_dlpack()");
}

/// Imports a tensor with elements. Sets `is_taken` once the caller must not call the tensor's
/// deleter.
template <class M>
void take(DlpackImport& to, StreamRef stream, M* tensor, const Call& call, bool& is_taken) {
    const dlpack::Tensor& from = dlpack::managed(*tensor).tensor;
    ForeignMemory memory;
    set_space(memory, from, stream.device(), call);
    if (from.data == nullptr)
        usage_error(call, "the tensor has elements, but its address is null: pass a valid tensor");
    memory.data = to.data = static_cast<std::byte*>(from.data) + from.byte_offset;
    memory.element = call.request.element_bytes;
    memory.alignment = call.request.alignment;
    if (__builtin_mul_overflow(to.rows - 1, to.pitch, &memory.count) ||
        __builtin_add_overflow(memory.count, to.columns, &memory.count))
        usage_error(call, "the tensor's rows have more elements than can be addressed: pass a "
                          "tensor with a valid shape and valid strides");
    if (reinterpret_cast<std::uintptr_t>(memory.data) % memory.alignment != 0)
        usage_error(call,
                    "the tensor's address is not a multiple of {} bytes, the alignment of the "
                    "elements: copy the tensor to aligned memory",
                    memory.alignment);
    bool is_shared = false;
    to.block = &block_of(memory, tensor, call, is_shared);
    if (is_shared) check_share(*to.block, memory, call);
    else is_taken = true;
    try {
        declare_use(*to.block, stream, call.where);
    } catch (...) {
        release(*to.block);
        throw;
    }
    if (is_shared) {  // the share keeps the memory, so the tensor may end
        is_taken = true;
        end_tensor(tensor);
    }
}

}  // namespace

template <DlpackTensor M>
DlpackImport import_tensor(StreamRef stream, M* tensor, const DlpackRequest& request,
                           const SourceLocation& where) {
    bool is_taken = false;
    try {
        const Call call{{request.call, where}, request};
        if (tensor == nullptr) usage_error(call, "the tensor is null: pass a valid tensor");
        check_usable(record_of(stream), request.call, where);
        check_managed(dlpack::managed(*tensor), call);
        const dlpack::Tensor& from = dlpack::managed(*tensor).tensor;
        check_element(from, call);
        const Layout layout(from, call);
        DlpackImport to = request.as_rows ? layout.rows() : layout.whole();
        if (layout.is_empty()) {
            to.block = &allocate(stream, 0, request.element_bytes, request.call, where);
            is_taken = true;
            end_tensor(tensor);
        } else {
            take(to, stream, tensor, call, is_taken);
        }
        return to;
    } catch (...) {
        if (!is_taken && tensor != nullptr) end_tensor(tensor);
        rethrow_as_error(request.call, where);
    }
}

template DlpackImport import_tensor(StreamRef, DLManagedTensor*, const DlpackRequest&,
                                    const SourceLocation&);
template DlpackImport import_tensor(StreamRef, DLManagedTensorVersioned*, const DlpackRequest&,
                                    const SourceLocation&);

}  // namespace detail

Stream dlpack_stream(Device device, std::intptr_t stream, Where where) {
    if (stream == -1) return Stream(device, {}, where);
    const detail::ErrorSite site{"dlpack_stream", where, device};
    if (device.is_cpu())
        detail::usage_error(site, "CPU devices have no numbered streams: pass -1 (None)");
    if (stream == 0)
        detail::usage_error(site, "stream 0 is ambiguous in DLPack: pass 1 (legacy default), 2 "
                                  "(per-thread default), -1 (none) or a cudaStream_t");
    return detail::dlpack::wrap_number(device, stream, where);
}

}  // namespace heddle
