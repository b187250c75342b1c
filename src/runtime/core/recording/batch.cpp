// Batches: launches the recorded tape as a graph. Reuses a graph of an earlier run if possible.
#include <heddle/recording/batch.hpp>

#include <algorithm>
#include <memory>
#include <utility>

#include <heddle/operation/observer.hpp>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/graph/shape.hpp"
#include "core/operation/function_mark.hpp"
#include "core/recording/batch.hpp"
#include "core/recording/batch_recorder.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

namespace detail {

bool BatchRun::find(const Tape& tape) noexcept {
    const auto last_use = [this](auto found) {
        std::rotate(found, found + 1, entries_.end());
        return true;
    };
    // Tries the most recently used entry first, because it matches most often.
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->equals(tape)) return last_use(i);
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->has_shape_of(tape)) return last_use(i);
    return false;
}

/// Updates the entry's graph to the tape. Returns the number of changed operations. If it throws,
/// the graph may be partly changed.
std::size_t BatchRun::update(Entry& entry, const TapeOwner& tape, const SourceLocation& where) {
    std::size_t changed = 0;
    const std::unique_ptr<NodeData, void (*)(NodeData*)> unused(
        &scratch_, [](NodeData* node) { node->work.closure = nullptr; });
    for (std::size_t i = 0; i < tape->size(); ++i) {
        if (tape->is_same(i, *entry.tape)) continue;
        fill_node(scratch_, tape.shared(), i);
        scratch_.index = i;
        (void)entry.exec->update(scratch_, where);
        ++changed;
    }
    return changed;
}

void BatchRun::Entry::drop(std::vector<std::shared_ptr<void>>& garbage) noexcept {
    garbage.push_back(std::move(exec));
    garbage.push_back(tape.release());
    garbage.push_back(before.release());
}

/// Moves the graph of the newest entry, which has the tape's shape, to `made`, and updates it.
/// Leaves `made` without a graph if a new one has to be made.
void BatchRun::reuse(Entry& made, Way& way, const TapeOwner& tape, const SourceLocation& where,
                     std::vector<std::shared_ptr<void>>& garbage) {
    if (remembered_ > 1 && entries_.back().before && entries_.back().before->equals(*tape)) {
        // If arguments alternate between two sets, each set gets a graph.
        way.why = "the arguments alternate, so each set of arguments has its own graph";
        return;
    }
    made = std::move(entries_.back());
    entries_.pop_back();
    try {
        way = {BatchOutcome::updated,
               "the same operations as in an earlier scope, with other arguments",
               update(made, tape, where)};
    } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
        made.drop(garbage);
        made = {};
        way.why = "an argument could not be changed in the existing graph";
    }
}

void BatchRun::launch(TapeOwner& tape, const Launch& what, std::uint64_t recording,
                      const SourceLocation& where, std::vector<std::shared_ptr<void>>& garbage) {
    const CallMark mark("batch", where);
    StreamRecord& origin = *what.parts.front().stream;
    const std::size_t operations = tape->size();
    const auto note = [&](const Way& way) {
        last.outcome = way.outcome;
        last.why = way.why;
        last.operations += operations;
        last.changed += way.changed;
        ++last.graphs;
        if (is_noted()) tell_launch(entries_.back(), origin, recording, where);
    };
    const bool is_like = find(*tape);
    if (is_like && entries_.back().tape->equals(*tape)) {
        const FunctionMark functions;
        entries_.back().exec->launch_batch(what.parts, what.begins, what.marks, where);
        // Clearing an equal tape calls no destructors: such a tape has only plain bytes, no
        // closures with destructors.
        tape->clear();
        return note({BatchOutcome::replayed,
                     "the same operations and arguments as in an earlier scope", 0});
    }
    // The graph and its tape are stored only after a successful launch, so that they always match.
    TapeOwner fresh = new_tape();
    entries_.reserve(entries_.size() + 1);
    Way way{BatchOutcome::instantiated,
            entries_.empty()
                ? "the first scope that recorded operations"
                : "other operations, or another order of operations, than in all remembered scopes",
            0};
    Entry made;
    try {
        if (is_like) reuse(made, way, tape, where, garbage);
        if (made.exec == nullptr)
            made.exec =
                origin.backend->instantiate(*graph_of(tape.shared(), origin.device, where), where);
        const FunctionMark functions;
        made.exec->launch_batch(what.parts, what.begins, what.marks, where);
        garbage.push_back(made.before.release());
        made.before = std::exchange(made.tape, std::exchange(tape, std::move(fresh)));
        if (entries_.size() >= remembered_ * parts) {
            entries_.front().drop(garbage);
            entries_.erase(entries_.begin());
        }
        entries_.push_back(std::move(made));
        note(way);
    } catch (...) {
        made.drop(garbage);
        throw;
    }
}

