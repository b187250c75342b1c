// Runs a collective on some ranks. Makes the inputs, and computes the expected results.
#pragma once

#include "support.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace heddle_test {

using Kind = detail::CollectiveKind;
inline constexpr Kind all_kinds[] = {Kind::broadcast,  Kind::scatter, Kind::gather,
                                     Kind::all_gather, Kind::reduce,  Kind::reduce_scatter,
                                     Kind::all_reduce};

/// Skips a test that needs NCCL and `count` GPUs.
#define SKIP_WITHOUT_NCCL(count)                                                                   \
    if (!test_device().is_cuda()) HEDDLE_SKIP("NCCL is for GPUs");                                 \
    if (const std::string reason = nccl_unavailable_reason(); !reason.empty())                     \
        HEDDLE_SKIP(reason);                                                                       \
    if (test_devices().size() < (count)) HEDDLE_SKIP("needs " #count " GPUs")

inline const char* name(Kind kind) {
    constexpr const char* names[] = {"barrier",    "broadcast", "scatter",        "gather",
                                     "all_gather", "reduce",    "reduce_scatter", "all_reduce"};
    return names[static_cast<int>(kind)];
}

inline bool has_root(Kind kind) {
    return kind == Kind::broadcast || kind == Kind::scatter || kind == Kind::gather ||
           kind == Kind::reduce;
}

/// Returns the first `n` devices of the kind under test. Returns all of them if there are fewer.
inline std::vector<Device> first_devices(std::size_t n) {
    std::vector<Device> all = test_devices();
    if (all.size() > n) all.erase(all.begin() + static_cast<std::ptrdiff_t>(n), all.end());
    return all;
}

/// Checks that a rank whose other ranks are lost can continue with a communicator of its own.
inline void check_alone(StreamRef s) {
    Array<int> x = full<int>(s, 1000, 3);
    Communicator alone(CommunicatorId::make(), 0, 1, s.device());
    alone.all_reduce(s, ReduceOp::sum, x, x);
    CHECK(to_host(s, x) == Ints(1000, 3));
}

/// Returns a group whose results are bit-identical on every machine.
inline DeviceGroup by_copies(const std::vector<Device>& devices, bool access = true) {
    return DeviceGroup(devices, {.access = access, .transport = Transport::copies});
}

inline std::vector<Stream> streams_of(const std::vector<Device>& devices) {
    std::vector<Stream> streams;
    for (const Device d : devices) streams.emplace_back(d);
    return streams;
}
inline void synchronize_all(const std::vector<Stream>& streams) {
    for (const Stream& s : streams) s.synchronize();
}

/// Reduces in the order that heddle guarantees: one rank after the other. Integers wrap around.
template <class T> T combined(ReduceOp op, const std::vector<T>& of_ranks) {
    T x = of_ranks[0];
    for (std::size_t r = 1; r < of_ranks.size(); ++r) {
        const T y = of_ranks[r];
        if (op == ReduceOp::min) x = y < x ? y : x;
        else if (op == ReduceOp::max) x = y > x ? y : x;
        else if constexpr (std::is_integral_v<T>) {
            const auto a = static_cast<std::uint64_t>(x), b = static_cast<std::uint64_t>(y);
            x = static_cast<T>(op == ReduceOp::product ? a * b : a + b);
        } else x = op == ReduceOp::product ? x * y : x + y;
    }
    if constexpr (std::is_floating_point_v<T>)
        if (op == ReduceOp::average) x = x / static_cast<T>(of_ranks.size());
    return x;
}

/// One collective of `count` elements in total, divided into nearly equal parts. Has each rank's
/// arrays and stream, and the expected results.
template <class T> struct Trial {
    Kind kind;
    std::size_t n, count, root;
    ReduceOp op;
    bool in_place;
    std::vector<Stream> streams;
    std::vector<Array<T>> a, b;  ///< `count` elements each; only `a` is used in place
    std::vector<std::vector<T>> input;

    Trial(Kind k, const std::vector<Device>& devices, std::size_t elements,
          std::size_t root_rank = 0, bool same = false, ReduceOp reduction = ReduceOp::sum,
          unsigned seed = 0)
        : kind(k), n(devices.size()), count(elements), root(root_rank), op(reduction),
          in_place(same), streams(streams_of(devices)) {
        for (std::size_t i = 0; i < n; ++i) {
            a.push_back(empty<T>(streams[i], count));
            b.push_back(empty<T>(streams[i], count));
        }
        give(seed);
        synchronize_all(streams);
    }

    /// Enqueues copies of new inputs, and overwrites all elements that are not inputs.
    void give(unsigned seed) {
        input.assign(n, {});
        for (std::size_t i = 0; i < n; ++i) {
            input[i].resize(sent(i).size());
            std::size_t e = 0;
            for (T& element : input[i]) {
                // With these values, the order of additions matters, and products stay finite.
                const std::size_t mixed = (e++ * 2654435761u + i * 40503u + seed * 977u) % 1009;
                const T value = static_cast<T>(static_cast<T>(mixed % 13) + static_cast<T>(1));
                element = std::is_floating_point_v<T>
                              ? static_cast<T>(value * static_cast<T>(mixed % 3 == 0 ? 1e6 : 0.1))
                              : value;
            }
            spoil(i);
            copy(streams[i], sent(i), input[i]);
        }
    }
    void spoil(std::size_t rank) {
        fill(streams[rank], a[rank], static_cast<T>(77));
        fill(streams[rank], b[rank], static_cast<T>(78));
    }

    bool has_parts_sent() const { return kind == Kind::gather || kind == Kind::all_gather; }
    bool has_parts_received() const {
        return kind == Kind::scatter || kind == Kind::reduce_scatter;
    }
    std::size_t part(std::size_t i) const { return (count + i) / n; }
    std::size_t at(std::size_t i) const {
        std::size_t first = 0;
        for (std::size_t k = 0; k < i; ++k) first += part(k);
        return first;
    }
    View<T> part_of(Array<T>& x, std::size_t i) {
        return x.view().subview(in_place ? at(i) : 0, part(i));
    }
    View<T> sent(std::size_t i) { return has_parts_sent() ? part_of(a[i], i) : a[i].view(); }
    View<T> received(std::size_t i) {
        Array<T>& x = in_place || kind == Kind::broadcast ? a[i] : b[i];
        return has_parts_received() ? part_of(x, i) : x.view();
    }
    std::vector<View<T>> all_sent() {
        std::vector<View<T>> views;
        for (std::size_t i = 0; i < n; ++i) views.push_back(sent(i));
        return views;
    }
    std::vector<View<T>> all_received() {
        std::vector<View<T>> views;
        for (std::size_t i = 0; i < n; ++i) views.push_back(received(i));
        return views;
    }

    void run(DeviceGroup& group) {
        switch (kind) {
        case Kind::barrier: return group.barrier(streams);
        case Kind::broadcast: return group.broadcast(streams, root, all_sent());
        case Kind::scatter: return group.scatter(streams, root, sent(root), all_received());
        case Kind::gather: return group.gather(streams, root, all_sent(), received(root));
        case Kind::all_gather: return group.all_gather(streams, all_sent(), all_received());
        case Kind::reduce: return group.reduce(streams, op, root, all_sent(), received(root));
        case Kind::reduce_scatter:
            return group.reduce_scatter(streams, op, all_sent(), all_received());
        case Kind::all_reduce: return group.all_reduce(streams, op, all_sent(), all_received());
        case Kind::exchange: break;
        }
    }
    /// Runs the collective on the current streams.
    void run_on_current(DeviceGroup& group) {
        switch (kind) {
        case Kind::barrier: return group.barrier();
        case Kind::broadcast: return group.broadcast(root, all_sent());
        case Kind::scatter: return group.scatter(root, sent(root), all_received());
        case Kind::gather: return group.gather(root, all_sent(), received(root));
        case Kind::all_gather: return group.all_gather(all_sent(), all_received());
        case Kind::reduce: return group.reduce(op, root, all_sent(), received(root));
        case Kind::reduce_scatter: return group.reduce_scatter(op, all_sent(), all_received());
        case Kind::all_reduce: return group.all_reduce(op, all_sent(), all_received());
        case Kind::exchange: break;
        }
    }

    bool sends(std::size_t i) const {
        return (kind != Kind::broadcast && kind != Kind::scatter) || i == root;
    }
    bool receives(std::size_t i) const {
        return (kind != Kind::gather && kind != Kind::reduce) || i == root;
    }

    /// Returns the expected results of all ranks, one after the other.
    std::vector<T> all_expected() const {
        if (kind == Kind::broadcast || kind == Kind::scatter) return input[root];
        std::vector<T> whole;
        whole.reserve(count);
        if (has_parts_sent())
            for (const std::vector<T>& part : input)
                whole.insert(whole.end(), part.begin(), part.end());
        else {
            std::vector<T> of_ranks(n);
            for (std::size_t e = 0; e < count; ++e) {
                for (std::size_t i = 0; i < n; ++i) of_ranks[i] = input[i][e];
                whole.push_back(combined(op, of_ranks));
            }
        }
        return whole;
    }
    std::vector<T> expected(std::size_t rank) const {
        const std::vector<T> all = all_expected();
        if (!has_parts_received()) return all;
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(at(rank));
        return {first, first + static_cast<std::ptrdiff_t>(part(rank))};
    }
    /// Waits. Returns whether every receiving rank has exactly the expected result.
    bool is_right() {
        const std::vector<T> all = all_expected();
        for (std::size_t i = 0; i < n; ++i) {
            if (!receives(i)) continue;
            const std::vector<T> got = to_host(streams[i], received(i));
            const std::size_t first = has_parts_received() ? at(i) : 0;
            const std::size_t size = has_parts_received() ? part(i) : all.size();
            if (got.size() != size) return false;
            if (size != 0 && std::memcmp(got.data(), all.data() + first, size * sizeof(T)) != 0)
                return false;
        }
        return true;
    }
};

}  // namespace heddle_test
