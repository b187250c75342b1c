// The common part of captures and batches: the participants and the lock.
#include "core/stream/recorded_calls.hpp"

#include <algorithm>

#include "core/base/fork.hpp"
#include "core/graph/node.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/activity.hpp"
#include "core/recording/recorder.hpp"
#include <heddle/device/peer_access.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle::detail {

namespace {
std::atomic<std::uint64_t> next_recording{std::uint64_t{1}
                                          << 63};  // CUDA's capture ids count from 1
}  // namespace

// Participants ------------------------------------------------------------------------------------

void merge(std::vector<std::uint32_t>& last_ops, const std::vector<std::uint32_t>& more) {
    for (const std::uint32_t one : more)
        if (std::ranges::find(last_ops, one) == last_ops.end()) last_ops.push_back(one);
    std::ranges::sort(last_ops);
}

std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends) {
    std::vector<std::size_t> first(tape.size() + 1, 0);
    for (std::size_t i = 0; i < tape.size(); ++i) first[i + 1] = first[i] + tape.op(i).dependencies;
    std::vector<bool> reached(tape.size(), false);
    for (const std::uint32_t end : ends) reached[end] = true;
    for (std::size_t i = tape.size(); i-- > 0;) {
        if (!reached[i]) continue;
        for (std::size_t d = first[i]; d < first[i + 1]; ++d)
            reached[tape.all_dependencies()[d]] = true;
    }
    return reached;
}

Recorder::Mark* Recorder::mark_of(const EventState& event) noexcept {
    const auto found =
        std::ranges::find_if(marks, [&](const Mark& mark) { return mark.event == &event; });
    return found == marks.end() ? nullptr : &*found;
}

void Recorder::collect_external(Participant& one, const SourceLocation& where) {
    if (one.stream == nullptr) return;
    for (ForeignCapture* const capture : {one.lent.get(), one.held.get()}) {
        std::shared_ptr<void> graph = capture != nullptr ? capture->take_work(where) : nullptr;
        if (graph == nullptr) continue;
        auto node = std::make_shared<NodeData>();
        node->foreign = std::move(graph);
        add(*one.stream, NodeKind::other, where, [&](std::uint32_t) {
            std::vector<MemoryArgument> memory;
            for (const LentMemory& lent : one.lent_memory) {
                if (lent.memory.block != nullptr)
                    use(*one.stream, *lent.memory.block, lent.memory.writes);
                if (lent.memory.data != nullptr) memory.push_back(lent.memory);
            }
            // Work on the stream's own handle may use other memory, too.
            if (is_observed() && !memory.empty() && capture == one.lent.get())
                tape->set_accesses(memory);
            tape->set_node(std::move(node));
        });
        one.own = -1;
        one.has_native_work = true;
    }
    ++one.collections;
}

bool Recorder::attach(StreamRecord& stream, Point at, Recorder* outer,
                      const SourceLocation& where) {
    Participant one;
    one.stream = &stream;
    one.stream_id = stream.id.load();
    one.at = std::move(at);
    if (is_capture()) one.name = stream.display_name();
    if (outer != nullptr) {
        one.outer = outer;
        one.outer_id = outer->id.load();
        one.outer_participant = stream.participant;
    }
    participants.push_back(std::move(one));
    Recorder* expected = outer;
    if (!stream.recorder.compare_exchange_strong(expected, this, std::memory_order_acq_rel)) {
        participants.pop_back();
        return false;
    }
    stream.participant = participants.size() - 1;
    if (outer == nullptr) stream.outermost.store(this, std::memory_order_release);
    stream.set(flags());
    if (!is_capture() && stream.participant != 0) {
        // Sequentially consistent, as in Submission and open_loan(): of two threads, at least one
        // sees the flag that the other has set.
        const std::uint32_t before = stream.flags.fetch_or(stream_flag::joined);
        const bool is_lent = (before & stream_flag::lending) != 0;
        if (is_lent || !stream.backend->finish_enqueues(stream)) {
            detach(participants.back());
            participants.pop_back();
            return false;
        }
    }
    participants.back().submitted = stream.submissions.load();
    if (!is_capture() || !stream.has(stream_flag::unseen)) return true;
    try {
        participants.back().held =
            stream.backend->capture_foreign(stream, true, capture_mode(), where);
    } catch (...) {
        detach(participants.back());
        participants.pop_back();
        throw;
    }
    return true;
}

