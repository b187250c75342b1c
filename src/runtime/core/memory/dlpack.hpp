// The structs of DLPack 1, as its specification lays them out. They are an ABI that does not change
// within a major version, so heddle needs no copy of DLPack's header.
#pragma once

#include <cstdint>

#include <heddle/with/dlpack.hpp>

namespace heddle::detail::dlpack {

enum Kind : std::int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

/// DLTensor. Sizes and strides are in elements.
struct Tensor {
    void* data;
    std::int32_t kind;  ///< a Kind, or a number that heddle does not support
    std::int32_t device;
    std::int32_t dimensions;
    DlpackElement element;
    std::int64_t* sizes;
    std::int64_t* strides;  ///< null: contiguous
    std::uint64_t byte_offset;
};
static_assert(sizeof(DlpackElement) == 4 && sizeof(Tensor) == 48);

/// DLManagedTensor.
struct Unversioned {
    Tensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor* self);
};
static_assert(sizeof(Unversioned) == 64);

/// DLManagedTensorVersioned. If `major` is unknown, only the first four members may be read.
struct Versioned {
    std::uint32_t major, minor;
    void* context;
    void (*deleter)(DLManagedTensorVersioned* self);
    std::uint64_t flags;
    Tensor tensor;
};
static_assert(sizeof(Versioned) == 80);

inline constexpr std::uint32_t major_version = 1;
inline constexpr std::uint64_t read_only = 1;

inline Unversioned& managed(DLManagedTensor& tensor) noexcept {
    return reinterpret_cast<Unversioned&>(tensor);
}
inline Versioned& managed(DLManagedTensorVersioned& tensor) noexcept {
    return reinterpret_cast<Versioned&>(tensor);
}

/// Wraps a cudaStream_t of the GPU. Defined by the CUDA backend, or by its stand-in (no_cuda).
Stream wrap_number(Device device, std::intptr_t stream, Where where);

}  // namespace heddle::detail::dlpack
