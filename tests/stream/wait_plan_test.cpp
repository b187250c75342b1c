// Decisions about waits (core/stream/wait_rules.hpp, wait_plan.hpp). Tests each rule, and each
// pair of stream states.
#include "core/stream/wait_plan.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/failure/failure.hpp"
#include "core/recording/recorder.hpp"
#include "cpu/device/backend.hpp"
#include "support.hpp"

using namespace heddle_test;
using heddle::detail::decide_wait;
using heddle::detail::EventState;
using heddle::detail::Recorders;
using heddle::detail::StreamRecord;
using heddle::detail::WaitAction;
using heddle::detail::WaitPlan;
using heddle::detail::WaitRuleName;
namespace fact = heddle::detail::wait_fact;
namespace flag = heddle::detail::stream_flag;

namespace {

// The table ---------------------------------------------------------------------------------------

/// A rule, and its decision if exactly its facts hold. With one of the facts in `unless` as well,
/// the rule does not apply.
struct Row {
    WaitRuleName rule;
    WaitAction action;
    std::uint32_t facts;
    std::vector<std::uint32_t> unless = {};
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
        {WaitRuleName::unusable, WaitAction::refuse, fact::unusable},
        {WaitRuleName::same_stream, WaitAction::elide, fact::same_stream},
        {WaitRuleName::never_recorded, WaitAction::elide, fact::never_recorded},
        {WaitRuleName::own_use, WaitAction::nothing, fact::own_use},
        {WaitRuleName::use_of_parent, WaitAction::nothing, fact::use_of_parent},
        {WaitRuleName::empty_branch, WaitAction::nothing, fact::empty_branch},
        {WaitRuleName::recorded, WaitAction::record, fact::recorded},
        {WaitRuleName::use_ended, WaitAction::nothing, fact::use_ended},
        {WaitRuleName::event_of_capture, WaitAction::refuse, fact::event_of_capture},
        {WaitRuleName::nothing_pending, WaitAction::elide,
         fact::nothing_pending | fact::outside | fact::captured},
        {WaitRuleName::device_lost, WaitAction::nothing, fact::device_lost},
        {WaitRuleName::outside_capture, WaitAction::refuse, fact::outside | fact::captured},
        {WaitRuleName::other_capture, WaitAction::refuse,
         fact::outside | fact::elsewhere | fact::captured},
        {WaitRuleName::own_event,
         WaitAction::elide,
         fact::own_event,
         {fact::uncounted, fact::captured}},
        {WaitRuleName::covered,
         WaitAction::elide,
         fact::covered,
         {fact::uncounted, fact::captured, fact::failed}},
        {WaitRuleName::across_kinds, WaitAction::enqueue, fact::other_kind},
        {WaitRuleName::needed, WaitAction::enqueue, 0},
    };
    return all;
}

/// The decisions of rows(), written as a program, which shows the effect of each fact.
WaitRuleName expected(std::uint32_t facts) {
    const auto is = [facts](std::uint32_t one) { return (facts & one) != 0; };
    if (is(fact::unusable)) return WaitRuleName::unusable;
    if (is(fact::same_stream)) return WaitRuleName::same_stream;
    if (is(fact::never_recorded)) return WaitRuleName::never_recorded;
    if (is(fact::own_use)) return WaitRuleName::own_use;
    if (is(fact::use_of_parent)) return WaitRuleName::use_of_parent;
    if (is(fact::empty_branch)) return WaitRuleName::empty_branch;
    if (is(fact::recorded)) return WaitRuleName::recorded;
    if (is(fact::use_ended)) return WaitRuleName::use_ended;
    if (is(fact::event_of_capture)) return WaitRuleName::event_of_capture;
    if (is(fact::nothing_pending)) return WaitRuleName::nothing_pending;
    if (is(fact::device_lost)) return WaitRuleName::device_lost;
    if (is(fact::outside))
        return is(fact::elsewhere) ? WaitRuleName::other_capture : WaitRuleName::outside_capture;
    if (!is(fact::uncounted) && !is(fact::captured)) {
        if (is(fact::own_event)) return WaitRuleName::own_event;
        if (is(fact::covered) && !is(fact::failed)) return WaitRuleName::covered;
    }
    return is(fact::other_kind) ? WaitRuleName::across_kinds : WaitRuleName::needed;
}

