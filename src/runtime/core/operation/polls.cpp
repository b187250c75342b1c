#include "core/operation/polls.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "core/base/clock.hpp"
#include "core/operation/calls.hpp"

namespace heddle::detail {

namespace {

/// The longest pause between two queries that always counts as polling, in ns. If the mean pause of
/// a loop is longer, pauses of up to twice the mean count as polling.
constexpr std::int64_t usual_pause_ns = 20'000;

/// A query that a thread repeats.
struct Poll {
    const char* name = "";
    StreamState* stream = nullptr;  ///< the stream, or the event's stream
    EventPoint event = {};
    SourceLocation where = {};
    std::int64_t first_ns = 0, last_ns = 0;  ///< times of the first and last answer "not yet"
    std::int64_t asked = 0;                  ///< number of such answers

    static StreamState* stream_of(const OpInfo& query) noexcept {
        return query.stream ? &Access::state(query.stream) : nullptr;
    }
    bool is_for(const OpInfo& other) const noexcept {
        return event == other.event && (event.event != 0 || stream == stream_of(other));
    }
    /// Returns the end of the wait, if the answer changed at `answered_ns`. A pause that is longer
    /// than usual ends the wait early: the rest of it does not count as waiting.
    std::int64_t end_ns(std::int64_t answered_ns) const noexcept {
        const std::int64_t pause = (last_ns - first_ns) / std::max<std::int64_t>(asked - 1, 1);
        return std::min(answered_ns, last_ns + std::max(usual_pause_ns, 2 * pause));
    }
};

/// A loop may alternate between a few queries. Further queries are ignored.
struct Polls {
    Poll all[8] = {};
    std::uint64_t round = 0;  ///< the value of `rounds` when the polls were stored
    int count = 0;
    std::int64_t told_until_ns = 0;  ///< end of the last reported interval
};
constinit thread_local Polls polls;
constinit std::atomic<std::uint64_t> rounds{0};

/// Removes polls that were stored for earlier observers.
void begin_round() noexcept {
    const std::uint64_t now = rounds.load(std::memory_order_relaxed);
    if (polls.round == now) return;
    polls.round = now;
    polls.count = 0;
    polls.told_until_ns = 0;
}

Poll* find(const OpInfo& query) noexcept {
    Poll* const end = polls.all + polls.count;
    Poll* const found =
        std::find_if(polls.all, end, [&](const Poll& one) { return one.is_for(query); });
    return found == end ? nullptr : found;
}

}  // namespace

void forget_polls() noexcept { rounds.fetch_add(1, std::memory_order_relaxed); }

void note_pending(const OpInfo& asked) noexcept {
    begin_round();
    const std::int64_t now = now_ns();
    if (Poll* const poll = find(asked)) {
        poll->last_ns = now;
        ++poll->asked;
        return;
    }
    if (polls.count == static_cast<int>(std::size(polls.all))) return;
    polls.all[polls.count++] = {
        asked.name, Poll::stream_of(asked), asked.event, asked.where, now, now, 1};
}

namespace {
void tell(OpInfo op, std::int64_t begin_ns, std::int64_t end_ns) noexcept {
    op.begin_ns = std::min(std::max(begin_ns, polls.told_until_ns), end_ns);
    op.end_ns = polls.told_until_ns = end_ns;
    notify_blocked(op);
}
}  // namespace

void tell_polled(const OpInfo& asked) noexcept {
    begin_round();
    Poll* const poll = find(asked);
    if (poll == nullptr) return;
    const std::int64_t begin_ns = poll->first_ns, end_ns = poll->end_ns(now_ns());
    *poll = polls.all[--polls.count];
    tell(asked, begin_ns, end_ns);
}

void end_polls() noexcept {
    if (polls.count == 0) return;
    begin_round();
    while (polls.count > 0) {
        Poll& poll = polls.all[--polls.count];
        if (poll.asked < 2 || poll.last_ns <= polls.told_until_ns) continue;
        // The query was never answered "complete", so the wait has no target.
        OpInfo op{.name = poll.name, .where = poll.where};
        if (poll.stream != nullptr) {
            op.stream = Access::stream(*poll.stream);
            op.device = poll.stream->device;
        }
        tell(op, poll.first_ns, poll.last_ns);
    }
}

}  // namespace heddle::detail
