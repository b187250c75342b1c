// The parameters of a collective, without types.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <heddle/collective/detail/element_type.hpp>
#include <heddle/collective/reduce_op.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// An untyped view; `size` counts elements.
struct Part {
    void* data;
    std::size_t size;
    Block* owner;
};

/// At most one entry per rank. If more than `max_ranks` were added, `count` exceeds `max_ranks`,
/// which is detected later.
template <class E> struct PerRank {
    std::array<E, max_ranks> at;
    std::size_t count = 0;
    PerRank() noexcept {}  // leaves `at` uninitialised
    void add(const E& e) noexcept {
        if (count < max_ranks) at[count] = e;
        ++count;
    }
    E& operator[](std::size_t i) noexcept { return at[i]; }
    const E& operator[](std::size_t i) const noexcept { return at[i]; }
};

enum class CollectiveKind : std::uint8_t {
    barrier,
    broadcast,
    scatter,
    gather,
    all_gather,
    reduce,
    reduce_scatter,
    all_reduce,
    exchange  ///< Communicator only: a rank sends to `root`, receives from `from`, or both
};

/// Returns the name of DeviceGroup's call: "DeviceGroup::all_reduce".
const char* to_string(CollectiveKind kind) noexcept;

struct CollectiveCall {
    CollectiveKind kind;
    SourceLocation where;
    std::size_t element = 1;  ///< bytes
    ElementType type = ElementType::bytes;
    ReduceOp op = ReduceOp::sum;
    std::size_t root = 0;
    /// One part per rank, or a single part if only the root has one.
    PerRank<Part> send = {}, receive = {};
    PerRank<StreamState*> streams = {};
    bool has_streams = false;
};

/// One rank's share of a collective: all that this process knows about the collective.
struct RankCall {
    CollectiveKind kind;
    const char* call;
    SourceLocation where;
    std::size_t element = 1;
    ElementType type = ElementType::bytes;
    ReduceOp op = ReduceOp::sum;
    std::size_t root = 0, from = 0;
    Part send{nullptr, 0, nullptr}, receive{nullptr, 0, nullptr};
    bool sends = true, receives = true;
};

template <class R>
concept RankRange = IndexedRange<R> && ArrayOrView<RangeReference<R>>;
template <class R>
concept StreamRange = IndexedRange<R> && std::convertible_to<RangeReference<R>, StreamRef>;
template <class V>
concept RankView = ArrayOrView<V>;

template <class V>
using RankElement =
    typename decltype(as_source(std::declval<const std::remove_cvref_t<V>&>()))::value_type;

template <class T> Part part_of(View<T> v) noexcept {
    return {const_cast<std::remove_const_t<T>*>(v.data()), v.size(), Access::block(v)};
}

/// Append the views that are read (add_sends) and written.
template <class V> void add_sends(CollectiveCall& call, V& views) {
    if constexpr (RankView<V>)
        call.send.add(part_of(as_source(views, to_string(call.kind), call.where)));
    else
        for (auto&& v : views)
            call.send.add(part_of(as_source(v, to_string(call.kind), call.where)));
}
template <class V> void add_receives(CollectiveCall& call, V& views) {
    if constexpr (RankView<V>) {
        static_assert(Destination<V&>, "heddle::DeviceGroup: received elements are written, so the "
                                       "view must not be const: pass a View<T>");
        call.receive.add(part_of(as_destination(views, to_string(call.kind), call.where)));
    } else {
        for (auto&& v : views) add_receives(call, v);
    }
}

template <class V> struct ElementOf {
    using type = RankElement<V>;
};
template <RankRange V> struct ElementOf<V> {
    using type = RankElement<RangeReference<V>>;
};

template <class Send, class Receive>
CollectiveCall collective_call(CollectiveKind kind, std::size_t root, Send& send, Receive& receive,
                               const SourceLocation& where) {
    using T = typename ElementOf<Receive>::type;
    static_assert(std::is_same_v<T, typename ElementOf<Send>::type>,
                  "heddle::DeviceGroup: all views must have the same element type");
    CollectiveCall call{.kind = kind, .where = where, .element = sizeof(T), .root = root};
    add_sends(call, send);
    add_receives(call, receive);
    return call;
}

template <class Send, class Receive>
CollectiveCall reduction_call(CollectiveKind kind, ReduceOp op, std::size_t root, Send& send,
                              Receive& receive, const SourceLocation& where) {
    CollectiveCall call = collective_call(kind, root, send, receive, where);
    call.type = element_type<typename ElementOf<Receive>::type>();
    static_assert(element_type<typename ElementOf<Receive>::type>() != ElementType::bytes,
                  "heddle::DeviceGroup: reductions support only float, double, integers of 8, 32 "
                  "and 64 bits, and types of 16 bits that have a heddle::half_kind");
    call.op = op;
    return call;
}

/// Stands for a view if the rank does not send, or does not receive.
struct Nothing {};
/// Returns the call of one rank.
template <class T, class Send, class Receive>
RankCall rank_call(CollectiveKind kind, const char* name, std::size_t root, const Send& send,
                   Receive& receive, const SourceLocation& where) {
    RankCall call{.kind = kind, .call = name, .where = where, .element = sizeof(T), .root = root};
    if constexpr (std::is_same_v<Send, Nothing>) call.sends = false;
    else {
        static_assert(std::is_same_v<T, RankElement<Send>>,
                      "heddle::Communicator: both views must have the same element type");
        call.send = part_of(as_source(send, name, where));
    }
    if constexpr (std::is_same_v<Receive, const Nothing>) call.receives = false;
    else {
        static_assert(Destination<Receive&>, "heddle::Communicator: received elements are written, "
                                             "so the view must not be const: pass a View<T>");
        call.receive = part_of(as_destination(receive, name, where));
    }
    return call;
}
template <class T, class Send, class Receive>
RankCall rank_reduction(CollectiveKind kind, const char* name, ReduceOp op, std::size_t root,
                        const Send& send, Receive& receive, const SourceLocation& where) {
    static_assert(element_type<T>() != ElementType::bytes,
                  "heddle::Communicator: reductions support only float, double, integers of 8, 32 "
                  "and 64 bits, and types of 16 bits that have a heddle::half_kind");
    RankCall call = rank_call<T>(kind, name, root, send, receive, where);
    call.type = element_type<T>();
    call.op = op;
    return call;
}

template <StreamRange S> void add_streams(CollectiveCall& call, const S& streams) {
    for (auto&& s : streams) call.streams.add(&Access::state(s));
    call.has_streams = true;
}

}  // namespace detail
}  // namespace heddle