// Streams in each state ---------------------------------------------------------------------------

/// Returns the answers that a test has set. The other functions would need native streams, which do
/// not exist here. Decisions do not call these functions, because they enqueue nothing.
class Quiet final : public heddle::detail::cpu::CpuBackend {
public:
    static constexpr std::uint64_t native_capture = 7;
    bool is_idle = false;
    std::uint64_t capture_id(StreamRecord& stream) override {
        return stream.has(flag::capturing) ? native_capture : 0;
    }
    bool is_complete(StreamRecord&, const SourceLocation&) override { return is_idle; }
    bool is_complete(EventState&, const SourceLocation&) override { return is_idle; }
    heddle::detail::Failure failure_of(EventState&) override { return nullptr; }
};

/// A recorder that decisions only query.
class Looked final : public heddle::detail::Recorder {
public:
    Looked(std::uint64_t number, bool is_capture) : is_capture_(is_capture) {
        id = (std::uint64_t{1} << 63) + number;
    }
    bool is_capture() const noexcept override { return is_capture_; }
    bool accept(StreamRecord&, Wants, const char*, const SourceLocation&) override { return false; }
    bool join(StreamRecord&, const Point&, const char*, const SourceLocation&) override {
        return false;
    }
    void wait_inside(StreamRecord&, StreamRecord*, const Point&, const SourceLocation&) override {}
    void flush(const SourceLocation&) override {}
    void step_aside(StreamRecord&, const SourceLocation&) override {}

protected:
    std::uint32_t flags() const noexcept override { return flag::recording; }

private:
    bool is_capture_;
};

enum class State : std::uint8_t {
    open,
    closed,
    poisoned,
    lost,
    captured_here,
    captured_elsewhere,
    in_a_batch,
    handed_out,
    captured_natively,
    of_another_kind,
    of_the_parent,
};
constexpr std::size_t state_count = 11;
constexpr std::string_view state_names[state_count] = {"open",
                                                       "closed",
                                                       "poisoned",
                                                       "lost",
                                                       "captured here",
                                                       "captured elsewhere",
                                                       "in a batch",
                                                       "handed out",
                                                       "captured natively",
                                                       "of another kind",
                                                       "of the parent"};

constexpr std::uint64_t submitted = 3;

/// The states of all streams and events of the test. The recorders outlive them.
struct World {
    Quiet backend, other_backend;
    Looked here{1, true}, elsewhere{2, true}, batch{3, false}, gone{4, true};
    std::uint64_t next_id = 100;

    void record(StreamRecord& stream, Looked& by, std::uint32_t flags) {
        stream.set(flag::recording | flags);
        stream.recorder = &by;
        stream.outermost = &by;
    }
    std::unique_ptr<StreamRecord> stream(State state) {
        auto made = std::make_unique<StreamRecord>();
        StreamRecord& stream = *made;
        stream.backend = state == State::of_another_kind ? &other_backend : &backend;
        stream.id = next_id++;
        stream.submissions = submitted;
        stream.flags = 0;
        const auto fail = [&](heddle::ErrorCode code) {
            const auto failure = heddle::detail::make_failure(
                {.code = code, .message = "on purpose", .call = {}, .device = stream.device});
            failure->note_told();
            stream.poison(failure, 1);
            failure->note_told();
        };
        switch (state) {
        case State::open: break;
        case State::closed: stream.set(flag::dead); break;
        case State::poisoned: fail(heddle::ErrorCode::work_failed); break;
        case State::lost: fail(heddle::ErrorCode::device_lost); break;
        case State::captured_here: record(stream, here, flag::captured); break;
        case State::captured_elsewhere: record(stream, elsewhere, flag::captured); break;
        case State::in_a_batch: record(stream, batch, 0); break;
        case State::handed_out: stream.set(flag::handed_out); break;
        case State::captured_natively: stream.set(flag::handed_out | flag::capturing); break;
        case State::of_another_kind: break;
        case State::of_the_parent: stream.set(flag::forked); break;
        }
        return made;
    }
};

