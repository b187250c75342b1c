// Batches: the recorded tape is launched as a graph, if possible one that an earlier run has made.
#include <heddle/recording/batch.hpp>

#include <algorithm>

#include <heddle/observe/observer.hpp>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/graph/shape.hpp"
#include "core/observe/function_mark.hpp"
#include "core/recording/batch.hpp"
#include "core/recording/batch_recorder.hpp"
#include "core/stream/order.hpp"

namespace heddle {

namespace detail {

BatchRun::Entry* BatchRun::find(const Tape& tape) {
    const auto last_use = [this](auto found) {
        std::rotate(found, found + 1, entries_.end());
        return &entries_.back();
    };
    // Most recently used first: the likeliest match.
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->equals(tape)) return last_use(i);
    for (auto i = entries_.end(); i != entries_.begin();)
        if ((--i)->tape->has_shape_of(tape)) return last_use(i);
    return nullptr;
}

void BatchRun::update(Entry& entry, const std::shared_ptr<Tape>& tape,
                      const SourceLocation& where) {
    for (std::size_t i = 0; i < tape->size(); ++i) {
        if (tape->is_same(i, *entry.tape)) continue;
        fill_node(scratch_, tape, i);
        scratch_.index = i;
        (void)entry.exec->update(scratch_, where);
        ++last.changed;
    }
}

void BatchRun::drop(std::size_t index, std::vector<std::shared_ptr<void>>& garbage) noexcept {
    Entry& entry = entries_[index];
    garbage.push_back(std::move(entry.exec));
    garbage.push_back(std::move(entry.tape));
    garbage.push_back(std::move(entry.before));
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
}

void BatchRun::launch(std::shared_ptr<Tape>& tape, StreamRecord& origin,
                      const SourceLocation& where, std::vector<std::shared_ptr<void>>& garbage) {
    using How = BatchResult::How;
    const CallMark mark("batch", where);
    std::shared_ptr<Tape> fresh = new_tape();
    Entry* entry = find(*tape);
    How how = How::replayed;
    const char* why = "the same as an earlier time";
    if (entry != nullptr && !entry->tape->equals(*tape)) {
        // If the arguments alternate between two sets, each set gets a graph.
        const bool alternates =
            entry->before != nullptr && entry->before->equals(*tape) && remembered_ > 1;
        how = How::updated;
        why = "the same operations with other arguments";
        if (alternates) {
            entry = nullptr;
            why = "arguments that alternate get a graph each";
        } else {
            // A failed update may have changed a part of the graph, which is then dropped.
            const std::size_t changed = last.changed;
            try {
                update(*entry, tape, where);
                scratch_.work.closure = nullptr;
                garbage.push_back(std::move(entry->before));
                entry->before = std::exchange(entry->tape, tape);
            } catch (const Error& error) {
                scratch_.work.closure = nullptr;
                last.changed = changed;
                drop(entries_.size() - 1, garbage);
                if (error.code() != ErrorCode::unsupported) throw;
                entry = nullptr;
                why = "an argument could not be changed in the old graph";
            } catch (...) {
                scratch_.work.closure = nullptr;
                last.changed = changed;
                drop(entries_.size() - 1, garbage);
                throw;
            }
        }
    } else if (entry == nullptr) {
        why = entries_.empty() ? "the first time"
                               : "other operations, or in another order, than any remembered time";
    }
    if (entry == nullptr) {
        const auto graph = graph_of(tape, origin.device, where);
        Entry made{tape, nullptr, origin.backend->instantiate(*graph, where), nullptr};
        entries_.reserve(entries_.size() + 1);
        if (entries_.size() >= remembered_) drop(0, garbage);
        entry = &entries_.emplace_back(std::move(made));
        how = How::instantiated;
    }
    const FunctionMark functions;
    entry->exec->launch(origin, where);
    last.how = how;
    last.why = why;
    last.operations += tape->size();
    ++last.graphs;
    // A replayed tape is plain bytes: clearing it calls no destructor of a user's closure.
    if (how == How::replayed) tape->clear();
    else garbage.push_back(std::exchange(tape, std::move(fresh)));
    if (is_observed()) notify(*entry, origin, where);
}

void BatchRun::notify(Entry& entry, StreamRecord& origin, const SourceLocation& where) noexcept {
    try {
        if (entry.shape == nullptr)
            entry.shape =
                std::make_shared<const ShapeData>(*graph_of(entry.tape, origin.device, where));
    } catch (...) {
        // Observers then do not learn of the nodes.
    }
    notify_on(origin, {.kind = OpKind::graph_launch,
                       .name = "batch",
                       .recording = recorder != nullptr ? recorder->id.load() : 0,
                       .shape = entry.shape != nullptr ? &entry.shape->shape() : nullptr,
                       .where = where});
}

}  // namespace detail

const char* to_string(BatchResult::How how) noexcept {
    switch (how) {
    case BatchResult::How::nothing: return "nothing";
    case BatchResult::How::replayed: return "replayed";
    case BatchResult::How::updated: return "updated";
    case BatchResult::How::instantiated: return "instantiated";
    case BatchResult::How::eager: return "eager";
    }
    return "?";
}

Batch::Batch(BatchOptions options) try : run_(std::make_unique<detail::BatchRun>(options)) {
} catch (...) {
    detail::rethrow_as_error("Batch", {});
}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

namespace {
/// Locks the recorder of the scope that uses the batch, if one does: other threads may be sending
/// for it.
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
/// Returns why a stream cannot be recorded, or null if it can.
const char* obstacle(detail::StreamRecord& stream, bool on_cpu) {
    using namespace detail;
    if (stream.has(stream_flag::recording))
        return is_captured(stream) ? "the stream is being captured"
                                   : "the stream is in another batch, which takes it";
    if (stream.has(stream_flag::handed_out)) return "others hold the stream's native handle";
    if (stream.has(stream_flag::capturing) && stream.backend->capture_id(stream) != 0)
        return "the stream is being captured";
    if (stream.device.is_cpu() && !on_cpu)
        return "on CPU devices launches cost less than recording them";
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
            "this Batch is in use by another ScopedBatch: give every scope its own");
    run_->last = {};
    if (const char* why = obstacle(stream, run_->on_cpu)) {
        run_->last.how = BatchResult::How::eager;
        run_->last.why = why;
    } else {
        recorder_ = &detail::BatchRecorder::start(stream, *run_, where);
        run_->recorder = recorder_;
    }
    run_->open = true;
} catch (...) {
    detail::rethrow_as_error("ScopedBatch", where);
}

void ScopedBatch::send(Where where) try {
    if (recorder_ == nullptr) return;
    recorder_->lock.lock();
    const detail::Recorded held(*recorder_);
    recorder_->flush(where);
} catch (...) {
    detail::rethrow_as_error("ScopedBatch::send", where);
}

void ScopedBatch::end(Where where) try {
    if (run_ == nullptr) return;
    detail::BatchRun& run = *std::exchange(run_, nullptr);
    detail::BatchRecorder* const recorder = std::exchange(recorder_, nullptr);
    run.open = false;
    if (recorder == nullptr) return;
    // Resets `recorder` even if finish() throws: no other thread uses the batch any more.
    const std::unique_ptr<detail::BatchRun, void (*)(detail::BatchRun*)> alone(
        &run, [](detail::BatchRun* one) { one->recorder = nullptr; });
    detail::BatchRecorder::finish(*recorder, where);
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
