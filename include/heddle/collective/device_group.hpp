// Collectives between devices of this process: broadcast, scatter, gather and reductions.
#pragma once

#include <memory>
#include <vector>

#include <heddle/collective/detail/collective_call.hpp>
#include <heddle/collective/device_group_options.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
struct GroupState;
}

/// Devices of this process that run collectives together; rank i is the i-th device.
///
///     DeviceGroup group({Device("cuda:0"), Device("cuda:1")});
///     group.all_reduce(ReduceOp::sum, parts, sums);  // parts[i] and sums[i]: arrays of device i
///     group.broadcast(streams, 0, parts);            // streams[i]: a stream of device i
///
/// A collective takes one view for each rank: a range of arrays or views, in rank order, each in
/// memory of its rank's device. It runs on one stream for each rank: the streams passed as the
/// first argument, or by default the devices' current streams. Collectives only enqueue; they never
/// block.
///
/// Order: per rank, the collective starts after all work already enqueued on the rank's stream, and
/// completes before any work enqueued later. After that no other rank accesses this rank's views.
/// Ranks that exchange no data do not wait for each other. A failure propagates along the waits.
///
/// In place: `send` may be the same view as `receive`, or the rank's own part of `receive`. For
/// scatter and reduce_scatter, `receive` may be the rank's own part of `send`. Views must not
/// overlap otherwise.
///
/// Sizes need not be divisible by the number of devices, and gathered or scattered parts may differ
/// in size. Empty parts are skipped.
///
/// Reductions by copies combine the ranks in their order, ((x0 op x1) op x2) op ..., for every size
/// and algorithm: the result has the same bits on all ranks, every time. NCCL uses its own order.
///
/// Types of reductions: float, double, signed and unsigned integers of 8, 32 and 64 bits, and
/// 16-bit floating-point types (half_kind). 16-bit types are added as floats, and rounded once per
/// eight ranks. Other collectives accept any type.
///
/// In a capture: a rank's stream that does not take part yet joins the capture. At the end of the
/// collective, a captured stream waits for it. NCCL is not used in captures and batches, for parts
/// of different sizes, or on failed streams.
///
/// Lifetime: move-only. The destructor blocks only with NCCL. Errors: invalid calls throw
/// UsageError before any work is enqueued, and so do calls of a moved-from group. Thread-safety:
/// one collective of a group at a time; groups are independent of each other.
class DeviceGroup {
public:
    /// Makes a group of 1 to 64 different devices of one kind; throws UsageError for any other
    /// list. Throws Unsupported if Transport::nccl cannot be used.
    explicit DeviceGroup(std::vector<Device> devices, DeviceGroupOptions options = {},
                         Where where = {});
    DeviceGroup(DeviceGroup&&) noexcept;
    DeviceGroup& operator=(DeviceGroup&&) noexcept;
    /// With NCCL, blocks until the group's collectives have completed.
    ~DeviceGroup();

    /// Returns the number of ranks.
    std::size_t size() const noexcept;
    /// Returns the devices in rank order.
    const std::vector<Device>& devices() const noexcept;
    Transport transport() const noexcept;  ///< the transport in use: never `automatic`

    /// Orders later work on each rank's stream after all work already enqueued on all of them.
    void barrier(Where where = {}) {
        run({.kind = detail::CollectiveKind::barrier, .where = where});
    }
    template <detail::StreamRange S> void barrier(const S& streams, Where where = {}) {
        run_on(streams, {.kind = detail::CollectiveKind::barrier, .where = where});
    }

