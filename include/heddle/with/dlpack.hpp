// heddle with numpy, PyTorch, CuPy, JAX and others: tensors of DLPack, without copies and without
// its headers. This header names the two structs and includes nothing of DLPack or Python.
//
//     DlpackPtr tensor = to_dlpack(x, {rows, columns});   // x: an Array<float>
//     pass_on(tensor.release());                          // the consumer calls its deleter
//     Array<float> y = from_dlpack<float>(stream, other); // calls other's deleter after its use
//
// Both versions of the struct are supported: DLManagedTensorVersioned (DLPack 1), and
// DLManagedTensor, whose Python capsules are named "dltensor". docs/guide/26 shows both in Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <heddle/memory/array.hpp>
#include <heddle/with/dlpack_tensors.hpp>
#include <heddle/with/dlpack_types.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Calls a tensor's deleter. For DlpackPtr.
struct DlpackDeleter {
    /// Calls the deleter of `tensor`, unless that is null.
    template <detail::DlpackTensor M> void operator()(M* tensor) const noexcept {
        detail::end_tensor(tensor);
    }
};
/// Owns a tensor. release() passes it on: to a PyCapsule, or to a C function that takes it. May be
/// destroyed on any thread.
using DlpackPtr = std::unique_ptr<DLManagedTensorVersioned, DlpackDeleter>;

/// Returns a tensor of the memory of `x`, an array or a view of one, without a copy. The tensor
/// shares ownership of the memory, so `x` may be destroyed first. Any thread may call the tensor's
/// deleter, which does not block. Without a shape, the tensor has one dimension.
///
/// If no consumer stream is passed, blocks until all work enqueued so far on the memory is
/// complete. Use this form for consumers without streams, such as numpy. With a consumer stream,
/// orders it after that work and records it as a user of the memory. If the deleter runs while the
/// consumer's work is pending, the memory is freed after that work. For the consumer's stream in
/// Python, see dlpack_stream(). Later work on `x` through heddle is not ordered with the
/// consumer's.
///
/// The tensor of a const array, or of a View<const T>, is marked as read-only.
/// to_dlpack<DLManagedTensor>(x) makes the older struct, which has no such mark.
///
/// Memory of CPU devices and pageable arrays is kDLCPU 0, pinned memory kDLCUDAHost. A tensor
/// without elements has a null address, and any stream may use it.
///
/// Throws UsageError if the shape has a negative size, or not as many elements as `x`; for a view
/// of memory that belongs to no array; for memory of a capture or a Loan; and for a const `x` with
/// the older struct. Without a consumer stream, also throws UsageError in host functions, and the
/// failure of earlier work on the memory.
/// Thread-safe.
template <detail::DlpackTensor M = DLManagedTensorVersioned, detail::ArrayOrView X>
[[nodiscard]] std::unique_ptr<M, DlpackDeleter> to_dlpack(X&& x, const DlpackShape& shape = {},
                                                          Where where = {}) {
    const detail::DlpackMemory memory = detail::dlpack_memory(std::forward<X>(x));
    return std::unique_ptr<M, DlpackDeleter>(
        detail::export_tensor<M>(nullptr, memory, shape, where));
}
template <detail::DlpackTensor M = DLManagedTensorVersioned, detail::ArrayOrView X>
[[nodiscard]] std::unique_ptr<M, DlpackDeleter> to_dlpack(StreamRef consumer, X&& x,
                                                          const DlpackShape& shape = {},
                                                          Where where = {}) {
    const detail::DlpackMemory memory = detail::dlpack_memory(std::forward<X>(x));
    return std::unique_ptr<M, DlpackDeleter>(
        detail::export_tensor<M>(&consumer, memory, shape, where));
}

