#include <heddle/fork_join.hpp>

#include <bit>
#include <map>
#include <mutex>
#include <vector>

#include "core/fork.hpp"
#include "core/made_once.hpp"
#include "core/order.hpp"
#include "core/recorder.hpp"
#include "core/registry.hpp"

namespace heddle::detail {

namespace {

/// Streams for branches, kept for the next fork_join. A stream that was last joined by the same base comes first: whatever is
/// still pending on it, the base is waiting for anyway.
class Branches {
public:
    StreamRecord& take(StreamRecord& base, Device device, const SourceLocation& where) {
        {
            const std::lock_guard lock(mutex_);
            Lane& lane = lanes_[key(device, base.priority)];
            std::vector<Idle>& idle = lane.idle;
            const std::uint64_t base_id = base.id.load();
            std::erase_if(idle, [](const Idle& one) {
                if (!one.stream->has(stream_flag::slow_order)) return false;
                close_stream(*one.stream);  // it failed after it was given back
                return true;
            });
            const std::size_t looked_at = std::min<std::size_t>(idle.size(), 16);
            for (std::size_t back = 0; back < looked_at; ++back) {
                const std::size_t i = idle.size() - 1 - back;
                if (idle[i].base_id == base_id) return remove(idle, i);
            }
            for (std::size_t i = 0; i < looked_at; ++i)
                if (idle[i].stream->backend->is_complete(*idle[i].stream, where)) return remove(idle, i);
            constexpr std::size_t plenty = 64;
            if (idle.size() >= plenty) return remove(idle, 0);
            // Room for it, so that give() needs none.
            idle.reserve(std::bit_ceil(lane.made + 1));
            ++lane.made;
        }
        StreamRecord& made = open_stream(device, base.priority, {}, where);
        try {
            made.name = "branch " + std::to_string(made.id.load());
        } catch (...) {
            close_stream(made);
            throw;
        }
        made.set(stream_flag::internal);
        return made;
    }

    void give(StreamRecord& stream, StreamRecord& base) noexcept {
        leave_recording(stream);                    // what it was given there has been joined
        if (stream.has(stream_flag::slow_order)) {  // failed, captured, or known to others
            close_stream(stream);
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            const auto lane = lanes_.find(key(stream.device, base.priority));
            if (lane != lanes_.end() && lane->second.idle.size() < lane->second.idle.capacity()) {
                lane->second.idle.push_back({&stream, base.id.load()});
                return;
            }
        }
        close_stream(stream);  // taken before a fork
    }

    void forget() noexcept { lanes_.clear(); }
    std::mutex& mutex() noexcept { return mutex_; }

private:
    struct Idle {
        StreamRecord* stream;
        std::uint64_t base_id;
    };
    struct Lane {
        std::vector<Idle> idle;
        std::size_t made = 0;  ///< at most so many come back
    };
    static std::array<int, 3> key(Device device, int priority) noexcept {
        return {device.index(), static_cast<int>(device.kind()), priority};
    }
    static StreamRecord& remove(std::vector<Idle>& idle, std::size_t i) {
        StreamRecord& stream = *idle[i].stream;
        idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(i));
        return stream;
    }
    std::mutex mutex_;
    std::map<std::array<int, 3>, Lane> lanes_;
};

constinit MadeOnce<Branches> all_branches;
Branches& branches() { return all_branches.get(); }
const ForkRegistration registered{
    ForkOrder::branches,
    {nullptr, [](void*) { branches().mutex().lock(); }, [](void*) { branches().mutex().unlock(); }}};

}  // namespace

struct Fork::Impl {
    struct BranchStream {
        StreamRecord* stream;
        std::uint64_t before;   ///< its submissions when it was taken
        std::uint64_t at_fork;  ///< and when its branch began
    };
    StreamRecord& base;
    Event fork;
    std::vector<BranchStream> streams;
    SourceLocation where;
    bool joined = false;
};

Fork::Fork(StreamRef base, std::size_t count, SourceLocation where) try
    : impl_(new Impl{record_of(base.state()), Event(base.device(), {}, where), {}, where}) {
    try {
        impl_->streams.reserve(count);
        detail::record_event(impl_->fork.state(), impl_->base, where);
    } catch (...) {
        delete impl_;
        throw;
    }
} catch (...) {
    rethrow_as_error("fork_join", where);
}

StreamRef Fork::branch(Device device) try {
    StreamRecord& stream = branches().take(impl_->base, device, impl_->where);
    impl_->streams.push_back({&stream, stream.submissions.load(), 0});
    order_after_event(stream, impl_->fork.state(), impl_->where);
    impl_->streams.back().at_fork = stream.submissions.load();
    return StreamRef(stream);
} catch (...) {
    rethrow_as_error("fork_join", impl_->where);
}

StreamRef Fork::taken(std::size_t i) const noexcept { return StreamRef(*impl_->streams[i].stream); }

void Fork::join() try {
    impl_->joined = true;
    for (const Impl::BranchStream& branch : impl_->streams) {
        // A branch that was given nothing is not worth a wait, if the base has waited for all it was given before: waits of the branch may
        // have been elided because of that. In a capture it has to come back all the same.
        if (branch.stream->submissions.load() == branch.at_fork &&
            impl_->base.waited.covers(branch.stream->id.load(), branch.before) &&
            !branch.stream->has(stream_flag::capturing | stream_flag::recording | stream_flag::handed_out |
                                stream_flag::fallible))
            continue;
        order_after_stream(impl_->base, *branch.stream, impl_->where);
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
    for (const Impl::BranchStream& branch : impl_->streams) branches().give(*branch.stream, impl_->base);
    delete impl_;
}

void throw_no_streams(SourceLocation where) {
    throw_error({.code = ErrorCode::usage,
                 .message = "work cannot be dealt to no streams: {.streams = 1} or more",
                 .call = "fork_join_each",
                 .where = where});
}

void forget_branches() noexcept { branches().forget(); }

}  // namespace heddle::detail