    /// Copies the root's view to the views of all other ranks, which have the same size.
    template <detail::RankRange Views>
    void broadcast(std::size_t root, Views&& views, Where where = {}) {
        run(detail::collective_call(detail::CollectiveKind::broadcast, root, views, views, where));
    }
    template <detail::StreamRange S, detail::RankRange Views>
    void broadcast(const S& streams, std::size_t root, Views&& views, Where where = {}) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::broadcast, root, views,
                                                views, where));
    }

    /// Copies part i of the root's `send`, the concatenation of all parts, to rank i's `receive`.
    template <detail::RankView Send, detail::RankRange Receive>
    void scatter(std::size_t root, const Send& send, Receive&& receive, Where where = {}) {
        run(detail::collective_call(detail::CollectiveKind::scatter, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankView Send, detail::RankRange Receive>
    void scatter(const S& streams, std::size_t root, const Send& send, Receive&& receive,
                 Where where = {}) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::scatter, root, send,
                                                receive, where));
    }

    /// Concatenates all ranks' `send` in the root's `receive`.
    template <detail::RankRange Send, detail::RankView Receive>
    void gather(std::size_t root, const Send& send, Receive&& receive, Where where = {}) {
        run(detail::collective_call(detail::CollectiveKind::gather, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankView Receive>
    void gather(const S& streams, std::size_t root, const Send& send, Receive&& receive,
                Where where = {}) {
        run_on(streams,
               detail::collective_call(detail::CollectiveKind::gather, root, send, receive, where));
    }

    /// Concatenates all ranks' `send` in every rank's `receive`.
    template <detail::RankRange Send, detail::RankRange Receive>
    void all_gather(const Send& send, Receive&& receive, Where where = {}) {
        run(detail::collective_call(detail::CollectiveKind::all_gather, 0, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void all_gather(const S& streams, const Send& send, Receive&& receive, Where where = {}) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::all_gather, 0, send,
                                                receive, where));
    }

    /// Reduces all ranks' `send` to the root's `receive`. All have the same size.
    template <detail::RankRange Send, detail::RankView Receive>
    void reduce(ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                Where where = {}) {
        run(detail::reduction_call(detail::CollectiveKind::reduce, op, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankView Receive>
    void reduce(const S& streams, ReduceOp op, std::size_t root, const Send& send,
                Receive&& receive, Where where = {}) {
        run_on(streams, detail::reduction_call(detail::CollectiveKind::reduce, op, root, send,
                                               receive, where));
    }

    /// Reduces all ranks' `send`, and writes part i of the result to rank i's `receive`. Each
    /// `send` is as large as all parts together.
    template <detail::RankRange Send, detail::RankRange Receive>
    void reduce_scatter(ReduceOp op, const Send& send, Receive&& receive, Where where = {}) {
        run(detail::reduction_call(detail::CollectiveKind::reduce_scatter, op, 0, send, receive,
                                   where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void reduce_scatter(const S& streams, ReduceOp op, const Send& send, Receive&& receive,
                        Where where = {}) {
        run_on(streams, detail::reduction_call(detail::CollectiveKind::reduce_scatter, op, 0, send,
                                               receive, where));
    }

    /// Reduces all ranks' `send` to every rank's `receive`. All have the same size. With a single
    /// range of views, reduces in place.
    template <detail::RankRange Send, detail::RankRange Receive>
    void all_reduce(ReduceOp op, const Send& send, Receive&& receive, Where where = {}) {
        run(detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, send, receive,
                                   where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void all_reduce(const S& streams, ReduceOp op, const Send& send, Receive&& receive,
                    Where where = {}) {
        run_on(streams, detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, send,
                                               receive, where));
    }

    template <detail::RankRange Views>
    void all_reduce(ReduceOp op, Views&& views, Where where = {}) {
        run(detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, views, views, where));
    }
    template <detail::StreamRange S, detail::RankRange Views>
    void all_reduce(const S& streams, ReduceOp op, Views&& views, Where where = {}) {
        run_on(streams, detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, views,
                                               views, where));
    }

private:
    void run(detail::CollectiveCall call);
    template <class S> void run_on(const S& streams, detail::CollectiveCall call) {
        detail::add_streams(call, streams);
        run(call);
    }

    std::unique_ptr<detail::GroupState> state_;
};

}  // namespace heddle
