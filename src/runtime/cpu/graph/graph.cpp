// Instantiated graphs on CPU devices, and their launches.
#include "cpu/graph/graph.hpp"

#include <utility>

#include "core/base/errors.hpp"
#include "core/operation/calls.hpp"
#include "core/stream/recorded_calls.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/device/native_event.hpp"

namespace heddle::detail::cpu {

namespace {

/// While the object exists, marks that all streams of a batch but the first wait for completions
/// that no enqueued operation promises yet.
class SendsBatch {
public:
    explicit SendsBatch(int count) noexcept : count_(count) {
        if (count_ != 0) batches_being_sent.fetch_add(count_);
    }
    ~SendsBatch() {
        if (count_ != 0) batches_being_sent.fetch_sub(count_);
    }
    SendsBatch(const SendsBatch&) = delete;
    SendsBatch& operator=(const SendsBatch&) = delete;

private:
    const int count_;
};

}  // namespace

CpuGraphExec::CpuGraphExec(const GraphData& graph, const SourceLocation&)
    : plan_(make_plan(graph)) {}

void CpuGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    launch(stream, {}, {}, where);
}

void CpuGraphExec::launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                                std::span<PartMark>, const SourceLocation& where) {
    StreamRecord& stream = *parts.front().stream;
    // Enqueues the waits before the launch. If the launch throws, they can be completed
    // immediately.
    const auto others = parts.subspan(1);
    const SendsBatch mark(others.empty() ? 0 : 1);
    try {
        for (StreamPart& one : others)
            if (one.stream != nullptr) one.after = make_completion();
        for (const StreamPart& one : others)
            if (one.stream != nullptr) queue_of(*one.stream).push_wait(one.after, where);
        launch(stream, parts, begins, where);
        for (StreamPart& one : others)
            one.first_submitted = stream.submissions.load(std::memory_order_acquire);
        // The other streams are already waiting. Only since the launch is there a stream that can
        // inherit their priorities.
        for (const StreamPart& one : others)
            if (one.after && one.stream != nullptr) lend_from(*one.stream, *one.after);
    } catch (...) {
        for (StreamPart& one : others)
            if (one.after) std::exchange(one.after, {})->complete();
        throw;
    }
}

void CpuGraphExec::launch(StreamRecord& stream, std::span<StreamPart> parts,
                          std::span<const PartBegin> begins, const SourceLocation& where) {
    if (last_ && !last_->is_done() && last_on_->has(stream_flag::forked))
        coded_error(ErrorCode::forked, {"launch", where, stream.device},
                    "a launch of this graph was pending at fork(), and this process cannot wait "
                    "for it: build another graph after fork()");
    Queue& queue = queue_of(stream);
    CompletionRef done = make_completion(), over = make_completion();
    auto run = std::make_unique<GraphRun>(plan_, stream, queue.level(), done, over);
    run->tell_observers(function_id(), timed_id() != 0);
    run->set_parts(parts, begins);
    run->note_facts();
    run->order_after_caller();
    StartOp op{run.get()};
    CompletionRef last = last_;
    const std::vector<GraphRun::Record> made = run->records();
    std::vector<EventRecord> records;
    records.reserve(made.size());
    for (const GraphRun::Record& one : made) records.emplace_back(one.event, stream);
    const auto push = [&](std::initializer_list<Queue::Entry> entries) {
        while (!queue.push_all_unless_joined(entries))
            if (!make_way(stream, where)) return queue.push_all(entries);
    };
    // Enqueues all entries or none. A launch waits for the previous launch, even if that was on
    // another stream, because a node may rely on not running concurrently with itself. The wait
    // only orders: a failure of the previous launch stays on that launch's stream.
    if (last && (tsan::is_here() || !last->is_done()))
        push({{Step::wait, wait_type, &last, where},
              {Step::work, start_type, &op, where},
              {Step::wait, wait_type, &done, where}});
    else push({{Step::work, start_type, &op, where}, {Step::wait, wait_type, &done, where}});
    (void)run.release();
    const std::uint64_t at = queue.pushed();
    over->promise(stream, at);
    for (const GraphRun::Record& one : made) one.done->promise(stream, at);
    for (const StreamPart& one : parts)
        if (one.after) one.after->promise(stream, at);
    for (std::size_t i = 0; i < made.size(); ++i) records[i].make(made[i].done);
    last_ = std::move(over);
    last_on_ = &stream;
}

bool CpuGraphExec::update(const NodeData& node, const SourceLocation&) {
    // A launch in progress keeps the plan that it was launched with.
    if (plan_->runs.load(std::memory_order_acquire) != 0) plan_ = std::make_shared<Plan>(*plan_);
    else tsan::acquire(plan_->order());
    set_task(*plan_, node);
    return false;
}

std::shared_ptr<GraphExec> CpuBackend::instantiate(const GraphData& graph,
                                                   const SourceLocation& where) {
    for (const auto& node : graph.nodes)
        if (node->device.is_cuda())
            usage_error({"instantiate", where},
                        "{} is on {}, but its graph is on {}: use nodes of one kind of device",
                        label_of(*node), node->device, graph.device);
    return std::make_shared<CpuGraphExec>(graph, where);
}

}  // namespace heddle::detail::cpu
