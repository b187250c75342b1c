// Declaring what the host itself does with memory, so that observers can see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/detail/work.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/view.hpp>

namespace heddle {

/// Memory that a host function uses. Made by reads() and writes(), for launch_host().
class DeclaredAccess {
private:
    friend detail::Access;
    DeclaredAccess(const detail::MemoryArgument& memory, Where where) noexcept
        : memory_(memory), where_(where) {}
    detail::MemoryArgument memory_;
    SourceLocation where_;

public:
    /// Returns the memory; for the library.
    const detail::MemoryArgument& memory() const noexcept { return memory_; }
    const SourceLocation& where() const noexcept { return where_; }  ///< of the declaration
};

namespace detail {
template <class T> MemoryArgument host_memory(View<T> view, bool writes) noexcept {
    return {Access::block(view),
            view.data(),
            view.size_bytes(),
            sizeof(T),
            -1,
            false,
            writes,
            false,
            nullptr,
            0,
            1,
            0};
}
template <class T> DeclaredAccess declare(View<T> view, bool writes, Where where) noexcept {
    return Access::make<DeclaredAccess>(host_memory(view, writes), where);
}
/// Tells observers that the host uses memory now.
void notify_host_access(const MemoryArgument& memory, const SourceLocation& where) noexcept;
}  // namespace detail

/// Declares that a host function reads this memory:
///
///     launch_host(stream, [&] { total = sum(x); }, reads(x));
///
/// Counts as a use of the array, which is then freed after the function.
template <class T> [[nodiscard]] DeclaredAccess reads(View<T> view, Where where = {}) noexcept {
    return detail::declare(view, false, where);
}
template <class T>
[[nodiscard]] DeclaredAccess reads(const Array<T>& array, Where where = {}) noexcept {
    return detail::declare(array.view(), false, where);
}
/// Declares that a host function reads and writes this memory.
template <class T> [[nodiscard]] DeclaredAccess writes(View<T> view, Where where = {}) noexcept {
    return detail::declare(view, true, where);
}
template <class T> [[nodiscard]] DeclaredAccess writes(Array<T>& array, Where where = {}) noexcept {
    return detail::declare(array.view(), true, where);
}

/// Returns the view, and tells observers that the host uses its memory here and now: that it may
/// write it, unless the elements are const. Waits for nothing.
///
///     done.synchronize();
///     for (float value : on_host(result)) use(value);
template <class T> View<T> on_host(View<T> view, Where where = {}) {
    if (detail::is_observed()) [[unlikely]]
        detail::notify_host_access(detail::host_memory(view, !std::is_const_v<T>), where);
    return view;
}
template <class T> View<T> on_host(Array<T>& array HEDDLE_LIFETIMEBOUND, Where where = {}) {
    return on_host(array.view(), where);
}
template <class T>
View<const T> on_host(const Array<T>& array HEDDLE_LIFETIMEBOUND, Where where = {}) {
    return on_host(array.view(), where);
}

}  // namespace heddle
