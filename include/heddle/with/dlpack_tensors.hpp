// The library's part of <heddle/with/dlpack.hpp>.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include <heddle/memory/array.hpp>
#include <heddle/with/dlpack_types.hpp>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace heddle HEDDLE_VISIBLE {

namespace detail {
template <class M>
concept DlpackTensor =
    std::same_as<M, DLManagedTensor> || std::same_as<M, DLManagedTensorVersioned>;

void end_tensor(DLManagedTensor* tensor) noexcept;
void end_tensor(DLManagedTensorVersioned* tensor) noexcept;

/// The memory that to_dlpack() exports.
struct DlpackMemory {
    const void* data;
    std::size_t size, element_bytes;
    Block* owner;
    DlpackElement element;
    bool only_reads;
};
template <class T> DlpackMemory dlpack_memory(const View<T>& v) noexcept {
    return {v.data(),
            v.size(),
            sizeof(T),
            Access::block(v),
            DlpackType<std::remove_const_t<T>>::value,
            std::is_const_v<T>};
}
template <class T> DlpackMemory dlpack_memory(const Array<T>& x) noexcept {
    return dlpack_memory(x.view());
}
template <class T> DlpackMemory dlpack_memory(Array<T>& x) noexcept {
    return dlpack_memory(x.view());
}
template <class T> DlpackMemory dlpack_memory(Array<T>&& x) noexcept {
    return dlpack_memory(x.view());
}

/// Implements to_dlpack(). `consumer` is null if no stream was passed.
template <DlpackTensor M>
M* export_tensor(const StreamRef* consumer, const DlpackMemory& memory, const DlpackShape& shape,
                 const SourceLocation& where);
extern template HEDDLE_VISIBLE DLManagedTensor* export_tensor(const StreamRef*, const DlpackMemory&,
                                                              const DlpackShape&,
                                                              const SourceLocation&);
extern template HEDDLE_VISIBLE DLManagedTensorVersioned* export_tensor(const StreamRef*,
                                                                       const DlpackMemory&,
                                                                       const DlpackShape&,
                                                                       const SourceLocation&);

/// The elements that from_dlpack() or rows_from_dlpack() requires. Errors name `call`.
struct DlpackRequest {
    const char* call;
    std::size_t element_bytes, alignment;
    DlpackElement element;
    bool only_reads, as_rows;
};
template <class T> DlpackRequest dlpack_request(const char* call, bool as_rows) noexcept {
    using Element = std::remove_const_t<T>;
    return {call, sizeof(T), alignof(T), DlpackType<Element>::value, std::is_const_v<T>, as_rows};
}
/// A tensor's memory. The caller is an owner of the block.
struct DlpackImport {
    Block* block;
    void* data;
    std::size_t rows, columns, pitch;  ///< in elements; one row for from_dlpack()
};
template <DlpackTensor M>
DlpackImport import_tensor(StreamRef stream, M* tensor, const DlpackRequest& request,
                           const SourceLocation& where);
extern template HEDDLE_VISIBLE DlpackImport import_tensor(StreamRef, DLManagedTensor*,
                                                          const DlpackRequest&,
                                                          const SourceLocation&);
extern template HEDDLE_VISIBLE DlpackImport import_tensor(StreamRef, DLManagedTensorVersioned*,
                                                          const DlpackRequest&,
                                                          const SourceLocation&);
}  // namespace detail

}  // namespace heddle
