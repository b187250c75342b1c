// The unit that kernels of collectives read and write at once.
#pragma once

#include <cstddef>

namespace heddle::detail {

/// 16 bytes of elements, which a GPU thread reads or writes at once. Arrays of packs must be
/// aligned to 16 bytes.
template <class T> struct alignas(16) Pack {
    static constexpr std::size_t width = 16 / sizeof(T);
    T at[width];
};

}  // namespace heddle::detail
