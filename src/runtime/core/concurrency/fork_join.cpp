// fork_join(): runs branches on streams that are cached for the next fork_join().
#include <heddle/concurrency/fork_join.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/operation/calls.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/returned_streams.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {

/// Streams for branches, cached for later fork_joins. Prefers a stream whose last branch was joined
/// into the same base before this fork, because the new branch has to wait for that work anyway.
class Branches {
public:
    /// `forked_at` is the base's number of submissions at the fork.
    StreamRecord& take(StreamRecord& base, std::uint64_t forked_at, Device device,
                       const SourceLocation& where) {
        {
            const std::lock_guard lock(mutex_);
            Group& group = groups_[key(device, base.priority)];
            ReturnedStreams& idle = group.idle;
            // Reserves room for all streams that may be returned, so that returning a stream never
            // allocates.
            idle.reserve(idle.size() + group.out + 1);
            if (StreamRecord* const found = take_joined(idle, base, forked_at))
                return taken(group, *found);
            const auto has_failed = [](const StreamRecord& one) {  // since it was returned
                return one.has(stream_flag::slow_order);
            };
            StreamRecord* const found = idle.take(
                has_failed, close_stream, [&](StreamRecord& one) { return is_idle(one, where); });
            if (found != nullptr) return taken(group, *found);
            // A busy stream of another base is not reused, because the new branch would inherit its
            // failures. CUDA devices are an exception: streams cost more there, and those that can
            // fail are not cached.
            constexpr std::size_t plenty = 64;
            while (device.is_cuda() && idle.size() >= plenty) {
                StreamRecord& busy = idle.remove(0);
                if (!has_failed(busy)) return taken(group, busy);
                close_stream(busy);
            }
            ++group.out;  // before the stream is made, so that room for its return stays reserved
        }
        StreamRecord* made = nullptr;
        try {
            made = &open_stream(device, base.priority, "branch", where, Naming::with_id);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (const auto group = groups_.find(key(device, base.priority)); group != groups_.end())
                --group->second.out;
            throw;
        }
        made->set(stream_flag::internal);
        return *made;
    }

    void give(StreamRecord& stream, StreamRecord& base) noexcept {
        leave_joined(stream, base);
        // True if the stream has failed or is captured, or if its native handle is known outside
        // heddle.
        const bool is_spoilt = stream.has(stream_flag::slow_order);
        {
            const std::lock_guard lock(mutex_);
            const auto found = groups_.find(key(stream.device, base.priority));
            if (found != groups_.end()) {  // else it was taken before a fork() of the process
                Group& group = found->second;
                if (group.out != 0) --group.out;
                if (!is_spoilt && group.idle.size() < std::min(most_idle, group.idle.capacity())) {
                    group.idle.give({&stream, base.id.load(), base.submissions.load()});
                    return;
                }
            }
        }
        close_stream(stream);
    }

    /// Closes the cached streams of the device, except those with pending work.
    void trim(Device device) noexcept {
        const std::lock_guard lock(mutex_);
        for (auto& [of, group] : groups_) {
            if (of[0] != device.index() || of[1] != static_cast<int>(device.kind())) continue;
            const auto is_over = [](StreamRecord& one) noexcept {
                try {
                    return one.has(stream_flag::slow_order) || is_idle(one, {});
                } catch (...) {
                    return false;  // the device is lost
                }
            };
            for (std::size_t i = 0; i < group.idle.size();)
                if (is_over(*group.idle[i].stream)) close_stream(group.idle.remove(i));
                else ++i;
        }
    }
    void forget() noexcept { groups_.clear(); }
    std::mutex& mutex() noexcept { return mutex_; }

private:
    /// The maximum number of cached streams. Forks with more branches cost more, because the
    /// streams of the additional branches are not cached.
    static constexpr std::size_t most_idle = 1024;
    struct Group {
        ReturnedStreams idle;
        std::size_t out = 0;  ///< number of streams taken and not yet returned
    };
    static std::array<int, 3> key(Device device, int priority) noexcept {
        return {device.index(), static_cast<int>(device.kind()), priority};
    }
    static StreamRecord& taken(Group& group, StreamRecord& stream) noexcept {
        stream.note_back();
        ++group.out;
        return stream;
    }
    /// Removes and returns a stream whose work is entirely ordered before the fork. Searches only
    /// the newest few streams. Leaves out streams that were returned before a failure of the base
    /// was cleared, because they may still inherit that failure.
    static StreamRecord* take_joined(ReturnedStreams& idle, const StreamRecord& base,
                                     std::uint64_t forked_at) noexcept {
        const std::uint64_t base_id = base.id.load();
        const std::uint64_t cleared_at = base.cleared_at.load();
        const std::size_t looked_at = std::min(idle.size(), ReturnedStreams::few);
        for (std::size_t back = 1; back <= looked_at; ++back) {
            const ReturnedStream& one = idle[idle.size() - back];
            if (one.base_id == base_id && one.joined_at <= forked_at &&
                cleared_at < one.stream->gone_at.load() &&
                !one.stream->has(stream_flag::slow_order))
                return &idle.remove(idle.size() - back);
        }
        return nullptr;
    }
    std::mutex mutex_;
    std::map<std::array<int, 3>, Group> groups_;
};