/// Returns one letter for each rule.
char letter(WaitRuleName rule) {
    switch (rule) {
    case WaitRuleName::unusable: return 'U';
    case WaitRuleName::same_stream: return 'S';
    case WaitRuleName::never_recorded: return 'Z';
    case WaitRuleName::own_use: return 'S';
    case WaitRuleName::use_of_parent: return 'F';
    case WaitRuleName::empty_branch: return 'B';
    case WaitRuleName::recorded: return 'r';
    case WaitRuleName::use_ended: return 'X';
    case WaitRuleName::event_of_capture: return 'G';
    case WaitRuleName::nothing_pending: return 'P';
    case WaitRuleName::device_lost: return 'L';
    case WaitRuleName::outside_capture: return 'O';
    case WaitRuleName::other_capture: return 'E';
    case WaitRuleName::own_event: return 'S';
    case WaitRuleName::covered: return 'c';
    case WaitRuleName::across_kinds: return 'A';
    case WaitRuleName::needed: return 'N';
    }
    return '?';
}

using Matrix = std::array<std::string, state_count>;

/// Returns the decision for each waiting stream (rows) and each target (columns).
template <class Decide> Matrix decide_all(std::size_t columns, Decide&& decide) {
    Matrix all;
    for (std::size_t waiter = 0; waiter < state_count; ++waiter)
        for (std::size_t column = 0; column < columns; ++column)
            all[waiter] += letter(decide(static_cast<State>(waiter), column).verdict.rule);
    return all;
}

void check_rows(const Matrix& found, const Matrix& wanted) {
    for (std::size_t i = 0; i < state_count; ++i) {
        INFO("the waiter is " << state_names[i]);
        CHECK(found[i] == wanted[i]);
    }
}

Matrix decide_streams(Recorders recorders, bool is_covered, bool is_idle) {
    return decide_all(state_count, [&](State state, std::size_t column) {
        World world;
        world.backend.is_idle = world.other_backend.is_idle = is_idle;
        const auto waiter = world.stream(state);
        const auto other = world.stream(static_cast<State>(column));
        if (is_covered) waiter->waited.note(other->id, submitted);
        return decide_wait(*waiter, *other, {}, recorders);
    });
}

Matrix decide_uses(Recorders recorders, bool is_covered) {
    return decide_all(state_count + 1, [&](State state, std::size_t column) {
        World world;
        const auto waiter = world.stream(state);
        const bool has_ended = column == state_count;
        const auto user = world.stream(has_ended ? State::open : static_cast<State>(column));
        const heddle::detail::StreamUse use{user.get(), user->id};
        if (is_covered) waiter->waited.note(use.id, submitted);
        if (has_ended) user->id = world.next_id++;
        return decide_wait(*waiter, use, {}, recorders);
    });
}

/// The events, in this order: never recorded; recorded by the waiting stream; the same, with the
/// event's handle exposed; recorded by another stream; by a stream of another kind; in an open
/// capture; in a capture that has ended; in a native capture.
constexpr std::size_t event_count = 8;

Matrix decide_events(Recorders recorders, bool is_idle) {
    return decide_all(event_count, [&](State state, std::size_t column) {
        World world;
        world.backend.is_idle = world.other_backend.is_idle = is_idle;
        const auto waiter = world.stream(state);
        const auto other = world.stream(column == 4 ? State::of_another_kind : State::open);
        StreamRecord& by = column == 1 || column == 2 ? *waiter : *other;
        EventState event;
        event.backend = by.backend;
        event.recorded = column != 0;
        event.countable = column != 2;
        event.stream = &by;
        event.stream_id = by.id;
        event.submissions = submitted;
        if (column == 5) event.capture_id = world.here.id;
        if (column == 5) event.recorder = &world.here;
        if (column == 6) event.capture_id = world.gone.id;
        if (column == 7) event.capture_id = Quiet::native_capture;
        return decide_wait(*waiter, event, {}, recorders);
    });
}

}  // namespace

