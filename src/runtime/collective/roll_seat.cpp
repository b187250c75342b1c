#include "collective/roll_seat.hpp"

#include <algorithm>

namespace heddle::detail {

void RollSeat::handle(const RollMessage& message) {
    if (message.rank >= size && message.kind != RollKind::refused) return stream.end();
    const std::size_t which = message.rank;
    switch (message.kind) {
    case RollKind::refused: refusal = message; return;
    case RollKind::here: is_here[which] = true; return;
    case RollKind::end_of_here: knows_here = true; return;
    case RollKind::with_maker: with_maker[which] = true; return;
    case RollKind::all_here: is_complete = true; return;
    case RollKind::gone: return lose(which, message.value == 0 ? State::ended : State::aborted);
    case RollKind::left: states[which] = State::left; return;
    case RollKind::count: counts[which] = message.value; return;
    case RollKind::ask_counts:
        return stream.send({.kind = RollKind::count,
                            .rank = which,
                            .value = collectives.load(std::memory_order_relaxed)});
    case RollKind::bye_heard: is_bye_heard = true; return;
    default: return stream.end();
    }
}

void RollSeat::note_end() {
    is_broken = true;
    if (!is_complete) return;
    for (std::size_t i = 0; i < size; ++i)
        if (with_maker[i] && i != rank && states[i] == State::here) lose(i, State::ended);
}

bool RollSeat::has_lost() const noexcept {
    return std::ranges::any_of(
        states, [](State state) { return state == State::ended || state == State::aborted; });
}

void RollSeat::lose(std::size_t which, State how) {
    if (states[which] != State::here) return;
    states[which] = how;
    has_news = true;
}

}  // namespace heddle::detail
