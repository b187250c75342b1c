// Communicators: collectives between GPUs of many processes and hosts, with NCCL.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/collective/communicator_id.hpp>
#include <heddle/collective/communicator_options.hpp>
#include <heddle/collective/detail/collective_call.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
class NcclRank;
inline constexpr Nothing nothing{};
inline RankCall from_rank(RankCall call, std::size_t from) noexcept {
    call.from = from;
    return call;
}
}  // namespace detail

/// A *rank*: one GPU among GPUs of any processes and hosts. For the GPUs of one process alone,
/// DeviceGroup is simpler.
///
///     Communicator world(id, rank, ranks);  // id: CommunicatorId::make() on one rank
///     world.all_reduce(stream, ReduceOp::sum, gradient, gradient);
///     world.synchronize(stream);  // throws RankLost if a rank does not take part
///
/// All ranks must call the same collectives in the same order, with matching sizes. This cannot be
/// checked locally: a mismatch hangs, until synchronize() reaches its limit. Views must be memory
/// of the device. Types and operations are those of DeviceGroup, but NCCL uses its own order of
/// additions.
///
/// Order: collectives are enqueued on the stream passed, or else on the device's current one, and
/// do not block. While a collective's kernels wait for other ranks, threads that load code are
/// blocked. So call preload_all() first.
///
/// In a capture, collectives become part of the graph; capture them on all ranks or none.
///
/// Lifetime: destroy such graphs before the communicator. Its destructor blocks until its
/// collectives have completed.
///
/// Errors: calls throw UsageError for mistakes that this rank can detect, and NativeError, with
/// NCCL's code and name, for errors of NCCL. If another rank's process ends before its Communicator
/// was destroyed, or if another rank aborts, this rank aborts, too. Streams with its unfinished
/// collectives are poisoned: waits for them, check() and collectives throw RankLost, which names
/// the lost ranks. After a NativeError or RankLost, only abort() and the destructor are useful. On
/// a poisoned stream, collectives throw its failure: if they were dropped, the other
/// ranks would hang.
///
/// Thread-safety: one thread at a time. Another thread may call abort(); it waits for a collective
/// that is being enqueued.
class Communicator {
public:
    /// Blocks until all `size` ranks have joined. Use one thread for each rank of a process: a
    /// thread that constructs several ranks would wait for itself. Throws RankLost, which names the
    /// missing ranks, if not all ranks join within options.timeout, if a rank is lost while NCCL
    /// connects the ranks, and if the process that made the id cannot be reached. Also throws
    /// RankLost if NCCL needs longer than options.timeout once all have joined. As NCCL cannot
    /// cancel that, a thread then stays in NCCL. Throws Unsupported if NCCL is not available, and
    /// for CPU devices. Throws UsageError unless `rank` is less than `size`, all ranks pass the
    /// same size, and each rank has its own number.
    Communicator(const CommunicatorId& id, std::size_t rank, std::size_t size,
                 Device device = current_device(), CommunicatorOptions options = {},
                 Where where = {});
    Communicator(Communicator&&) noexcept;
    Communicator& operator=(Communicator&&) noexcept;
    /// Blocks until its collectives have completed, or aborts them if one is known to have failed
    /// or a rank is lost. Then leaves: the other ranks do not count this rank as lost.
    ~Communicator();

    /// Returns this rank's number, from 0.
    std::size_t rank() const noexcept { return rank_; }
    /// Returns the number of ranks.
    std::size_t size() const noexcept { return size_; }
    /// Returns this rank's GPU.
    Device device() const noexcept { return device_; }

    /// Throws RankLost if a rank is lost, and NativeError if NCCL has detected an error. Does not
    /// wait for collectives.
    void check(Where where = {}) const;
    /// Blocks until the stream's work has completed. Throws the stream's failure, and NCCL's errors
    /// as soon as NCCL detects them. If options.timeout passes first, asks the other ranks how many
    /// collectives they have enqueued, poisons streams with unfinished collectives, aborts, and
    /// throws RankLost. Its message names the ranks that do not take part. (Launches of graphs are
    /// not counted.)
    void synchronize(StreamRef stream, Where where = {});
    void synchronize(Where where = {});
    /// Ends the pending collectives on this rank; the other ranks lose this rank. No collective can
    /// be enqueued afterwards. First destroy the graphs that captured this communicator's
    /// collectives: abort() and the destructor block until they are destroyed.
    void abort() noexcept;

    /// Copies the root's view to the views of all other ranks, which have the same size.
    template <detail::RankView V>
    void broadcast(StreamRef stream, std::size_t root, V&& view, Where where = {}) {
        run(stream, detail::rank_call<detail::RankElement<V>>(detail::CollectiveKind::broadcast,
                                                              "Communicator::broadcast", root, view,
                                                              view, where));
    }
    template <detail::RankView V> void broadcast(std::size_t root, V&& view, Where where = {}) {
        broadcast(current_stream(device()), root, view, where);
    }

