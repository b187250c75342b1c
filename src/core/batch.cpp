// Batches: recorded streams whose tape is launched, with the graphs of earlier times used again.
#include <heddle/batch.hpp>

#include <algorithm>

#include <heddle/observer.hpp>

#include "core/batch.hpp"
#include "core/order.hpp"
#include "core/recording.hpp"
#include "core/registry.hpp"

namespace heddle {

namespace detail {

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