TEST_CASE("each rule about waits decides what it says", "[stream][wait_plan]") {
    REQUIRE(rows().size() == std::size(heddle::detail::wait_rules));
    for (const Row& row : rows()) {
        INFO("rule " << static_cast<int>(row.rule));
        const auto verdict = heddle::detail::verdict_on(row.facts);
        CHECK(verdict.rule == row.rule);
        CHECK(verdict.action == row.action);
        // A wait that the rule elides becomes necessary with any of these facts.
        for (const std::uint32_t one : row.unless) {
            CHECK(heddle::detail::verdict_on(row.facts | one).rule == WaitRuleName::needed);
            CHECK(heddle::detail::verdict_on(row.facts | one | fact::other_kind).rule ==
                  WaitRuleName::across_kinds);
        }
        // A rule does not apply without its facts.
        if (row.facts != 0) CHECK(heddle::detail::verdict_on(0).rule != row.rule);
    }
}

TEST_CASE("the rules about waits decide for all that may be known", "[stream][wait_plan]") {
    std::size_t wrong = 0;
    for (std::uint32_t facts = 0; facts < (1u << fact::count); ++facts)
        wrong += heddle::detail::verdict_on(facts).rule == expected(facts) ? 0 : 1;
    CHECK(wrong == 0);
}

TEST_CASE("a wait for a stream is decided for each pair of states", "[stream][wait_plan]") {
    // The rows are states of the waiting stream. The columns are the same states of the target:
    // open, closed, poisoned, lost, captured here, captured elsewhere, in a batch, handle exposed,
    // captured natively, of another kind, of the parent process.
    SECTION("before the recorders are asked") {
        check_rows(decide_streams(Recorders::to_ask, false, false),
                   {
                       "NUNNrrrNNAU",  // open
                       "UUUUUUUUUUU",  // closed
                       "NUNNrrrNNAU",  // poisoned
                       "LULLrrrLLLU",  // lost
                       "rUrrrrrrrrU",  // captured here
                       "rUrrrrrrrrU",  // captured elsewhere
                       "rUrrrrrrrrU",  // in a batch
                       "NUNNrrrNNAU",  // handle exposed
                       "OUOOrrrONOU",  // captured natively
                       "AUAArrrAANU",  // of another kind
                       "UUUUUUUUUUU",  // of the parent
                   });
    }
    SECTION("when the recorders have declined") {
        check_rows(decide_streams(Recorders::asked, false, false),
                   {
                       "NUNNNNNNNAU",  // open
                       "UUUUUUUUUUU",  // closed
                       "NUNNNNNNNAU",  // poisoned
                       "LULLLLLLLLU",  // lost
                       "OUOONEOOEOU",  // captured here
                       "OUOOENOOEOU",  // captured elsewhere
                       "NUNNNNNNNAU",  // in a batch
                       "NUNNNNNNNAU",  // handle exposed
                       "OUOOEEOONOU",  // captured natively
                       "AUAAAAAAANU",  // of another kind
                       "UUUUUUUUUUU",  // of the parent
                   });
    }
    SECTION("the waiter has waited for all work of the other") {
        check_rows(decide_streams(Recorders::to_ask, true, false),
                   {
                       "cUNNrrrNNcU",  // open
                       "UUUUUUUUUUU",  // closed
                       "cUNNrrrNNcU",  // poisoned
                       "LULLrrrLLLU",  // lost
                       "rUrrrrrrrrU",  // captured here
                       "rUrrrrrrrrU",  // captured elsewhere
                       "rUrrrrrrrrU",  // in a batch
                       "cUNNrrrNNcU",  // handle exposed
                       "OUOOrrrONOU",  // captured natively
                       "cUAArrrAAcU",  // of another kind
                       "UUUUUUUUUUU",  // of the parent
                   });
    }
    SECTION("the same, when the recorders have declined") {
        check_rows(decide_streams(Recorders::asked, true, false),
                   {
                       "cUNNNNcNNcU",  // open
                       "UUUUUUUUUUU",  // closed
                       "cUNNNNcNNcU",  // poisoned
                       "LULLLLLLLLU",  // lost
                       "OUOONEOOEOU",  // captured here
                       "OUOOENOOEOU",  // captured elsewhere
                       "cUNNNNcNNcU",  // in a batch
                       "cUNNNNcNNcU",  // handle exposed
                       "OUOOEEOONOU",  // captured natively
                       "cUAAAAcAAcU",  // of another kind
                       "UUUUUUUUUUU",  // of the parent
                   });
    }
    SECTION("the other stream has nothing pending") {
        check_rows(decide_streams(Recorders::asked, false, true),
                   {
                       "NUNNNNNNNAU",  // open
                       "UUUUUUUUUUU",  // closed
                       "NUNNNNNNNAU",  // poisoned
                       "LULLLLLLLLU",  // lost
                       "PUOONEOPEPU",  // captured here
                       "PUOOENOPEPU",  // captured elsewhere
                       "NUNNNNNNNAU",  // in a batch
                       "NUNNNNNNNAU",  // handle exposed
                       "OUOOEEOONOU",  // captured natively
                       "AUAAAAAAANU",  // of another kind
                       "UUUUUUUUUUU",  // of the parent
                   });
    }
}

