// Collectives: arrays of several devices of this process are spread, put together and reduced.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <heddle/detail/collective_call.hpp>
#include <heddle/scope.hpp>

namespace heddle {

namespace detail {
struct GroupState;
}

/// What a reduction does: sum, product, min, max, average. Integers wrap; a NaN anywhere makes min and max NaN; average
/// is the sum divided by the number of ranks, of floating-point numbers only.
const char* to_string(ReduceOp op) noexcept;

/// How the elements travel.
enum class Transport : std::uint8_t {
    automatic,  ///< by NCCL where there is one and the devices are two GPUs or more, else by copies
    copies,     ///< heddle's own copies and kernels
    nccl,       ///< NCCL; Unsupported, with the reason, where it cannot be
};

const char* to_string(Transport transport) noexcept;

struct DeviceGroupOptions {
    /// Enables pool access among the devices (heddle/memory_access.hpp) where they can reach each other, for good: kernels then read other
    /// ranks' arrays where they are. Without it everything is copied into scratch memory first. NCCL has it enabled in any case.
    bool access = true;
    Transport transport = Transport::automatic;
};

/// A few devices of this process that work together; rank i is the i-th device. Each collective is given one view for each rank (a range of
/// arrays or views, in order, each in memory of its rank's device), and runs on one stream for each rank: the devices' current
/// ones, or those named first. It only enqueues, and never blocks.
///
/// Order, for each rank: nothing touches its views before what its stream was given before; what its stream is given
/// afterwards finds its result, and nobody at its views any more. Ranks that exchange nothing do not wait for each
/// other. A failed stream's failure goes where its waits go.
///
/// In place: `send` may be `receive`, or the part of it (scatter, reduce_scatter: the reverse) at the rank's place. Views overlap in no other way.
/// Sizes need not be divisible by the number of devices, parts that are put together may differ in size, and nothing is done for empty ones.
///
/// Reductions by copies combine the ranks in their order, ((x0 op x1) op x2) op ..., whatever the size and the way it is done: all ranks get the same
/// bits, every time. NCCL has an order of its own. Types: float, double, signed and unsigned integers of 8, 32 and 64 bits, and numbers of 16 bits
/// (half_kind), which are added as floats and rounded for every eight ranks; what only moves, any.
///
/// In a capture: streams that take no part in it yet join here, and come back at the end. NCCL is not used there, nor in batches, for parts of different sizes,
/// and on failed streams.
/// Errors: UsageError before anything is enqueued.
/// Thread-safety: as a variable: one collective of a group at a time; other groups do not matter.
class DeviceGroup {
public:
    /// One device or more, of one kind, each once.
    explicit DeviceGroup(std::vector<Device> devices, DeviceGroupOptions options = {},
                         SourceLocation where = SourceLocation::current());
    DeviceGroup(DeviceGroup&&) noexcept;
    DeviceGroup& operator=(DeviceGroup&&) noexcept;
    ~DeviceGroup();

    std::size_t size() const noexcept;
    const std::vector<Device>& devices() const noexcept;
    Transport transport() const noexcept;  ///< which it is: never `automatic`

    /// Each rank's stream goes on after what all of them were given.
    void barrier(SourceLocation where = SourceLocation::current()) {
        run({.kind = detail::CollectiveKind::barrier, .where = where});
    }
    template <detail::StreamRange S>
    void barrier(const S& streams, SourceLocation where = SourceLocation::current()) {
        run_on(streams, {.kind = detail::CollectiveKind::barrier, .where = where});
    }

    /// The root's view goes to all others, which have its size.
    template <detail::RankRange Views>
    void broadcast(std::size_t root, Views&& views, SourceLocation where = SourceLocation::current()) {
        run(detail::collective_call(detail::CollectiveKind::broadcast, root, views, views, where));
    }
    template <detail::StreamRange S, detail::RankRange Views>
    void broadcast(const S& streams, std::size_t root, Views&& views,
                   SourceLocation where = SourceLocation::current()) {
        run_on(streams,
               detail::collective_call(detail::CollectiveKind::broadcast, root, views, views, where));
    }

    /// Rank i receives its part of the root's `send`, which has all parts, one behind the other.
    template <detail::RankView Send, detail::RankRange Receive>
    void scatter(std::size_t root, const Send& send, Receive&& receive,
                 SourceLocation where = SourceLocation::current()) {
        run(detail::collective_call(detail::CollectiveKind::scatter, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankView Send, detail::RankRange Receive>
    void scatter(const S& streams, std::size_t root, const Send& send, Receive&& receive,
                 SourceLocation where = SourceLocation::current()) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::scatter, root, send, receive, where));
    }

    /// The root's `receive` becomes the parts of all ranks, one behind the other.
    template <detail::RankRange Send, detail::RankView Receive>
    void gather(std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run(detail::collective_call(detail::CollectiveKind::gather, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankView Receive>
    void gather(const S& streams, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::gather, root, send, receive, where));
    }

    /// Every rank's `receive` becomes the parts of all ranks, one behind the other.
    template <detail::RankRange Send, detail::RankRange Receive>
    void all_gather(const Send& send, Receive&& receive, SourceLocation where = SourceLocation::current()) {
        run(detail::collective_call(detail::CollectiveKind::all_gather, 0, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void all_gather(const S& streams, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        run_on(streams, detail::collective_call(detail::CollectiveKind::all_gather, 0, send, receive, where));
    }

    /// The root's `receive` becomes the reduction of all ranks' `send`; all have one size.
    template <detail::RankRange Send, detail::RankView Receive>
    void reduce(ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run(detail::reduction_call(detail::CollectiveKind::reduce, op, root, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankView Receive>
    void reduce(const S& streams, ReduceOp op, std::size_t root, const Send& send, Receive&& receive,
                SourceLocation where = SourceLocation::current()) {
        run_on(streams,
               detail::reduction_call(detail::CollectiveKind::reduce, op, root, send, receive, where));
    }

    /// Rank i receives its part of the reduction of all ranks' `send`, each of which has all parts.
    template <detail::RankRange Send, detail::RankRange Receive>
    void reduce_scatter(ReduceOp op, const Send& send, Receive&& receive,
                        SourceLocation where = SourceLocation::current()) {
        run(detail::reduction_call(detail::CollectiveKind::reduce_scatter, op, 0, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void reduce_scatter(const S& streams, ReduceOp op, const Send& send, Receive&& receive,
                        SourceLocation where = SourceLocation::current()) {
        run_on(streams,
               detail::reduction_call(detail::CollectiveKind::reduce_scatter, op, 0, send, receive, where));
    }

    /// Every rank's `receive` becomes the reduction of all ranks' `send`; all have one size. With one range: in place.
    template <detail::RankRange Send, detail::RankRange Receive>
    void all_reduce(ReduceOp op, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        run(detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, send, receive, where));
    }
    template <detail::StreamRange S, detail::RankRange Send, detail::RankRange Receive>
    void all_reduce(const S& streams, ReduceOp op, const Send& send, Receive&& receive,
                    SourceLocation where = SourceLocation::current()) {
        run_on(streams,
               detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, send, receive, where));
    }

    template <detail::RankRange Views>
    void all_reduce(ReduceOp op, Views&& views, SourceLocation where = SourceLocation::current()) {
        run(detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, views, views, where));
    }
    template <detail::StreamRange S, detail::RankRange Views>
    void all_reduce(const S& streams, ReduceOp op, Views&& views,
                    SourceLocation where = SourceLocation::current()) {
        run_on(streams,
               detail::reduction_call(detail::CollectiveKind::all_reduce, op, 0, views, views, where));
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