    /// Copies part i of the root's `send`, the concatenation of all parts, to rank i's `receive`.
    /// On other ranks `send` is ignored. All parts have the same size, here and below.
    template <detail::RankView Send, detail::RankView Receive>
    void scatter(StreamRef stream, std::size_t root, const Send& send, Receive&& receive,
                 Where where = {}) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(detail::CollectiveKind::scatter,
                                                                    "Communicator::scatter", root,
                                                                    send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void scatter(std::size_t root, const Send& send, Receive&& receive, Where where = {}) {
        scatter(current_stream(device()), root, send, receive, where);
    }

    /// Concatenates all ranks' `send` in the root's `receive`, which is ignored on other ranks.
    template <detail::RankView Send, detail::RankView Receive>
    void gather(StreamRef stream, std::size_t root, const Send& send, Receive&& receive,
                Where where = {}) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(detail::CollectiveKind::gather,
                                                                    "Communicator::gather", root,
                                                                    send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void gather(std::size_t root, const Send& send, Receive&& receive, Where where = {}) {
        gather(current_stream(device()), root, send, receive, where);
    }

    /// Concatenates all ranks' `send` in every rank's `receive`.
    template <detail::RankView Send, detail::RankView Receive>
    void all_gather(StreamRef stream, const Send& send, Receive&& receive, Where where = {}) {
        run(stream, detail::rank_call<detail::RankElement<Receive>>(
                        detail::CollectiveKind::all_gather, "Communicator::all_gather", 0, send,
                        receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void all_gather(const Send& send, Receive&& receive, Where where = {}) {
        all_gather(current_stream(device()), send, receive, where);
    }

    /// Reduces all ranks' `send` to the root's `receive`, which is ignored on other ranks.
    template <detail::RankView Send, detail::RankView Receive>
    void reduce(StreamRef stream, ReduceOp op, std::size_t root, const Send& send,
                Receive&& receive, Where where = {}) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(
                        detail::CollectiveKind::reduce, "Communicator::reduce", op, root, send,
                        receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void reduce(ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                Where where = {}) {
        reduce(current_stream(device()), op, root, send, receive, where);
    }

    /// Reduces all ranks' `send`, and writes part i of the result to rank i's `receive`. Each
    /// `send` is as large as all parts together.
    template <detail::RankView Send, detail::RankView Receive>
    void reduce_scatter(StreamRef stream, ReduceOp op, const Send& send, Receive&& receive,
                        Where where = {}) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(
                        detail::CollectiveKind::reduce_scatter, "Communicator::reduce_scatter", op,
                        0, send, receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void reduce_scatter(ReduceOp op, const Send& send, Receive&& receive, Where where = {}) {
        reduce_scatter(current_stream(device()), op, send, receive, where);
    }

    /// Reduces all ranks' `send` to every rank's `receive`. The two may be the same view.
    template <detail::RankView Send, detail::RankView Receive>
    void all_reduce(StreamRef stream, ReduceOp op, const Send& send, Receive&& receive,
                    Where where = {}) {
        run(stream, detail::rank_reduction<detail::RankElement<Receive>>(
                        detail::CollectiveKind::all_reduce, "Communicator::all_reduce", op, 0, send,
                        receive, where));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void all_reduce(ReduceOp op, const Send& send, Receive&& receive, Where where = {}) {
        all_reduce(current_stream(device()), op, send, receive, where);
    }

    /// Sends `view` to rank `to`, which must receive as many elements from this rank.
    template <detail::RankView V>
    void send(StreamRef stream, std::size_t to, const V& view, Where where = {}) {
        run(stream, detail::rank_call<detail::RankElement<V>>(detail::CollectiveKind::exchange,
                                                              "Communicator::send", to, view,
                                                              detail::nothing, where));
    }
    template <detail::RankView V> void send(std::size_t to, const V& view, Where where = {}) {
        send(current_stream(device()), to, view, where);
    }

    /// Receives `view` from rank `from`, which must send as many elements to this rank.
    template <detail::RankView V>
    void receive(StreamRef stream, std::size_t from, V&& view, Where where = {}) {
        run(stream, detail::from_rank(detail::rank_call<detail::RankElement<V>>(
                                          detail::CollectiveKind::exchange, "Communicator::receive",
                                          from, detail::nothing, view, where),
                                      from));
    }
    template <detail::RankView V> void receive(std::size_t from, V&& view, Where where = {}) {
        receive(current_stream(device()), from, view, where);
    }

    /// Sends to rank `to` and receives from rank `from` at once. In a ring, separate calls of
    /// send() and receive() would deadlock.
    template <detail::RankView Send, detail::RankView Receive>
    void exchange(StreamRef stream, std::size_t to, const Send& send, std::size_t from,
                  Receive&& receive, Where where = {}) {
        run(stream, detail::from_rank(detail::rank_call<detail::RankElement<Receive>>(
                                          detail::CollectiveKind::exchange,
                                          "Communicator::exchange", to, send, receive, where),
                                      from));
    }
    template <detail::RankView Send, detail::RankView Receive>
    void exchange(std::size_t to, const Send& send, std::size_t from, Receive&& receive,
                  Where where = {}) {
        exchange(current_stream(device()), to, send, from, receive, where);
    }

private:
    void run(StreamRef stream, const detail::RankCall& call);

    std::size_t rank_, size_;
    Device device_;
    CommunicatorOptions options_;
    std::unique_ptr<detail::NcclRank> native_;
};

}  // namespace heddle
