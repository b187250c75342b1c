// Batches on CUDA devices. Each connected component of the graph has its own outcome in each
// launch. So a failing host function affects only streams whose part belongs to its component.
#include <algorithm>
#include <exception>

#include "core/failure/failure.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/graph/graph.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/stream/event.hpp"

namespace heddle::detail::cu {

namespace {
/// Returns whether the stream has failed, or has work whose failure may become known only after
/// later calls, such as a host function.
bool is_fallible(const StreamRecord& stream) noexcept {
    return stream.has(stream_flag::poisoned | stream_flag::fallible);
}

/// Returns a reference to the work on the part's stream before the graph, if a failure of that work
/// may become known after the launch. Otherwise returns an empty Past (null `outcome`).
StreamPart::Past past_of(std::span<const StreamPart> parts, std::size_t part) {
    StreamRecord* const stream = parts[part].stream;
    if (stream != nullptr && !is_fallible(*stream)) return {};
    if (part != 0) return *parts[part].past;
    return {stream->current_outcome(), stream->submissions.load(std::memory_order_acquire), {}};
}
}  // namespace

/// Returns an outcome for each component. Returns no outcomes if no failure can become known after
/// the launch.
std::vector<std::shared_ptr<WorkOutcome>> CudaGraphExec::outcomes_of(
    std::span<const StreamPart> parts, std::span<const PartBegin> begins) const {
    std::vector<std::shared_ptr<WorkOutcome>> outcomes;
    const bool fails = std::ranges::any_of(parts, [](const StreamPart& one) {
        return (one.stream != nullptr && is_fallible(*one.stream)) || one.past->outcome != nullptr;
    });
    if (native_.hosts.empty() && native_.bounds == nullptr && !fails) return outcomes;
    outcomes.resize(native_.component_count);
    for (auto& outcome : outcomes) outcome = std::make_shared<WorkOutcome>();
    for (const PartBegin& one : begins) {
        const StreamPart::Past past = past_of(parts, one.part);
        if (past.outcome != nullptr)
            outcomes[native_.nodes[one.node].component]->depend_on(past.outcome, past.submissions,
                                                                   0);
    }
    return outcomes;
}

void CudaGraphExec::launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                                 std::span<PartMark> marks, const SourceLocation& where) {
    StreamRecord& origin = *parts.front().stream;
    const std::vector<std::shared_ptr<WorkOutcome>> outcomes = outcomes_of(parts, begins);
    std::vector<StreamPart::Past> pasts(parts.size());
    if (!outcomes.empty())
        for (std::size_t i = 0; i < parts.size(); ++i) pasts[i] = past_of(parts, i);
    if (parts.size() > 1)
        // Creates the event now, because the waits below must not fail.
        (void)cached_event(origin, where);
    launch(origin, outcomes, where);
    // The batch has been launched. Nothing below may throw, because the batch would then be
    // launched again.
    for (std::size_t i = 0; i < parts.size(); ++i) {
        StreamRecord* const stream = parts[i].stream;
        if (stream == nullptr) continue;
        try {
            if (i != 0) {
                const std::uint64_t submitted = origin.submissions.load(std::memory_order_acquire);
                Submission submission(*stream);
                enqueue_wait(*stream, origin, where);
                submission.count();
                parts[i].first_submitted = submitted;
            }
            if (outcomes.empty()) continue;
            for (const std::uint32_t node : parts[i].last_ops)
                stream->depend_on(outcomes[native_.nodes[node].component], outcome_work);
            for (const std::uint32_t one : parts[i].begins)
                if (one != i && pasts[one].outcome != nullptr)
                    stream->depend_on(pasts[one].outcome, pasts[one].submissions);
        } catch (...) {
            // The stream cannot be ordered after the batch, so none of its later work may run.
            stream->poison(as_failure(std::current_exception()),
                           stream->submissions.load(std::memory_order_acquire) + 1);
        }
    }
    if (!outcomes.empty())
        for (PartMark& mark : marks) mark.outcome = outcomes[native_.nodes[mark.node].component];
}

}  // namespace heddle::detail::cu
