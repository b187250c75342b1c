// An accessor for mdspans that checks indices. Included by <heddle/with/mdspan.hpp>.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/detail/bounds.hpp>
#include <heddle/kernel.hpp>
#include <heddle/memory/view.hpp>

namespace heddle {

inline namespace HEDDLE_COMPILED_BY {

/// An accessor policy for mdspans of any library, which checks indices in files that are compiled
/// with HEDDLE_BOUNDS=1, as a View does. Finds each element outside the memory of the mdspan. Does
/// not find an index beyond its extent if the element is inside the memory.
///
///     using Matrix = cuda::std::mdspan<float, cuda::std::dextents<std::size_t, 2>,
///                                      cuda::std::layout_right, bounds_accessor<float>>;
///     launch(s, Scale{}, dim(columns, rows), spanning<Matrix>(x, rows, columns), 2.0f);
///
/// A default-constructed accessor knows no memory, and checks nothing. Const members are
/// thread-safe.
template <class T> class bounds_accessor {
public:
    using element_type = T;                 ///< the elements
    using reference = T&;                   ///< the result of access()
    using data_handle_type = T*;            ///< kept by the mdspan
    using offset_policy = bounds_accessor;  ///< the accessor of a part

    constexpr bounds_accessor() noexcept = default;
    /// Checks that elements are in this memory.
    HEDDLE_FN explicit constexpr bounds_accessor(View<T> memory) noexcept : memory_(memory) {}
    /// Converts to an accessor of const elements.
    template <class U>
        requires std::is_same_v<T, const U>
    HEDDLE_FN constexpr bounds_accessor(const bounds_accessor<U>& other) noexcept
        : memory_(other.memory()) {}

    /// Returns the element `i` of the memory that begins at `data`.
    HEDDLE_FN constexpr T& access(T* data, std::size_t i) const noexcept {
        if constexpr (HEDDLE_BOUNDS) {
            const std::size_t at = i + static_cast<std::size_t>(data - memory_.data());
            if (memory_.data() != nullptr && at >= memory_.size()) [[unlikely]]
                return detail::dummy_element<T>(memory_.data(), at, memory_.size());
        }
        return data[i];
    }
    /// Returns the address of the element `i`.
    HEDDLE_FN constexpr T* offset(T* data, std::size_t i) const noexcept { return data + i; }
    /// Returns the memory.
    HEDDLE_FN constexpr View<T> memory() const noexcept { return memory_; }

private:
    View<T> memory_;
};

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
