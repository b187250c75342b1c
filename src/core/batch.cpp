// Batches: recorded streams whose tape is launched, with the graphs of earlier times used again.
#include <heddle/batch.hpp>

#include <algorithm>
#include <thread>

#include <heddle/array.hpp>
#include <heddle/observer.hpp>

#include "core/graph.hpp"
#include "core/order.hpp"
#include "core/recording.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace detail {

/// A batch's memory: tapes with the graphs that were made of them.
class BatchRun {
public:
    explicit BatchRun(BatchOptions options)
        : on_cpu(options.on_cpu), remembered_(std::max<std::size_t>(1, options.remembered)) {}

    /// Launches the tape on `origin`, and leaves another tape to record on in its place.
    void launch(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where);
    std::size_t size() const noexcept { return entries_.size(); }
    void clear() noexcept { entries_.clear(); }

    BatchResult last;
    bool open = false;
    bool on_cpu;

private:
    struct Entry {
        std::shared_ptr<Tape> tape;    ///< what the graph runs now
        std::shared_ptr<Tape> before;  ///< and what it ran before the last change
        std::shared_ptr<GraphExec> exec;
    };
    Entry* find(const Tape& tape);
    void update(Entry& entry, std::shared_ptr<Tape>& tape, const SourceLocation& where);
    Entry& instantiate(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where);
    std::shared_ptr<Tape> blank();

    std::size_t remembered_;
    std::vector<Entry> entries_;  ///< newest use last
    std::vector<std::shared_ptr<Tape>> tapes_;
    NodeData scratch_;
};

std::shared_ptr<Tape> BatchRun::blank() {
    for (auto& tape : tapes_)
        if (tape.use_count() == 1) {
            tape->clear();
            return tape;
        }
    return tapes_.emplace_back(std::make_shared<Tape>());
}

BatchRun::Entry* BatchRun::find(const Tape& tape) {
    const auto last_use = [this](auto found) {
        std::rotate(found, found + 1, entries_.end());
        return &entries_.back();
    };
    // The newest are the likeliest.
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->equals(tape)) return last_use(i);
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->has_shape_of(tape)) return last_use(i);
    return nullptr;
}

void BatchRun::update(Entry& entry, std::shared_ptr<Tape>& tape, const SourceLocation& where) {
    for (std::size_t i = 0; i < tape->size(); ++i) {
        if (tape->is_same(i, *entry.tape)) continue;
        fill_node(scratch_, tape, i);
        scratch_.index = i;
        entry.exec->update(scratch_, where);
        ++last.changed;
    }
    scratch_.work.closure = nullptr;
    entry.before = std::exchange(entry.tape, tape);
}

BatchRun::Entry& BatchRun::instantiate(std::shared_ptr<Tape>& tape, StreamRecord& origin,
                                       const SourceLocation& where) {
    const auto graph = graph_of(tape, origin.device, where);
    Entry entry{tape, nullptr, origin.backend->instantiate(*graph, where)};
    if (entries_.size() >= remembered_) entries_.erase(entries_.begin());
    entries_.push_back(std::move(entry));
    return entries_.back();
}

void BatchRun::launch(std::shared_ptr<Tape>& tape, StreamRecord& origin, const SourceLocation& where) {
    using How = BatchResult::How;
    Entry* entry = find(*tape);
    How how = How::replayed;
    const char* why = "the same as an earlier time";
    if (entry != nullptr && !entry->tape->equals(*tape)) {
        // What alternates between two sets of arguments gets a graph for each.
        const bool alternates = entry->before != nullptr && entry->before->equals(*tape) && remembered_ > 1;
        how = How::updated;
        why = "the same operations with other arguments";
        if (alternates) {
            entry = nullptr;
            why = "arguments that alternate get a graph each";
        } else {
            try {
                update(*entry, tape, where);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::unsupported) throw;
                // Part of it may have been changed: that graph is of no use any more.
                entries_.pop_back();
                entry = nullptr;
                why = "an argument could not be changed in the old graph";
            }
        }
    } else if (entry == nullptr) {
        why = entries_.empty() ? "the first time"
                               : "other operations, or in another order, than any remembered time";
    }
    if (entry == nullptr) {
        entry = &instantiate(tape, origin, where);
        how = How::instantiated;
    }
    last.how = how;
    last.why = why;
    last.operations += tape->size();
    ++last.graphs;
    entry->exec->launch(origin, where);
    if (is_observed())
        notify({.kind = OpKind::graph_launch,
                .name = "batch",
                .stream = StreamRef(origin),
                .sequence = origin.submissions.load(std::memory_order_relaxed),
                .bytes = 0,
                .other = {},
                .accesses = {},
                .where = where});
    if (how == How::replayed) tape->clear();
    else tape = blank();
}

