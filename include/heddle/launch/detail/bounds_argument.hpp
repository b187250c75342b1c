// Finds which kernel argument holds the view that was indexed out of range.
#pragma once

#include <cstdint>

#include <heddle/detail/bounds.hpp>
#include <heddle/detail/elements.hpp>
#include <heddle/launch/detail/held_views.hpp>
#include <heddle/launch/detail/span_arguments.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/view.hpp>

namespace heddle::detail {

/// The position at which a bad index's view was found, and whether its address is the view's.
struct FoundArgument {
    int argument = -1;
    bool is_exact = false;

    void add(const MemoryRange& memory, const BadIndex& bad, int of) noexcept {
        const bool exact = memory.data == bad.data;
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(bad.data) -
                                      reinterpret_cast<std::uintptr_t>(memory.data);
        if (is_exact || (!exact && (argument >= 0 || offset >= memory.extent()))) return;
        *this = {of, exact};
    }
};
/// Searches the kernel (0) or an argument (from 1) for the view of a bad index.
template <class P>
void find_argument([[maybe_unused]] const P& value, [[maybe_unused]] const BadIndex& bad,
                   [[maybe_unused]] int argument, [[maybe_unused]] FoundArgument& found) noexcept {
    if constexpr (ViewTraits<P>::is_view) {
        found.add({value.data(), value.size_bytes()}, bad, argument);
    } else if constexpr (AnySpan<P>) {
        found.add(memory_of(value), bad, argument);
    } else if constexpr (is_rectangle<P>) {
        found.add({value.data(), value.memory().size_bytes()}, bad, argument);
    } else if constexpr (HoldsViews<P>) {
        detail::with_elements(value.views(), [&](const auto&... view) {
            (detail::find_argument(view, bad, argument, found), ...);
        });
    } else if constexpr (may_hold_views<P>()) {
        MemoryArgumentRoom<sizeof(P) / sizeof(View<char>) + 1> room;
        const MemoryArgument* const end = find_views(&value, sizeof value, -1, room.all);
        for (const MemoryArgument* one = room.all; one != end; ++one)
            found.add(*one, bad, argument);
    }
}
/// Names the argument of the bad index that the kernel has noted, if any.
template <class K, class Args> void name_argument(const K& kernel, const Args& args) noexcept {
    BadIndex* const bad = noted_bad_index();
    if (bad == nullptr) [[likely]]
        return;
    FoundArgument found;
    detail::with_elements(args, [&](const auto&... value) {
        int argument = 0;
        (detail::find_argument(value, *bad, ++argument, found), ...);
    });
    if (!found.is_exact) detail::find_argument(kernel, *bad, 0, found);
    bad->argument = found.argument;
}

}  // namespace heddle::detail