TEST_CASE("a wait for a user of memory is decided by the user's state", "[stream][wait_plan]") {
    // The columns are states of the user. There is one more: the user has ended, and another stream
    // reuses its record.
    const auto all_but_kind = [](const std::string& same, const std::string& other_kind) {
        Matrix all;
        all.fill(same);
        all[static_cast<std::size_t>(State::of_another_kind)] = other_kind;
        return all;
    };
    check_rows(decide_uses(Recorders::to_ask, false), all_but_kind("NNNNrrrNNAFX", "AAAArrrAANFX"));
    check_rows(decide_uses(Recorders::asked, false), all_but_kind("NNNNNNNNNAFX", "AAAAAAAAANFX"));
    check_rows(decide_uses(Recorders::to_ask, true), all_but_kind("ccccrrrNNcFX", "ccccrrrAAcFX"));
    check_rows(decide_uses(Recorders::asked, true), all_but_kind("cccccccNNcFX", "cccccccAAcFX"));
    World world;
    const auto stream = world.stream(State::in_a_batch);
    CHECK(decide_wait(*stream, heddle::detail::StreamUse{stream.get(), stream->id}, {})
              .verdict.rule == WaitRuleName::own_use);
}

TEST_CASE("a wait for an event is decided for each pair of states", "[stream][wait_plan]") {
    SECTION("before the recorders are asked") {
        check_rows(decide_events(Recorders::to_ask, false), {
                                                                "ZSNNArGN",  // open
                                                                "UUUUUUUU",  // closed
                                                                "ZSNNArGN",  // poisoned
                                                                "ZLLLLrGL",  // lost
                                                                "Zrrrrrrr",  // captured here
                                                                "Zrrrrrrr",  // captured elsewhere
                                                                "Zrrrrrrr",  // in a batch
                                                                "ZSNNArGN",  // handle exposed
                                                                "ZOOOOrGN",  // captured natively
                                                                "ZSNANrGA",  // of another kind
                                                                "UUUUUUUU",  // of the parent
                                                            });
    }
    SECTION("when the recorders have declined") {
        check_rows(decide_events(Recorders::asked, false), {
                                                               "ZSNNAGGN",  // open
                                                               "UUUUUUUU",  // closed
                                                               "ZSNNAGGN",  // poisoned
                                                               "ZLLLLGGL",  // lost
                                                               "ZOOOONGE",  // captured here
                                                               "ZOOOOGGE",  // captured elsewhere
                                                               "ZSNNAGGN",  // in a batch
                                                               "ZSNNAGGN",  // handle exposed
                                                               "ZOOOOGGN",  // captured natively
                                                               "ZSNANGGA",  // of another kind
                                                               "UUUUUUUU",  // of the parent
                                                           });
    }
    SECTION("the event has been reached") {
        check_rows(decide_events(Recorders::asked, true), {
                                                              "ZSNNAGGN",  // open
                                                              "UUUUUUUU",  // closed
                                                              "ZSNNAGGN",  // poisoned
                                                              "ZLLLLGGL",  // lost
                                                              "ZPPPPNGE",  // captured here
                                                              "ZPPPPGGE",  // captured elsewhere
                                                              "ZSNNAGGN",  // in a batch
                                                              "ZSNNAGGN",  // handle exposed
                                                              "ZOOOOGGN",  // captured natively
                                                              "ZSNANGGA",  // of another kind
                                                              "UUUUUUUU",  // of the parent
                                                          });
    }
}