namespace {

/// A stream that took part, while the batch is on its way.
struct Member {
    StreamRecord* stream;
    std::uint64_t stream_id;
    std::uint64_t given;
};

/// The lock is held. What it recorded is the caller's now, and its streams are not recorded.
std::vector<Member> take_apart(Recording& r, std::vector<EventState*>& events) {
    // Marks that somebody may still look at become nodes: marks alone would be known to nobody but this recording.
    for (Recording::Mark& mark : r.marks) {
        if (mark.event == nullptr) continue;
        if (mark.op < 0) {
            const std::uint32_t op = r.tape->add(NodeKind::record_event, mark.event->device, mark.tail, {});
            r.tape->set_event(op, mark.event);
        }
        mark.event->recording.store(nullptr, std::memory_order_release);
        mark.event->capture_id = 0;
        events.push_back(mark.event);
    }
    r.marks.clear();
    std::vector<Member> members;
    for (Recording::Lane& lane : r.lanes) {
        StreamRecord* const stream = lane.stream;
        if (stream == nullptr || stream->recording.load(std::memory_order_relaxed) != &r) continue;
        members.push_back({stream, lane.stream_id, lane.given});
        stream->recording.store(nullptr, std::memory_order_release);
        stream->clear(stream_flag::recording);
    }
    return members;
}

void use_on(const Tape& tape, StreamRecord& origin) {
    for (Block* block : tape.all_blocks()) note_use(block, origin);
}

/// What the others are given from now on comes after the graph.
void follow(std::vector<Member>& members, StreamRecord& origin, const SourceLocation& where) {
    for (std::size_t i = 1; i < members.size(); ++i) {
        StreamRecord& stream = *members[i].stream;
        if (stream.id.load() != members[i].stream_id || stream.has(stream_flag::dead)) continue;
        const bool clean = stream.submissions.load(std::memory_order_acquire) == members[i].given;
        order_after_stream(stream, origin, where);
        if (!clean) continue;
        stream.settled_at = members[i].given = stream.submissions.load(std::memory_order_acquire);
        stream.settled_by = origin.id.load(std::memory_order_relaxed);
    }
}

/// The lock is held: those that nothing else was given meanwhile are recorded again.
void put_together(Recording& r, const std::vector<Member>& members) {
    r.lanes.clear();
    for (const Member& member : members) {
        StreamRecord& stream = *member.stream;
        const bool first = r.lanes.empty();
        if (stream.id.load() != member.stream_id || !is_recordable(stream) ||
            (!first && stream.submissions.load(std::memory_order_acquire) != member.given)) {
            if (first) return;  // the first stream is gone or has failed: nothing is recorded any more
            continue;
        }
        Recording::Lane lane;
        lane.stream = &stream;
        lane.stream_id = member.stream_id;
        lane.given = stream.submissions.load(std::memory_order_relaxed);
        stream.lane = r.lanes.size();
        r.lanes.push_back(std::move(lane));
        stream.recording.store(&r, std::memory_order_release);
        stream.set(stream_flag::recording);
    }
}

}  // namespace

