// The watch names a cause only if the work at fault made no progress while the snapshot was taken.
#include "watch/causes.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {
const int first = 0, second = 0;  // their addresses stand for two completions

/// Adds a stream that waits for one completion, and that will complete another.
void add_waiting(detail::Snapshot& picture, const Stream& stream, const void* awaited,
                 const void* promised) {
    detail::StreamFacts facts;
    facts.record = &detail::record_of(StreamRef(stream));
    facts.key = facts.record->key.load();
    facts.looked = detail::Looked::seen;
    facts.look.at = detail::StreamAt::wait;
    facts.look.awaited = awaited;
    facts.is_steady = true;
    if (promised != nullptr) picture.promises[promised] = {picture.streams.size(), 1};
    picture.streams.push_back(facts);
}
bool has_cause(const detail::Snapshot& picture, CauseKind kind) {
    return std::ranges::any_of(detail::find_causes(picture, 0),
                               [&](auto& one) { return one.kind == kind; });
}
}  // namespace

TEST_CASE("a wait is lost if nothing completes it, at either look, and it has not moved",
          "[watch]") {
    const Stream s = named("waits");
    detail::Snapshot picture;
    add_waiting(picture, s, &first, nullptr);
    CHECK(has_cause(picture, CauseKind::nothing_reaches));
    SECTION("it has moved") { picture.streams[0].is_steady = false; }
    SECTION("the second look has it") { picture.promised_again.insert(&first); }
    SECTION("something was not seen") { picture.is_whole = false; }
    SECTION("the first look has it") { picture.promises[&first] = {0, 1}; }
    CHECK(!has_cause(picture, CauseKind::nothing_reaches));
}

TEST_CASE("streams wait for each other if none of them has moved", "[watch]") {
    const Stream a = named("a"), b = named("b");
    detail::Snapshot picture;
    add_waiting(picture, a, &first, &second);
    add_waiting(picture, b, &second, &first);
    CHECK(has_cause(picture, CauseKind::cycle));
    picture.streams[1].is_steady = false;
    CHECK(!has_cause(picture, CauseKind::cycle));
}