constinit MadeOnce<Branches> all_branches;
Branches& branches() { return all_branches.get(); }
[[maybe_unused]] const Branches& made_at_load = branches();
const ForkRegistration branches_registered{ForkOrder::branches,
                                           {nullptr, [](void*) { branches().mutex().lock(); },
                                            [](void*) { branches().mutex().unlock(); }}};

}  // namespace

struct Fork::Impl {
    struct BranchStream {
        StreamRecord* stream;
        std::uint64_t before;   ///< its submission count when it was taken
        std::uint64_t at_fork;  ///< its submission count when the branch began
    };
    StreamRecord& base;
    std::uint64_t forked_at;  ///< the base's submission count at the fork
    Event fork;
    std::vector<BranchStream> streams;
    SourceLocation where;
    bool joined = false;
};

Fork::Fork(StreamRef base, std::size_t count, Where where) try
    : impl_((refuse_negative(count, "fork_join_n", where),
             new Impl{record_of(base), 0, Event(base.device(), {}, where), {}, where})) {
    try {
        impl_->streams.reserve(count);
        const Because fork(WaitReason::fork);
        detail::record_event(Access::state(impl_->fork), impl_->base, where);
        impl_->forked_at = impl_->base.submissions.load();
    } catch (...) {
        delete impl_;
        throw;
    }
} catch (...) {
    rethrow_as_error("fork_join", where);
}

StreamRef Fork::branch(Device device) try {
    StreamRecord& stream = branches().take(impl_->base, impl_->forked_at, device, impl_->where);
    impl_->streams.push_back({&stream, stream.submissions.load(), 0});
    order_after_event(stream, Access::state(impl_->fork), impl_->where, WaitReason::fork);
    if (stream.has(stream_flag::recording)) note_branch(stream, impl_->base);
    impl_->streams.back().at_fork = stream.submissions.load();
    return Access::stream(stream);
} catch (...) {
    rethrow_as_error("fork_join", impl_->where);
}

StreamRef Fork::taken(std::size_t i) const noexcept {
    return Access::stream(*impl_->streams[i].stream);
}

void Fork::join() try {
    impl_->joined = true;
    for (const Impl::BranchStream& branch : impl_->streams) {
        order_after_branch(impl_->base, {branch.stream, branch.before, branch.at_fork},
                           impl_->where);
    }
} catch (...) {
    rethrow_as_error("fork_join", impl_->where);
}

Fork::~Fork() {
    try {
        if (!impl_->joined) join();
    } catch (...) {
        report(std::current_exception());
    }
    for (const Impl::BranchStream& branch : impl_->streams)
        branches().give(*branch.stream, impl_->base);
    delete impl_;
}

void check_calls(std::size_t count, Where where) { refuse_negative(count, "fork_join_n", where); }

void throw_no_streams(Where where) {
    usage_error({"fork_join_each", where}, ".streams is 0: set it to 1 or more");
}

namespace {
const TrimStep branch_streams{[](Device device) noexcept { branches().trim(device); }};

void forget_branches() noexcept { branches().forget(); }
const ForkStepRegistration branches_in_children{ForkStep::branches, &forget_branches};
}  // namespace

}  // namespace heddle::detail
