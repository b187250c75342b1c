#include "collective/roll_call.hpp"

#include <algorithm>
#include <vector>

#include "collective/roll_connect.hpp"
#include "collective/roll_hub.hpp"
#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/report.hpp"

namespace heddle::detail {

namespace {

using std::chrono::milliseconds;

/// How long a rank waits for the answer of a process that should answer at once.
constexpr milliseconds patience_for_answers = std::chrono::seconds(5);
constexpr std::size_t most_named = 8;

/// Returns "rank 2", "ranks 2 and 5", "ranks 0, 1, 2 and 90 others".
std::string ranks_text(const std::vector<std::size_t>& ranks) {
    std::string all = ranks.size() == 1 ? "rank " : "ranks ";
    const std::size_t named = ranks.size() <= most_named ? ranks.size() : most_named - 1;
    for (std::size_t i = 0; i < named; ++i) {
        const bool is_last = i + 1 == ranks.size();
        all += formatted("{}{}", i == 0 ? "" : is_last ? " and " : ", ", ranks[i]);
    }
    if (named < ranks.size()) all += formatted(" and {} others", ranks.size() - named);
    return all;
}

template <class Predicate> std::vector<std::size_t> ranks_where(std::size_t size, Predicate is) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < size; ++i)
        if (is(i)) found.push_back(i);
    return found;
}

void add_clause(std::string& to, const std::string& clause) {
    to += (to.empty() ? "" : ", and ") + clause;
}

/// Returns the clauses about lost ranks, or an empty string.
std::string lost_text(const RollSeat& seat) {
    std::string all;
    const auto add = [&](RollSeat::State how, const char* what) {
        const std::vector<std::size_t> ranks =
            ranks_where(seat.size, [&](std::size_t i) { return seat.states[i] == how; });
        if (!ranks.empty())
            add_clause(all, formatted("{} of {} {} {}", ranks_text(ranks), seat.size,
                                      ranks.size() == 1 ? "has" : "have", what));
    };
    add(RollSeat::State::ended, "ended");
    add(RollSeat::State::aborted, "aborted");
    return all;
}

[[noreturn]] void throw_unreachable(const RollAddress& address, const std::string& problem,
                                    int code, const SourceLocation& where) {
    const std::string name = code == 0 ? "" : problem;
    coded_error(ErrorCode::rank_lost,
                ErrorSite("Communicator", where).with_native(code, name.c_str()),
                "the process that made the id cannot be reached at {}: {}. Keep that process "
                "running until all ranks have joined, and let hosts connect to each other",
                text_of(address), problem);
}

[[noreturn]] void throw_refusal(const RollSeat& seat, const SourceLocation& where) {
    const RollMessage& refusal = *seat.refusal;
    const ErrorSite site("Communicator", where);
    switch (static_cast<RollRefusal>(refusal.value)) {
    case RollRefusal::complete:
        usage_error(site,
                    "rank {} cannot join, because all ranks of this id have joined already: make "
                    "an id for each communicator",
                    seat.rank);
    case RollRefusal::taken:
        usage_error(site,
                    "two ranks of this communicator have the number {}: give each rank its own",
                    refusal.rank);
    case RollRefusal::size: break;
    }
    usage_error(site,
                "rank {} has joined as one of {} ranks, but earlier ranks as some of {}: pass the "
                "same size on all ranks",
                refusal.rank, refusal.other >> 32U, refusal.other & 0xffffffffU);
}

[[noreturn]] void throw_missing(const RollSeat& seat, milliseconds limit,
                                const SourceLocation& where) {
    const std::vector<std::size_t> missing =
        ranks_where(seat.size, [&](std::size_t i) { return !seat.is_here[i]; });
    coded_error(ErrorCode::rank_lost, ErrorSite("Communicator", where),
                "{} of {} {} not joined within {}: check that each rank has started and has "
                "received this id, or increase CommunicatorOptions::timeout",
                ranks_text(missing), seat.size, missing.size() == 1 ? "has" : "have",
                time_text(limit));
}

/// Waits until all ranks have joined. Throws otherwise.
void wait_for_all(RollSeat& seat, const RollAddress& address, milliseconds limit,
                  RollClock::time_point until, std::unique_lock<std::mutex>& lock,
                  const SourceLocation& where) {
    const auto is_decided = [&] { return seat.is_complete || seat.refusal || seat.is_broken; };
    if (!seat.changed.wait_until(lock, until, is_decided)) {
        seat.stream.send({.kind = RollKind::ask_here});
        RollHub::get().wake();
        seat.changed.wait_for(lock, patience_for_answers,
                              [&] { return is_decided() || seat.knows_here; });
    }
    if (seat.is_complete) return;
    if (seat.refusal) throw_refusal(seat, where);
    if (seat.knows_here) throw_missing(seat, limit, where);
    throw_unreachable(address, seat.is_broken ? "its process has ended" : "it does not answer", 0,
                      where);
}

}  // namespace

std::string time_text(milliseconds time) {
    return time.count() % 1000 == 0 ? formatted("{} s", time.count() / 1000)
                                    : formatted("{} ms", time.count());
}