void Recorder::detach(Participant& one) noexcept {
    one.held.reset();
    one.lent.reset();
    StreamRecord* const stream = std::exchange(one.stream, nullptr);
    if (stream == nullptr || stream->recorder.load(std::memory_order_relaxed) != this) return;
    if (one.outer != nullptr) {
        const std::lock_guard around(one.outer->lock);
        if (one.outer->id == one.outer_id &&
            one.outer_participant < one.outer->participants.size() &&
            one.outer->participants[one.outer_participant].stream == stream) {
            stream->participant = one.outer_participant;
            if (!one.outer->is_capture()) stream->clear(stream_flag::captured);
            stream->recorder.store(one.outer, std::memory_order_release);
            return;
        }
    }
    // Clears the flags first: once `recorder` is null, another recorder may attach the stream.
    stream->clear(stream_flag::recording | stream_flag::captured | stream_flag::joined);
    stream->outermost.store(nullptr, std::memory_order_release);
    stream->recorder.store(nullptr, std::memory_order_release);
}

void Recorder::begin(StreamRecord& stream, const SourceLocation& where) {
    const std::lock_guard guard(lock);
    if (!tape) tape = new_tape();
    device = stream.device;
    began_at = where;
    if (has_watch()) ThreadActivity::number_mine();
    owner = std::this_thread::get_id();
    owner_number.store(this_thread_number(), std::memory_order_relaxed);
    begins.clear();
    marks.clear();
    process.store(forks(), std::memory_order_relaxed);
    id = next_recording.fetch_add(1);
    try {
        for (;;) {
            Recorded around(stream);
            if (around) around->flush(where);
            // In a batch, the first stream's recorded work follows its earlier work.
            Point first;
            if (!is_capture()) first.begins.assign(1, 0);
            if (attach(stream, std::move(first), around ? &*around : nullptr, where)) return;
        }
    } catch (...) {
        id = 0;
        throw;
    }
}

void Recorder::end() noexcept {
    for (Participant& one : participants) detach(one);
    ended_participants_ = std::exchange(participants, {});
    begins.clear();
    for (Mark& mark : marks) {
        if (mark.event != nullptr) mark.event->recorder.store(nullptr, std::memory_order_release);
    }
    marks.clear();
    id = 0;
    ended_tape_ = std::move(tape);
}

// The lock ----------------------------------------------------------------------------------------

Recorded::Recorded(StreamRecord& stream) noexcept {
    Recorder* r = stream.recorder.load(std::memory_order_acquire);
    while (r != nullptr) {
        r->lock.lock();
        Recorder* const now = stream.recorder.load(std::memory_order_acquire);
        if (now == r) {
            recorder_ = r;
            return;
        }
        r->lock.unlock();
        r = now;
    }
}

Recorded::Recorded(EventState& event) noexcept {
    Recorder* const r = event.recorder.load(std::memory_order_acquire);
    // In a forked child, nothing will release a lock that a thread of the parent held.
    if (r == nullptr || r->process.load(std::memory_order_relaxed) != forks()) return;
    r->lock.lock();
    if (event.recorder.load(std::memory_order_acquire) == r && r->mark_of(event) != nullptr)
        recorder_ = r;
    else r->lock.unlock();
}

void Recorder::release_with_garbage() noexcept {
    const Garbage dropped = std::move(garbage);
    const TapeOwner old = std::move(ended_tape_);
    const std::vector<Participant> left = std::exchange(ended_participants_, {});
    lock.unlock();
}

Recorder::Garbage::~Garbage() {
    while (blocks != nullptr) free_block(*std::exchange(blocks, blocks->next_kept), sent);
}

std::uint64_t recorder_id(StreamRecord& stream) noexcept {
    const Recorder* r = stream.recorder.load(std::memory_order_acquire);
    return r != nullptr ? r->id.load() : 0;
}

bool is_captured_here(StreamRecord& stream) noexcept {
    if (!is_captured(stream)) return false;
    const Recorded r(stream);
    return r && r->is_capture() && r->is_mine();
}

bool is_recorded_here(StreamRecord& stream) noexcept {
    const Recorded r(stream);
    if (!r) return false;
    const Recorder* const around = stream.outermost.load(std::memory_order_acquire);
    return r->is_mine() || (around != nullptr && around->is_mine());
}

bool is_recordable(StreamRecord& stream) noexcept { return !stream.has(not_recordable); }

}  // namespace heddle::detail