void BatchRun::begin_scope(StreamRecord& stream, const SourceLocation& where) {
    if (has_recorded_) [[likely]]
        return;
    elsewhere_.begin(stream);
    stream_ = &stream;
    if (missed_.empty()) missed_at_ = where;
}

void BatchRun::end_scope() noexcept try {
    const bool is_empty = last.graphs == 0;
    has_recorded_ |= !is_empty;
    std::string other = elsewhere_.find();
    elsewhere_.end();
    if (!is_empty) return;
    last.why = "nothing was enqueued on the batch's stream, or on streams that wait for it";
    if (has_recorded_) return;
    ++scopes_;
    if (other.empty()) return;
    last.outcome = BatchOutcome::eager;
    last.why = "all work was enqueued on streams that had not waited for the batch's stream, so it "
               "ran directly";
    if (missed_.empty()) missed_by_ = stream_->display_name();
    missed_ = std::move(other);
} catch (...) {
    // If memory is exhausted, the report is omitted.
}

void BatchRun::report_useless() noexcept try {
    if (has_recorded_ || missed_.empty()) return;
    usage_error(
        {"Batch", missed_at_},
        "this batch has recorded nothing ({} of its scopes were empty), because work was enqueued "
        "directly on '{}', which is not part of the batch: enqueue the work without a stream or on "
        "'{}', or first make '{}' wait for '{}' by wait_stream(), inside the scope",
        scopes_, missed_, missed_by_, missed_, missed_by_);
} catch (...) {
    if (!is_want_of_memory()) report(std::current_exception());
}

void BatchRun::tell_launch(Entry& entry, StreamRecord& origin, std::uint64_t recording,
                           const SourceLocation& where) noexcept {
    const Operation launch{OpKind::graph_launch, "batch", "batch", where};
    tell(origin, launch, false, [&](OpInfo& op, auto&& tell) {
        try {
            if (entry.shape == nullptr)
                entry.shape = std::make_shared<const ShapeData>(
                    *graph_of(entry.tape.shared(), origin.device, where));
        } catch (...) {
            // If memory is exhausted, observers receive no nodes.
        }
        op.recording = recording;
        op.shape = entry.shape != nullptr ? &entry.shape->shape() : nullptr;
        tell();
    });
}

}  // namespace detail

const char* to_string(BatchOutcome outcome) noexcept {
    switch (outcome) {
    case BatchOutcome::nothing: return "nothing";
    case BatchOutcome::replayed: return "replayed";
    case BatchOutcome::updated: return "updated";
    case BatchOutcome::instantiated: return "instantiated";
    case BatchOutcome::eager: return "eager";
    }
    return "?";
}

namespace {
void delete_run(detail::BatchRun* run) noexcept {
    if (run != nullptr) run->report_useless();
    delete run;
}
}  // namespace

