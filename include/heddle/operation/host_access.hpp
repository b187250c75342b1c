// Declaring the host's own accesses to memory, so that observers can see them.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include <heddle/memory/array.hpp>
#include <heddle/memory/detail/memory_argument.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/operation/observer.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The memory that a host function, or the host itself, uses: up to four arrays or views. Made by
/// reads() and writes(), for launch_host() and on_host(): see reads() for an example.
///
/// Lifetime: refers to the memory without owning it, so pass it on while the memory exists. Const
/// members are thread-safe.
class DeclaredAccess {
protected:
    friend detail::Access;
    static constexpr std::size_t most = 4;
    template <std::same_as<detail::MemoryArgument>... A>
    explicit DeclaredAccess(Where where, const A&... memory) noexcept
        : memory_{memory...}, count_(sizeof...(memory)), where_(where) {
        static_assert(sizeof...(memory) <= most);
    }

private:
    detail::MemoryArgument memory_[most];
    std::size_t count_;
    SourceLocation where_;

public:
    /// Returns the memory, for heddle's own use.
    std::span<const detail::MemoryArgument> memory() const noexcept { return {memory_, count_}; }
    const SourceLocation& where() const noexcept { return where_; }  ///< the declaration
};

/// The declared access to one array or view, and a view of that memory. T is const if the memory is
/// only read. Made by reads() and writes(). Lifetime and threads: see DeclaredAccess.
template <class T> class DeclaredView : public DeclaredAccess {
private:
    friend detail::Access;
    DeclaredView(const detail::MemoryArgument& memory, View<T> view, Where where) noexcept
        : DeclaredAccess(where, memory), view_(view) {}
    View<T> view_;

public:
    /// Returns the view, for heddle's own use.
    View<T> view() const noexcept { return view_; }
};

namespace detail {
template <class T> MemoryArgument host_memory(View<T> view, bool writes) noexcept {
    return {{view.data(), view.size_bytes()}, Access::block(view), sizeof(T), -1, writes};
}
template <class T> View<const T> as_read(View<T> view) noexcept { return view; }
template <class T> View<const T> as_read(const Array<T>& array) noexcept { return array.view(); }
template <class T> View<T> as_written(View<T> view) noexcept { return view; }
template <class T> View<T> as_written(Array<T>& array) noexcept { return array.view(); }
/// Accepts views, and arrays that are not const.
template <class A>
concept Writable = requires(A& a) { detail::as_written(a); };
template <class T> DeclaredView<T> declare(View<T> view, bool writes, Where where) noexcept {
    return Access::make<DeclaredView<T>>(host_memory(view, writes), view, where);
}
/// Declares several arrays or views.
template <ArrayOrView... A>
DeclaredAccess declare_reads(const SourceLocation& where, const A&... memory) noexcept {
    return Access::make<DeclaredAccess>(Where(where), host_memory(as_read(memory), false)...);
}
template <ArrayOrView... A>
DeclaredAccess declare_writes(const SourceLocation& where, A&... memory) noexcept {
    return Access::make<DeclaredAccess>(Where(where), host_memory(as_written(memory), true)...);
}
/// The memory of all declarations of a call, in sequence.
template <std::size_t declarations> class DeclaredMemory {
public:
    template <std::derived_from<DeclaredAccess>... A>
    explicit DeclaredMemory(const A&... declared) noexcept {
        (add(declared.memory()), ...);
    }
    operator std::span<const MemoryArgument>() const noexcept { return {room_.all, count_}; }

private:
    void add(std::span<const MemoryArgument> memory) noexcept {
        for (const MemoryArgument& one : memory) room_.all[count_++] = one;
    }
    MemoryArgumentRoom<4 * declarations> room_;
    std::size_t count_ = 0;
};
template <class... A> DeclaredMemory(const A&...) -> DeclaredMemory<sizeof...(A)>;
/// Notifies observers that the host uses the memory now.
void notify_host_access(const MemoryArgument& memory, const SourceLocation& where) noexcept;
}  // namespace detail

/// Declares that a host function, or the host itself, reads this memory:
///
///     launch_host(stream, [&] { total = sum(x); }, reads(x));
///     for (float value : on_host(reads(x))) use(value);
///
/// The declaration counts as a use by the host function, so the array is freed after the function
/// has run.
template <class T>
[[nodiscard]] DeclaredView<const T> reads(View<T> view, Where where = {}) noexcept {
    return detail::declare(View<const T>(view), false, where);
}
template <class T>
[[nodiscard]] DeclaredView<const T> reads(const Array<T>& array HEDDLE_LIFETIMEBOUND,
                                          Where where = {}) noexcept {
    return detail::declare(array.view(), false, where);
}
/// Declares reads of several arrays or views. Pass another reads() for more than four.
template <detail::ArrayOrView A, detail::ArrayOrView B>
[[nodiscard]] DeclaredAccess reads(const A& a, const B& b, Where where = {}) noexcept {
    return detail::declare_reads(where, a, b);
}
template <detail::ArrayOrView A, detail::ArrayOrView B, detail::ArrayOrView C>
[[nodiscard]] DeclaredAccess reads(const A& a, const B& b, const C& c, Where where = {}) noexcept {
    return detail::declare_reads(where, a, b, c);
}
template <detail::ArrayOrView A, detail::ArrayOrView B, detail::ArrayOrView C,
          detail::ArrayOrView D>
[[nodiscard]] DeclaredAccess reads(const A& a, const B& b, const C& c, const D& d,
                                   Where where = {}) noexcept {
    return detail::declare_reads(where, a, b, c, d);
}
/// Declares that a host function, or the host itself, reads and writes this memory.
template <class T> [[nodiscard]] DeclaredView<T> writes(View<T> view, Where where = {}) noexcept {
    return detail::declare(view, true, where);
}
template <class T>
[[nodiscard]] DeclaredView<T> writes(Array<T>& array HEDDLE_LIFETIMEBOUND,
                                     Where where = {}) noexcept {
    return detail::declare(array.view(), true, where);
}
/// Declares writes of several arrays or views. Pass another writes() for more than four.
template <detail::Writable A, detail::Writable B>
[[nodiscard]] DeclaredAccess writes(A&& a, B&& b, Where where = {}) noexcept {
    return detail::declare_writes(where, a, b);
}
template <detail::Writable A, detail::Writable B, detail::Writable C>
[[nodiscard]] DeclaredAccess writes(A&& a, B&& b, C&& c, Where where = {}) noexcept {
    return detail::declare_writes(where, a, b, c);
}
template <detail::Writable A, detail::Writable B, detail::Writable C, detail::Writable D>
[[nodiscard]] DeclaredAccess writes(A&& a, B&& b, C&& c, D&& d, Where where = {}) noexcept {
    return detail::declare_writes(where, a, b, c, d);
}

/// Returns the view of reads() or writes(), and notifies observers that the host uses its memory
/// now, as declared. Never blocks: synchronise first.
///
///     done.synchronize();
///     for (float value : on_host(reads(result))) use(value);
template <class T> View<T> on_host(DeclaredView<T> use HEDDLE_LIFETIMEBOUND) {
    if (detail::is_observed()) [[unlikely]]
        detail::notify_host_access(use.memory().front(), use.where());
    return use.view();
}
/// Does the same for a view without a declaration. The host may write the memory unless the
/// elements are const.
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
