// Communicators: collectives over the GPUs of many processes and hosts, by NCCL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <heddle/detail/collective_call.hpp>
#include <heddle/scope.hpp>

namespace heddle {

namespace detail {
class NcclRank;
inline constexpr Nothing nothing{};
inline RankCall from_rank(RankCall call, std::size_t from) noexcept {
    call.from = from;
    return call;
}
}  // namespace detail

/// Why NCCL cannot be used here ("built without NCCL", "no libnccl.so.2: ..."); empty where it can. Loads it when first asked.
std::string nccl_unavailable_reason();

/// What the ranks of a communicator have in common: bytes that one rank makes, and the program passes on to all others (by MPI, a file, a socket).
struct CommunicatorId {
    std::array<std::byte, 128> bytes{};
    /// Throws Unsupported where there is no NCCL.
    static CommunicatorId make(SourceLocation where = SourceLocation::current());
    bool operator==(const CommunicatorId&) const = default;
};

/// One GPU's place, its *rank*, among GPUs of any processes and hosts. All ranks call the same collectives in the same order, with sizes that fit together; this
/// process cannot check that, and what does not fit waits for ever. For the GPUs of one process alone, DeviceGroup is simpler.
///
/// Collectives run on the stream that is named, else on the device's current one, and only enqueue; order is that of the stream. On a poisoned stream they
/// throw its failure, because the other ranks would wait for what is dropped. Views are memory of the device; types and operations as in
/// DeviceGroup (NCCL has its own order of adding). In a capture they become part of the graph, on all ranks or none; destroy such graphs before the communicator.
///
/// Kernels that wait for other ranks hold up whoever loads code meanwhile: preload_all() first.
/// Errors: UsageError for what can be seen here; NativeError with NCCL's code and name. After one only abort() and the destructor make sense.
/// Thread-safety: as a variable, but abort() may come from another thread while none is in a call of a collective.
class Communicator {
public:
    /// Blocks until all `size` ranks have come. A thread that makes several ranks would wait for itself: one thread for each.
    /// Throws Unsupported where there is no NCCL, and for CPU devices.
    Communicator(const CommunicatorId& id, std::size_t rank, std::size_t size, Device device = Device(),
                 SourceLocation where = SourceLocation::current());
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Waits for its collectives; if one is known to have failed, aborts them.
    ~Communicator();

    std::size_t rank() const noexcept { return rank_; }
    std::size_t size() const noexcept { return size_; }
    Device device() const noexcept { return device_; }

    /// Throws what has failed meanwhile: another rank that went away, for example.
    void check(SourceLocation where = SourceLocation::current()) const;
    /// Ends what is under way, on this rank; nothing can be enqueued afterwards.
    /// Graphs that captured its collectives are destroyed before: it waits for that, and so does the destructor.
    void abort() noexcept;

    /// The root's view goes to all others, which have its size.
    template <detail::RankView V>
    void broadcast(StreamRef stream, std::size_t root, V&& view,
                   SourceLocation where = SourceLocation::current()) {
        run(stream,
            detail::rank_call<detail::RankElement<V>>(detail::CollectiveKind::broadcast,
                                                      "Communicator::broadcast", root, view, view, where));
    }
    template <detail::RankView V>
    void broadcast(std::size_t root, V&& view, SourceLocation where = SourceLocation::current()) {
        broadcast(current_stream(device()), root, view, where);
    }