Batch::Batch(BatchOptions options) try : run_(new detail::BatchRun(options)) {
} catch (...) {
    detail::rethrow_as_error("Batch", {});
}
Batch::Batch(Batch&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
Batch& Batch::operator=(Batch&& other) noexcept {
    std::swap(run_, other.run_);
    if (this != &other) delete_run(std::exchange(other.run_, nullptr));
    return *this;
}
Batch::~Batch() { delete_run(run_); }

namespace {
/// Locks the recorder of the scope that uses the batch, if there is one. Other threads may be
/// flushing it.
std::unique_lock<detail::RecorderLock> guard(const detail::BatchRun& run) noexcept {
    return run.recorder != nullptr ? std::unique_lock(run.recorder->lock)
                                   : std::unique_lock<detail::RecorderLock>();
}
}  // namespace

BatchResult Batch::last() const noexcept {
    if (run_ == nullptr) return {};
    const auto held = guard(*run_);
    return run_->last;
}
std::size_t Batch::remembered() const noexcept {
    if (run_ == nullptr) return 0;
    const auto held = guard(*run_);
    return run_->size();
}
void Batch::clear() noexcept {
    if (run_ == nullptr) return;
    const auto held = guard(*run_);
    run_->clear();
}

namespace {
/// Returns why the stream cannot be recorded. Returns null if it can.
const char* obstacle(detail::StreamRecord& stream, bool on_cpu) {
    using namespace detail;
    if (stream.has(stream_flag::recording))
        return is_captured(stream) ? "the stream is being captured"
                                   : "the stream is in another batch, which records it";
    if (stream.has(stream_flag::unseen))
        return "code outside heddle has the stream's native handle";
    if (stream.has(stream_flag::capturing) && stream.backend->capture_id(stream) != 0)
        return "the stream is being captured";
    if (stream.device.is_cpu() && !on_cpu)
        return "on CPU devices, a launch costs less than recording it";
    return nullptr;
}
}  // namespace

ScopedBatch::ScopedBatch(Batch& batch, StreamRef ref, Where where) try
    : run_(detail::Access::run(batch)), where_(where) {
    detail::StreamRecord& stream = detail::record_of(ref);
    detail::check_usable(stream, "ScopedBatch", where);
    if (run_ == nullptr) detail::throw_moved_from({"ScopedBatch", where}, "Batch");
    if (run_->open)
        detail::usage_error(
            {"ScopedBatch", where},
            "this Batch is in use by another ScopedBatch: use a separate Batch for each scope");
    run_->last = {};
    if (const char* why = obstacle(stream, run_->on_cpu)) {
        run_->last.outcome = BatchOutcome::eager;
        run_->last.why = why;
    } else {
        run_->begin_scope(stream, where);
        recorder_ = &detail::BatchRecorder::start(stream, *run_, where);
        run_->recorder = recorder_;
    }
    run_->open = true;
} catch (...) {
    detail::rethrow_as_error("ScopedBatch", where);
}

void ScopedBatch::flush(Where where) try {
    if (recorder_ == nullptr) return;
    recorder_->lock.lock();
    const detail::Recorded held(*recorder_);
    recorder_->flush(where);
} catch (...) {
    detail::rethrow_as_error("ScopedBatch::flush", where);
}

void ScopedBatch::end(Where where) try {
    if (run_ == nullptr) return;
    detail::BatchRun& run = *std::exchange(run_, nullptr);
    detail::BatchRecorder* const recorder = std::exchange(recorder_, nullptr);
    run.open = false;
    if (recorder == nullptr) return;
    // Resets `recorder` at the end, even if finish() throws. After finish(), no other thread uses
    // the batch.
    const std::unique_ptr<detail::BatchRun, void (*)(detail::BatchRun*)> alone(
        &run, [](detail::BatchRun* one) { one->recorder = nullptr; });
    detail::BatchRecorder::finish(*recorder, where);
    run.end_scope();
} catch (...) {
    detail::rethrow_as_error("ScopedBatch::end", where);
}

ScopedBatch::~ScopedBatch() {
    try {
        end(where_);
    } catch (...) {
        detail::report(std::current_exception());
    }
}

}  // namespace heddle