void send(Recording& r, bool last, const SourceLocation& where) {
    if (r.sending) {  // by another thread: what this one wants sent is on its way
        const std::uint64_t id = r.id;
        while (r.id == id && r.sending) {
            r.lock.unlock();
            std::this_thread::yield();
            r.lock.lock();
        }
        r.lock.unlock();
        return;
    }
    BatchRun& run = *r.batch;
    std::vector<EventState*> events;
    std::vector<Block*> given_up;
    std::vector<Member> members;
    std::exception_ptr failure;
    try {
        members = take_apart(r, events);
    } catch (...) {
        r.lock.unlock();
        throw;  // out of memory; nothing has been sent
    }
    given_up.swap(r.given_up);
    std::shared_ptr<Tape> tape = std::exchange(r.tape, nullptr);
    r.sending = true;
    r.lock.unlock();
    try {
        if (!members.empty()) {
            StreamRecord& origin = *members.front().stream;
            if (members.size() > 1 || r.lanes.size() > 1) use_on(*tape, origin);
            if (!tape->is_empty()) run.launch(tape, origin, where);
            const std::uint64_t given = origin.submissions.load(std::memory_order_acquire);
            for (EventState* event : events) note_record(*event, origin, given, 0, false);
            follow(members, origin, where);
        }
    } catch (...) {
        failure = std::current_exception();
        tape = nullptr;
    }
    r.lock.lock();
    r.tape = tape != nullptr ? std::move(tape) : std::make_shared<Tape>();
    if (last) r.lanes.clear();
    else put_together(r, members);
    r.sending = false;
    r.lock.unlock();
    for (Block* block : given_up) release(*block);
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace detail

std::string_view name_of(BatchResult::How how) noexcept {
    switch (how) {
    case BatchResult::How::nothing: return "nothing";
    case BatchResult::How::replayed: return "replayed";
    case BatchResult::How::updated: return "updated";
    case BatchResult::How::instantiated: return "instantiated";
    case BatchResult::How::eager: return "eager";
    }
    return "?";
}

Batch::Batch(BatchOptions options) : run_(std::make_unique<detail::BatchRun>(options)) {}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;
BatchResult Batch::last() const noexcept { return run_ != nullptr ? run_->last : BatchResult{}; }
std::size_t Batch::remembered() const noexcept { return run_ != nullptr ? run_->size() : 0; }
void Batch::clear() noexcept {
    if (run_ != nullptr) run_->clear();
}

namespace {
/// Why a stream cannot be recorded; null where it can.
const char* obstacle(detail::StreamRecord& stream, bool on_cpu) {
    using namespace detail;
    if (stream.has(stream_flag::recording))
        return is_captured(stream) ? "the stream is being captured"
                                   : "the stream is in another batch, which takes it";
    if (stream.has(stream_flag::handed_out)) return "others hold the stream's native handle";
    if (stream.has(stream_flag::capturing) && stream.backend->capture_id(stream) != 0)
        return "the stream is being captured";
    if (stream.device.is_cpu() && !on_cpu) return "on CPU devices launches cost less than recording them";
    return nullptr;
}
}  // namespace

ScopedBatch::ScopedBatch(Batch& batch, StreamRef ref, SourceLocation where)
    : run_(batch.run_.get()), where_(where) {
    detail::StreamRecord& stream = detail::record_of(ref.state());
    detail::check_usable(stream, "ScopedBatch", where);
    if (run_ == nullptr || run_->open)
        throw_error({.code = ErrorCode::usage,
                     .message = run_ == nullptr
                                    ? "this Batch was moved from"
                                    : "this Batch is in use by another ScopedBatch: give every scope its own",
                     .call = "ScopedBatch",
                     .where = where});
    run_->last = {};
    if (const char* why = obstacle(stream, run_->on_cpu)) {
        run_->last.how = BatchResult::How::eager;
        run_->last.why = why;
    } else {
        recording_ = &detail::begin_recording(stream, run_, CaptureMode::thread_local_, where);
    }
    run_->open = true;
}

void ScopedBatch::send(SourceLocation where) {
    if (recording_ == nullptr) return;
    recording_->lock.lock();
    detail::send(*recording_, false, where);
}

void ScopedBatch::end(SourceLocation where) {
    if (run_ == nullptr) return;
    detail::Recording* const recording = std::exchange(recording_, nullptr);
    std::exchange(run_, nullptr)->open = false;
    if (recording == nullptr) return;
    try {
        recording->lock.lock();
        detail::send(*recording, true, where);
    } catch (...) {
        detail::end_recording(*recording);
        throw;
    }
    detail::end_recording(*recording);
}

ScopedBatch::~ScopedBatch() {
    try {
        end(where_);
    } catch (...) {
        detail::report(std::current_exception());
    }
}

}  // namespace heddle
