// A launch that is prepared once and enqueued many times.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include <heddle/detail/elements.hpp>
#include <heddle/graph/nodes.hpp>

namespace heddle HEDDLE_VISIBLE {

inline namespace HEDDLE_COMPILED_BY {

/// A portable kernel with its extents and arguments, checked and prepared once. Made by prepare().
///
///     auto saxpy = prepare(Saxpy{}, dim(1000), 2.0f, x, y);
///     saxpy.launch();
///     saxpy.set<0>(3.0f).launch(); // replaces the first argument from now on
///
/// On CUDA it launches a graph of one node, which costs between a third and two thirds of an
/// ordinary launch (H200). On CPU devices, and on streams that are being recorded, it makes an
/// ordinary launch.
///
/// Order: the caller orders launches on different streams, as with launch(). Lifetime: move-only.
/// The arrays must exist at every launch. Errors: prepare() and set() check as launch() does;
/// members throw UsageError for an object that was moved from. Thread-safety: one thread at a time
/// may launch or change it.
template <class K, int N, class... P> class PreparedLaunch {
public:
    /// Enqueues the kernel on `stream`, and adds no other order. Throws UsageError, before anything
    /// is enqueued, if the stream belongs to another device or an array has been destroyed.
    void launch(StreamRef stream, Where where = {}) {
        check_held("launch", where);
        const auto flags = detail::Access::state(stream).flags.load(std::memory_order_relaxed);
        if (device() != stream.device() ||
            (device().is_cuda() && (flags & detail::stream_flag::recording) == 0))
            return graph_.launch(stream, where);
        detail::check_arrays(node_, where);
        Dim<N> now = dim_;
        now.where = where;
        detail::with_elements(
            values_, [&](const P&... values) { heddle::launch(stream, kernel_, now, values...); });
    }
    /// Enqueues the kernel on the current stream of its device.
    void launch(Where where = {}) {
        check_held("launch", where);
        launch(current_stream(device()), where);
    }

    /// Replaces the argument `index` from the next launch on. Checks only this argument, as
    /// launch() does; each launch checks that all arrays still exist.
    template <std::size_t index, class A> PreparedLaunch& set(A&& value, Where where = {}) {
        static_assert(index < sizeof...(P), "heddle: the kernel has no argument with this index: "
                                            "set<0> sets the first argument after the indices");
        if constexpr (index < sizeof...(P)) {
            using Parameter = std::tuple_element_t<index, std::tuple<P...>>;
            if constexpr (detail::IsTaken<A, Parameter>::value) {
                check_held("set", where);
                detail::check_node_argument(value, index, device(), where);
                std::tuple<P...> values = values_;
                std::get<index>(values) =
                    detail::pass_as<Parameter>(detail::kernel_argument(value));
                detail::with_elements(values, [&](const P&... passed) {
                    detail::Access::change_argument(node_, detail::argument_index(index),
                                                    passed...);
                });
                values_ = values;
            } else {  // does not compile: names the mistake
                (void)sizeof(*detail::why_not_set<static_cast<int>(index) + 1, A, Parameter>());
            }
        }
        return *this;
    }
    /// Replaces the extents from the next launch on.
    PreparedLaunch& dim(const Dim<N>& d) {
        check_held("dim", d.where);
        dim_ = d;
        node_.dim(d);
        return *this;
    }
    /// Returns the device that it was prepared for.
    Device device() const { return node_.device(); }

private:
    friend detail::Access;
    /// Throws UsageError if it was moved from.
    void check_held(const char* call, const SourceLocation& where) const {
        if (!node_) [[unlikely]]
            detail::throw_moved_prepared(call, where);
    }
    template <class Use> void describe(const SourceLocation& where, const Use& use) {
        check_held("launch", where);
        Dim<N> now = dim_;
        now.where = where;
        detail::with_elements(values_, [&](const P&... values) {
            detail::describe_launch<K>(kernel_, now, use, values...);
        });
    }
    PreparedLaunch(Device device, const K& kernel, const Dim<N>& d, P... values)
        : kernel_(kernel), dim_(d), values_(values...),
          node_(detail::Access::make<KernelNode<K, N>>(kernel, d, device)) {
        detail::with_elements(values_, [this](P&... passed) { node_.args(passed...); });
        graph_ = node_.build(d.where);
    }

    K kernel_;
    Dim<N> dim_;
    std::tuple<P...> values_;
    KernelNode<K, N> node_;
    Graph graph_;
};

}  // namespace HEDDLE_COMPILED_BY

template <class K, int N, class... P>
inline constexpr bool detail::is_prepared<PreparedLaunch<K, N, P...>> = true;

inline namespace HEDDLE_COMPILED_BY {

/// Prepares a launch on `device` (default: the current one). Checks the arguments as launch() does.
template <detail::KernelObject K, int N, class... A>
PreparedLaunch<K, N, detail::KernelArg<A>...> prepare(Device device, const K& kernel,
                                                      const Dim<N>& d, A&&... args) {
    [[maybe_unused]] int argument = 0;
    (detail::check_not_empty(args, "prepare", d.where, ++argument), ...);
    return detail::Access::make<PreparedLaunch<K, N, detail::KernelArg<A>...>>(
        device, kernel, d, detail::kernel_argument(args)...);
}
template <detail::KernelObject K, int N, class... A>
PreparedLaunch<K, N, detail::KernelArg<A>...> prepare(const K& kernel, const Dim<N>& d,
                                                      A&&... args) {
    return prepare(current_device(), kernel, d, std::forward<A>(args)...);
}

/// Deleted: write dim(n) for the number of indices.
template <class Why = mistake::the_number_of_indices_is_dim_of_n, detail::KernelObject K,
          std::integral N, class... A>
Why prepare(const K&, N, A&&...) = delete;

/// Calls prepared.launch().
template <class K, int N, class... P>
void launch(StreamRef stream, PreparedLaunch<K, N, P...>& prepared, Where where = {}) {
    prepared.launch(stream, where);
}
template <class K, int N, class... P>
void launch(PreparedLaunch<K, N, P...>& prepared, Where where = {}) {
    prepared.launch(where);
}
/// Launches the kernel on the current stream of `device`.
template <class K, int N, class... P>
void launch(Device device, PreparedLaunch<K, N, P...>& prepared, Where where = {}) {
    prepared.launch(current_stream(device), where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