    /// Every rank receives its part of the root's `send`, which has them all (elsewhere it is not looked at). Parts are of one size, here and below.
    template <detail::RankView Send, detail::RankView Receive>
    void scatter(StreamRef stream, std::size_t root, const Send& send, Receive&& receive,
                 SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(detail::CollectiveKind::scatter,
                                                                    "Communicator::scatter", root, send,
                                                                    receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void scatter(std::size_t root, const Send& send, Receive&& receive,
                 SourceLocation where = SourceLocation::current()) {
        scatter(current_stream(device()), root, send, receive, where);
    }

    /// The root's `receive` (elsewhere it is not looked at) becomes the parts of all ranks, in their order.
    template <detail::RankView Send, detail::RankView Receive>
    void gather(StreamRef stream, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(
                        detail::CollectiveKind::gather, "Communicator::gather", root, send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void gather(std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        gather(current_stream(device()), root, send, receive, where);
    }

    /// Every rank's `receive` becomes the parts of all ranks, in their order.
    template <detail::RankView Send, detail::RankView Receive>
    void all_gather(StreamRef stream, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(detail::CollectiveKind::all_gather,
                                                                    "Communicator::all_gather", 0, send,
                                                                    receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void all_gather(const Send& send, Receive&& receive, SourceLocation where = SourceLocation::current()) {
        all_gather(current_stream(device()), send, receive, where);
    }

    /// The root's `receive` (elsewhere it is not looked at) becomes the reduction of all ranks' `send`.
    template <detail::RankView Send, detail::RankView Receive>
    void reduce(StreamRef stream, ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(detail::CollectiveKind::reduce,
                                                                         "Communicator::reduce", op, root,
                                                                         send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void reduce(ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        reduce(current_stream(device()), op, root, send, receive, where);
    }

    /// Every rank receives its part of the reduction of all ranks' `send`, each of which has all parts.
    template <detail::RankView Send, detail::RankView Receive>
    void reduce_scatter(StreamRef stream, ReduceOp op, const Send& send, Receive&& receive,
                        SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(
                        detail::CollectiveKind::reduce_scatter, "Communicator::reduce_scatter", op, 0, send,
                        receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void reduce_scatter(ReduceOp op, const Send& send, Receive&& receive,
                        SourceLocation where = SourceLocation::current()) {
        reduce_scatter(current_stream(device()), op, send, receive, where);
    }

    /// Every rank's `receive` becomes the reduction of all ranks' `send`; they may be the same.
    template <detail::RankView Send, detail::RankView Receive>
    void all_reduce(StreamRef stream, ReduceOp op, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(detail::CollectiveKind::all_reduce,
                                                                         "Communicator::all_reduce", op, 0,
                                                                         send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void all_reduce(ReduceOp op, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        all_reduce(current_stream(device()), op, send, receive, where);
    }

    /// Rank `to` has to receive as much from this one.
    template <detail::RankView V>
    void send(StreamRef stream, std::size_t to, const V& view,
              SourceLocation where = SourceLocation::current()) {
        run(stream,
            detail::rank_call<detail::RankElement<V>>(detail::CollectiveKind::exchange, "Communicator::send",
                                                      to, view, detail::nothing, where));
    }
    template <detail::RankView V>
    void send(std::size_t to, const V& view, SourceLocation where = SourceLocation::current()) {
        send(current_stream(device()), to, view, where);
    }

    /// Rank `from` has to send as much to this one.
    template <detail::RankView V>
    void receive(StreamRef stream, std::size_t from, V&& view,
                 SourceLocation where = SourceLocation::current()) {
        run(stream, detail::from_rank(detail::rank_call<detail::RankElement<V>>(
                                          detail::CollectiveKind::exchange, "Communicator::receive", from,
                                          detail::nothing, view, where),
                                      from));
    }
    template <detail::RankView V>
    void receive(std::size_t from, V&& view, SourceLocation where = SourceLocation::current()) {
        receive(current_stream(device()), from, view, where);
    }

    /// Both at once, as in a ring, where each for itself would wait for the other for ever.
    template <detail::RankView Send, detail::RankView Receive>
    void exchange(StreamRef stream, std::size_t to, const Send& send, std::size_t from, Receive&& receive,
                  SourceLocation where = SourceLocation::current()) {
        run(stream, detail::from_rank(detail::rank_call<detail::RankElement<Receive>>(
                                          detail::CollectiveKind::exchange, "Communicator::exchange", to,
                                          send, receive, where),
                                      from));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void exchange(std::size_t to, const Send& send, std::size_t from, Receive&& receive,
                  SourceLocation where = SourceLocation::current()) {
        exchange(current_stream(device()), to, send, from, receive, where);
    }

private:
    void run(StreamRef stream, const detail::RankCall& call);

    std::size_t rank_, size_;
    Device device_;
    std::unique_ptr<detail::NcclRank> native_;
};

}  // namespace heddle
