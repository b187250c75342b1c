#include "watch/picture.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/peek.hpp"
#include "core/stream/registry.hpp"
#include "watch/words.hpp"

namespace heddle::detail {

namespace {

/// Tries to acquire the lock. Retries for a while, because another thread may hold it briefly.
/// Returns whether the lock was acquired.
bool try_for_long(SpinLock& lock) noexcept {
    constexpr int tries = 200;
    for (int i = 0; i < tries; ++i) {
        if (lock.try_lock()) return true;
        std::this_thread::yield();
    }
    return false;
}

bool is_same_place(const SourceLocation& a, const SourceLocation& b) {
    return a.line == b.line && (a.file == b.file || peek_text(a.file) == peek_text(b.file));
}

/// Returns the entry of the stream's current operation. Returns null if that is uncertain: two
/// threads may enqueue from one source line, and their entries may be in either order.
const FlightEntry* find_entry(const StreamFacts& stream) {
    const bool is_anywhere = stream.look.at == StreamAt::between;
    const auto may_be = [&](const FlightEntry& one) {
        return one.mode == OpMode::run && one.kind != OpKind::record &&
               one.submissions >= stream.look.next &&
               (is_anywhere || is_same_place(one.where, stream.look.where));
    };
    const auto first = std::ranges::find_if(stream.flight, may_be);
    if (first == stream.flight.end()) return nullptr;
    const bool is_certain =
        is_anywhere || std::none_of(first + 1, stream.flight.end(), [&](const FlightEntry& one) {
            return one.submissions <= first->submissions && one.kind == first->kind && may_be(one);
        });
    return is_certain ? &*first : nullptr;
}

void look_at(StreamRecord& stream, Snapshot& to, bool idle) {
    StreamFacts facts;
    facts.record = &stream;
    facts.key = stream.key.load();
    facts.device = stream.device;
    facts.looked = stream.backend->look(stream, facts.look);
    facts.recording = look_at_recording(stream);
    const bool is_pending =
        facts.looked == Looked::moved || facts.look.pending != 0 || facts.look.at != StreamAt::idle;
    if (facts.looked == Looked::refused) to.is_whole = false;
    if (facts.looked == Looked::seen && !facts.look.is_whole) to.is_whole = false;
    if (facts.looked == Looked::moved) {
        const void* native = nullptr;  // null once the stream ends
        (void)peek_pointer(reinterpret_cast<const void*>(&stream.native), native);
        if (native == nullptr) return;  // the stream has ended
    }
    const bool is_held = facts.recording.is_locked || facts.is_recorded();
    const bool has_flown = idle && stream.flight.load(std::memory_order_acquire) != nullptr;
    if ((facts.looked == Looked::refused || !is_pending) && !is_held && !has_flown) return;
    facts.name = name_of_stream(stream, to.unseen);
    if (facts.recording.is_locked)
        to.unseen.push_back(formatted(
            "the {} of {}: its lock is held",
            std::string_view(facts.recording.is_capture ? "capture" : "batch"), facts.name));
    if (const FlightRing* const ring = stream.flight.load(std::memory_order_acquire))
        facts.flight = ring->read(stream.noted_before.load());
    to.streams.push_back(std::move(facts));
}

/// Adds a failed stream. Nothing is pending on it, but a thread may wait for work that it has
/// dropped.
void look_at_failure(StreamRecord& stream, Snapshot& to) {
    if (!stream.has(stream_flag::poisoned) || stream.gone_at.load() != 0) return;
    if (Failure failure = stream.known_failure())
        to.failed.push_back({name_of_stream(stream, to.unseen), std::move(failure)});
}

}  // namespace

std::string name_of_stream(StreamRecord& stream, std::vector<std::string>& unseen) {
    std::string name;
    if (try_for_long(stream.life)) {
        try {
            name = stream.name;
        } catch (...) {
            stream.life.unlock();
            throw;
        }
        stream.life.unlock();
        if (!name.empty()) return formatted("'{}'", name);
    } else {
        unseen.push_back(formatted("the name of stream {}: its lock is held", stream.id.load()));
    }
    return formatted("stream {}", stream.id.load());
}

std::ptrdiff_t Snapshot::find(std::uint64_t key) const noexcept {
    const auto found = std::ranges::find(streams, key, &StreamFacts::key);
    return found != streams.end() ? found - streams.begin() : -1;
}

const Promised* Snapshot::target_of(const void* completion) const noexcept {
    const auto found = promises.find(completion);
    return found != promises.end() ? &found->second : nullptr;
}

bool Snapshot::is_lost(const void* completion) const noexcept {
    return is_whole && target_of(completion) == nullptr && !promised_again.contains(completion) &&
           shared_wait_of(completion) == nullptr;
}

const SharedWait* Snapshot::shared_wait_of(const void* completion) const noexcept {
    const auto found = std::ranges::find(shared_waits, completion, &SharedWait::completion);
    return found != shared_waits.end() ? &*found : nullptr;
}

namespace {
/// Lists the waits for other processes, and the imported arrays and events. Other threads hold the
/// locks of these lists only briefly, because they call no other code with a lock held.
void look_at_processes(Snapshot& to) {
    constexpr int tries = 20;
    bool is_seen = false;
    for (int i = 0; i < tries && !is_seen; ++i) {
        if (i != 0) decision_pause(1'000'000);
        to.shared_waits.clear();
        is_seen = cpu_backend().list_shared_waits(to.shared_waits);
    }
    if (!is_seen) {
        to.unseen.emplace_back("waits for other processes: their lock is held");
        to.is_whole = false;
    }
    if (!list_imports(to.imports)) to.unseen.emplace_back("the list of imports: its lock is held");
    // If a stream of this process must reach the record, that stream is the target of the wait.
    for (const SharedWait& one : to.shared_waits)
        for (std::size_t i = 0; i < to.streams.size() && one.stream_id != 0; ++i)
            if (to.streams[i].record->id.load() == one.stream_id)
                to.promises.try_emplace(one.completion, Promised{i, to.streams[i].look.pending});
}
}  // namespace

namespace {
/// Sets the times of the stream. If the stream's work began after the last sample, sets 0.
void ask(Progress& progress, const Snapshot& picture, StreamFacts& stream) noexcept {
    stream.still_ns = progress.still_ns(stream.key, stream.look.counts.done);
    stream.is_overtaken = progress.is_overtaken(stream.key);
    for (const std::size_t one : stream.runners)
        if (!progress.has_seen_work(picture.threads[one].thread, picture.threads[one].work_serial))
            stream.still_ns = 0;
    StreamCounts now;
    if (stream.runners.empty() && stream.look.at == StreamAt::work &&
        (!stream.record->backend->count_steps(*stream.record, now) ||
         now.done != stream.look.counts.done))
        stream.still_ns = 0;
}
}  // namespace

namespace {
bool is_same(const StreamLook& a, const StreamLook& b) noexcept {
    return a.counts.done == b.counts.done && a.at == b.at && a.awaited == b.awaited &&
           a.type == b.type && a.where.file == b.where.file && a.where.line == b.where.line &&
           a.graph.is_there == b.graph.is_there && a.graph.left == b.graph.left &&
           a.graph.awaited == b.graph.awaited;
}
bool is_as_it_was(const StreamFacts& facts, Looked looked, const StreamLook& now) {
    return looked == facts.looked && facts.record->key.load() == facts.key &&
           is_same(now, facts.look);
}

/// A stream that advances too fast to be read as a whole. `pushed` is the number of steps that had
/// been enqueued on it by the second look.
struct Moving {
    StreamRecord* stream;
    std::uint64_t key, pushed;
};

/// Returns whether all moving streams have done the steps counted at the second look. Then their
/// promised completions have completed, too. Waits briefly until this is so.
bool have_passed(std::vector<Moving>& moving, Snapshot& to) {
    constexpr int tries = 50;
    constexpr std::int64_t pause = 100'000;
    for (int i = 0; i < tries && !moving.empty(); ++i) {
        if (i != 0) decision_pause(pause);
        std::erase_if(moving, [&](const Moving& one) {
            StreamLook look;
            const Looked looked = one.stream->backend->look(*one.stream, look);
            if (one.stream->key.load() != one.key || !look.is_whole) return false;
            // A step that was pushed after the second look is done. So all signals before that step
            // have completed.
            if (looked == Looked::moved) return look.counts.done > one.pushed;
            for (const StreamLook::Promise& promise : look.promises)
                to.promised_again.insert(promise.completion);
            return looked == Looked::seen;
        });
    }
    return moving.empty();
}

bool has_lost_wait(const Snapshot& to) {
    return std::ranges::any_of(to.streams, [&](const StreamFacts& one) {
        return one.is_steady && one.look.at == StreamAt::wait && to.is_lost(one.look.awaited);
    });
}

/// Looks at all streams a second time. A completion is promised before any stream can wait for it.
/// So each completion that was awaited at the first look is promised or complete at the second.
void look_again_at_streams(Snapshot& to) {
    std::vector<Moving> moving;
    std::unordered_map<const StreamRecord*, StreamFacts*> facts_of;
    for (StreamFacts& one : to.streams) facts_of.emplace(one.record, &one);
    for_each_stream([&](StreamRecord& stream) {
        if (stream.has(stream_flag::forked | stream_flag::ended)) return;
        StreamLook look;
        const std::uint64_t key = stream.key.load();
        const Looked looked = stream.backend->look(stream, look);
        if (const auto found = facts_of.find(&stream); found != facts_of.end()) {
            StreamFacts& facts = *found->second;
            facts.is_steady = is_as_it_was(facts, looked, look);
            if (look_at_recording(stream).id != facts.recording.id) facts.recording = {};
        }
        if (looked == Looked::moved && look.is_whole)
            moving.push_back({&stream, key, look.counts.pushed});
        else if (looked != Looked::seen || !look.is_whole) to.is_whole = false;
        for (const StreamLook::Promise& one : look.promises)
            to.promised_again.insert(one.completion);
    });
    if (!moving.empty() && !(has_lost_wait(to) && have_passed(moving, to))) to.is_whole = false;
    for (StreamFacts& one : to.streams)
        if (one.is_steady && one.look.at == StreamAt::wait && to.is_lost(one.look.awaited)) {
            StreamLook look;
            const Looked looked = one.record->backend->look(*one.record, look);
            one.is_steady = is_as_it_was(one, looked, look);
        }
}

void look_again_at_threads(Snapshot& to) {
    std::unordered_map<int, ThreadActivity::Seen> now;
    for (const ThreadActivity::Seen& one : ThreadActivity::all()) now.emplace(one.thread, one);
    for (const ThreadActivity::Seen& one : to.threads) {
        const auto found = now.find(one.thread);
        to.steady_threads.push_back(found != now.end() &&
                                    found->second.wait_serial == one.wait_serial &&
                                    found->second.work_serial == one.work_serial);
    }
}
}  // namespace

Snapshot take_snapshot(Progress* progress, bool idle) {
    Snapshot made;
    constexpr std::chrono::milliseconds patience{100};
    if (const std::chrono::nanoseconds silent = cuda_backend().ask_progress(patience);
        silent.count() != 0)
        made.unseen.push_back(formatted("streams of GPUs: the driver has not answered for {}",
                                        time_words(silent.count())));
    for_each_stream([&](StreamRecord& stream) {
        if (stream.has(stream_flag::forked | stream_flag::ended)) return;
        look_at(stream, made, idle);
        look_at_failure(stream, made);
    });
    // Threads are read after the streams. So work that a stream was running is still listed, or has
    // ended since the stream was read.
    made.threads = ThreadActivity::all();
    for (const ThreadActivity::Seen& one : made.threads)
        made.waits_ns.push_back(
            progress != nullptr ? progress->waits_ns(one.thread, one.wait_serial) : 0);
    made.workers = cpu_backend().worker_count();
    made.now_ns = decision_ns();
    for (std::size_t i = 0; i < made.streams.size(); ++i) {
        StreamFacts& stream = made.streams[i];
        stream.at = find_entry(stream);
        for (const StreamLook::Promise& one : stream.look.promises)
            made.promises.try_emplace(one.completion, Promised{i, one.after});
        for (std::size_t t = 0; t < made.threads.size(); ++t)
            if (made.threads[t].works() && made.threads[t].work.stream == stream.key)
                stream.runners.push_back(t);
        if (progress != nullptr) ask(*progress, made, stream);
    }
    look_at_processes(made);
    look_again_at_streams(made);
    look_again_at_threads(made);
    return made;
}

}  // namespace heddle::detail
