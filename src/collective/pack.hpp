// What kernels of collectives read and write at once.
#pragma once

#include <cstddef>

namespace heddle::detail {

/// What a GPU's thread reads at once, where the arrays begin at a multiple of it.
template <class T> struct alignas(16) Pack {
    static constexpr std::size_t width = 16 / sizeof(T);
    T at[width];
};

}  // namespace heddle::detail
