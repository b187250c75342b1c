// The structs of DLPack, for tests, in the layout of its specification. heddle's headers only name
// them.
#pragma once

#include <cstdint>

#include <heddle/with/dlpack.hpp>

struct DLTensor {
    void* data;
    std::int32_t device_type, device_id, ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
    std::uint32_t major, minor;
    void* context;
    void (*deleter)(DLManagedTensorVersioned*);
    std::uint64_t flags;
    DLTensor tensor;
};