RollAddress open_roll_call(const SourceLocation& where) {
    RollAddress address;
    address.hosts = own_addresses();
    address.token = random_number(where);
    const std::lock_guard lock(RollHub::mutex());
    address.port = RollHub::get().open(address.token, where);
    return address;
}

std::unique_ptr<RollMember> join_roll_call(const RollAddress& address, std::size_t rank,
                                           std::size_t size, milliseconds limit,
                                           const SourceLocation& where) {
    if (address.port == 0)
        usage_error({"Communicator", where},
                    "these bytes are no id of this version of heddle: pass all bytes of "
                    "CommunicatorId::make(), unchanged");
    if (size > most_roll_ranks)
        usage_error({"Communicator", where}, "{} ranks are more than {}", size, most_roll_ranks);
    const RollClock::time_point until = end_of_limit(limit);
    std::string problem;
    int code = 0;
    RollSocket socket = connect_roll_call(address, until, problem, code);
    if (!socket) throw_unreachable(address, problem, code, where);
    const auto seat = std::make_shared<RollSeat>(std::move(socket), rank, size);
    auto member = std::make_unique<RollMember>(seat);
    std::unique_lock lock(RollHub::mutex());
    RollHub& hub = RollHub::get();
    seat->stream.send(
        {.kind = RollKind::join, .rank = rank, .value = size, .other = hub.process(where)});
    hub.add(seat, where);
    wait_for_all(*seat, address, limit, until, lock, where);
    return member;
}

RollMember::RollMember(std::shared_ptr<RollSeat> seat) noexcept
    : seat_(std::move(seat)), forks_(forks()) {}

RollMember::~RollMember() {
    if (forks_ != forks()) return;
    std::unique_lock lock(RollHub::mutex());
    RollHub::get().remove(*seat_, lock);
}

std::size_t RollMember::rank() const noexcept { return seat_->rank; }
std::size_t RollMember::size() const noexcept { return seat_->size; }

void RollMember::say_bye(bool aborts) noexcept {
    if (forks_ != forks()) return;
    try {
        std::unique_lock lock(RollHub::mutex());
        seat_->stream.send({.kind = RollKind::bye, .value = aborts ? 1U : 0U});
        RollHub::get().wake();
        seat_->changed.wait_for(lock, patience_for_answers, [&] {
            return seat_->is_bye_heard || seat_->is_broken || seat_->stream.has_ended();
        });
        RollHub::get().remove(*seat_, lock);
    } catch (...) {
        report(std::current_exception());  // std::bad_alloc: the others lose this rank
    }
}

void RollMember::on_loss(std::function<void()> function) {
    if (forks_ != forks()) return;
    {
        const std::lock_guard lock(RollHub::mutex());
        if (!seat_->has_lost()) {
            seat_->on_loss = std::move(function);
            return;
        }
    }
    function();
}

std::string RollMember::lost() const {
    const std::lock_guard lock(RollHub::mutex());
    return lost_text(*seat_);
}

std::string RollMember::ask_lost() const {
    (void)absentees(patience_for_counts);
    return lost();
}

void RollMember::count() noexcept { seat_->collectives.fetch_add(1, std::memory_order_relaxed); }

std::string RollMember::absentees(milliseconds patience) const {
    std::unique_lock lock(RollHub::mutex());
    RollSeat& seat = *seat_;
    std::ranges::fill(seat.counts, std::nullopt);
    const auto is_silent = [&](std::size_t i) {
        return i != seat.rank && seat.states[i] == RollSeat::State::here && !seat.counts[i];
    };
    seat.stream.send({.kind = RollKind::ask_counts});
    RollHub::get().wake();
    seat.changed.wait_for(lock, patience, [&] {
        return seat.is_broken || ranks_where(seat.size, is_silent).empty();
    });
    const std::uint64_t own = seat.collectives.load(std::memory_order_relaxed);
    std::string all = lost_text(seat);
    const std::vector<std::size_t> behind = ranks_where(
        seat.size, [&](std::size_t i) { return seat.counts[i] && *seat.counts[i] < own; });
    for (std::size_t i = 0; i < std::min(behind.size(), most_named); ++i)
        add_clause(all, formatted("rank {} has enqueued {} collectives, but this rank {}",
                                  behind[i], *seat.counts[behind[i]], own));
    const auto add_ranks = [&](const std::vector<std::size_t>& ranks, const char* one,
                               const char* several) {
        if (!ranks.empty())
            add_clause(all, ranks_text(ranks) + (ranks.size() == 1 ? one : several));
    };
    add_ranks(ranks_where(seat.size, is_silent), " does not answer", " do not answer");
    add_ranks(ranks_where(seat.size,
                          [&](std::size_t i) { return seat.states[i] == RollSeat::State::left; }),
              " has left", " have left");
    if (all.empty())
        all = formatted("no rank has enqueued fewer collectives than this rank ({}), so they may "
                        "differ in kind or size, or take longer",
                        own);
    return all;
}

}  // namespace heddle::detail