/// Returns the memory of another library's contiguous tensor as an array, without a copy. Takes
/// ownership of the tensor, even if it throws. The tensor's deleter is called once, by a thread of
/// heddle, when all work on the memory has completed. It is called at once if from_dlpack() throws,
/// there are no elements, or an array already owns the memory.
///
/// `stream` counts as a user of the memory. It does not wait. If `stream` was passed to Python's
/// __dlpack__(stream=...), the tensor's producer has already ordered it after its work. Otherwise
/// call stream.wait_stream() for the producer's stream. Other streams need a wait for `stream`. The
/// producer must order its later work after heddle's.
///
/// The elements must be of T's DlpackType, contiguous and aligned. Memory of the CPU becomes memory
/// of the stream's device if that is a CPU device, else pageable memory. kDLCUDAHost becomes pinned
/// memory. If an array already owns the tensor's memory (after to_dlpack(), for example), the
/// result shares its ownership.
///
/// Throws UsageError for other elements or strides; read-only tensors (take them with
/// rows_from_dlpack<const T>()); versions of DLPack other than 0 and 1; managed memory and other
/// devices; memory of an array, unless it begins where the array begins and does not reach beyond
/// it. Throws NoDevice for a GPU that heddle does not have. Thread-safe.
template <detail::ArrayElement T, detail::DlpackTensor M>
[[nodiscard]] Array<T> from_dlpack(StreamRef stream, M* tensor, Where where = {}) {
    const detail::DlpackImport got = detail::import_tensor(
        stream, tensor, detail::dlpack_request<T>("from_dlpack", false), where);
    return detail::Access::array<T>(*got.block, got.columns);
}

/// The memory of another library's tensor as equally spaced rows, with or without padding between
/// them. T is const for a read-only tensor. Move-only; made by rows_from_dlpack().
///
///     DlpackRows<const float> image = rows_from_dlpack<const float>(stream, tensor);
///     copy_2d(stream, View2D<float>(x, rows, columns), image.view());
///
/// Lifetime: it must outlive its views. The destructor does not block. The tensor's deleter is
/// called as for from_dlpack(). Errors: see rows_from_dlpack(). Const members are thread-safe.
template <class T> class DlpackRows {
public:
    /// Returns the rows. If the tensor has more than two dimensions, rows are along the last one.
    View2D<T> view() const noexcept HEDDLE_LIFETIMEBOUND { return rows_; }

private:
    friend detail::Access;
    explicit DlpackRows(const detail::DlpackImport& got, Where where)
        : memory_(detail::Access::array<std::byte>(*got.block, got.block->bytes)),
          rows_(detail::Access::view(static_cast<T*>(got.data),
                                     got.rows == 0 ? 0 : (got.rows - 1) * got.pitch + got.columns,
                                     got.block),
                got.rows, got.columns, got.pitch, where) {}

    Array<std::byte> memory_;
    View2D<T> rows_;
};

/// Returns the memory of another library's tensor as rows, as from_dlpack() does. Only the elements
/// of a row must be contiguous. The rows of all dimensions but the last, taken together, must be
/// equally far apart. The memory may be a part of an array's. With a const T, the tensor may be
/// read-only.
template <class T, detail::DlpackTensor M>
[[nodiscard]] DlpackRows<T> rows_from_dlpack(StreamRef stream, M* tensor, Where where = {}) {
    return detail::Access::make<DlpackRows<T>>(
        detail::import_tensor(stream, tensor, detail::dlpack_request<T>("rows_from_dlpack", true),
                              where),
        where);
}

/// Returns the stream that Python's __dlpack__(stream=...) names by an integer, for to_dlpack(). 1
/// is the legacy default stream (as None is), 2 the per-thread one, and other numbers are a
/// cudaStream_t, which is wrapped. -1 means that the consumer needs no order: returns a new stream.
///
/// Keep the result as long as the consumer's stream exists and its tensors are in use. If the
/// wrapper of a stream is destroyed earlier, the end of a tensor waits only for work that was
/// enqueued before that.
///
/// Throws UsageError for 0, and for a CPU device unless the number is -1 (for None).
[[nodiscard]] Stream dlpack_stream(Device device, std::intptr_t stream, Where where = {});

}  // namespace heddle