TEST_CASE("a stream's wait for itself is elided, dead ones refused", "[stream][wait_plan]") {
    World world;
    for (std::size_t i = 0; i < state_count; ++i) {
        INFO("the stream is " << state_names[i]);
        const auto stream = world.stream(static_cast<State>(i));
        CHECK(decide_wait(*stream, *stream, {}).verdict.rule ==
              (static_cast<State>(i) == State::closed ? WaitRuleName::unusable
                                                      : WaitRuleName::same_stream));
    }
}

TEST_CASE("a wait for enqueued work asks only what was enqueued", "[stream][wait_plan]") {
    World world;
    const auto waiter = world.stream(State::in_a_batch), other = world.stream(State::in_a_batch);
    const auto rule = [&] {
        return decide_wait(*waiter, heddle::detail::EnqueuedWork{other.get()}, {}).verdict.rule;
    };
    CHECK(rule() == WaitRuleName::needed);
    waiter->waited.note(other->id, submitted);
    CHECK(rule() == WaitRuleName::covered);
    other->set(flag::one_loan);
    CHECK(rule() == WaitRuleName::needed);
    other->clear(flag::lending);
    CHECK(rule() == WaitRuleName::covered);
    other->set(flag::handed_out);
    CHECK(rule() == WaitRuleName::needed);
}

TEST_CASE("a lent stream is waited for as one whose handle others hold", "[stream][wait_plan]") {
    World world;
    const auto waiter = world.stream(State::open), lent = world.stream(State::open),
               kept = world.stream(State::handed_out);
    lent->set(flag::lent | 3 * flag::one_loan);
    for (const bool is_covered : {false, true}) {
        if (is_covered)
            waiter->waited.note(lent->id, submitted), waiter->waited.note(kept->id, submitted);
        const auto plan = decide_wait(*waiter, *lent, {}), other = decide_wait(*waiter, *kept, {});
        CHECK(plan.verdict.rule == other.verdict.rule);
        CHECK(plan.verdict.rule == WaitRuleName::needed);
        CHECK_FALSE(plan.counts());
    }
    lent->clear(flag::lending);  // the loan has ended; `lent` stays
    CHECK(decide_wait(*waiter, *lent, {}).verdict.rule == WaitRuleName::covered);
}

TEST_CASE("an empty branch needs no wait if what came before it is covered",
          "[stream][wait_plan]") {
    World world;
    const auto base = world.stream(State::open), branch = world.stream(State::open);
    const auto rule = [&](std::uint64_t before, std::uint64_t begun) {
        return decide_wait(*base, heddle::detail::BranchEnd{branch.get(), before, begun}, {})
            .verdict.rule;
    };
    CHECK(rule(submitted - 1, submitted) == WaitRuleName::needed);
    base->waited.note(branch->id, submitted - 1);
    CHECK(rule(submitted - 1, submitted) == WaitRuleName::empty_branch);
    CHECK(rule(submitted, submitted) == WaitRuleName::needed);  // not covered by an earlier wait
    CHECK(rule(submitted - 1, submitted - 1) == WaitRuleName::needed);  // the stream is not empty
    for (const std::uint32_t one :
         {flag::handed_out, flag::one_loan, flag::fallible, flag::recording}) {
        branch->set(one);
        CHECK(rule(submitted - 1, submitted) != WaitRuleName::empty_branch);
        branch->clear(one);
    }
}

TEST_CASE("a later wait is elided because of one that counted", "[stream][wait_plan]") {
    const auto counts = [](std::uint32_t facts) {
        return heddle::detail::plan_of(facts, 100, submitted).counts();
    };
    CHECK(counts(0));
    CHECK(counts(fact::other_kind));
    CHECK_FALSE(counts(fact::uncounted));
    CHECK_FALSE(counts(fact::captured));
    CHECK_FALSE(heddle::detail::plan_of(0).counts());  // this is a plan for an event
}
