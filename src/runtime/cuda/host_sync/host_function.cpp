// Host functions on CUDA streams.
#include "cuda/host_sync/host_function.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/report.hpp"
#include "core/failure/bad_index.hpp"
#include "core/failure/failure.hpp"
#include "core/failure/told.hpp"
#include "core/stream/notify.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/device/user_object.hpp"

namespace heddle::detail::cu {

namespace {

/// A host function enqueued on a stream. Its closure follows it in the same allocation.
struct HostNode {
    StreamRecord* stream;
    const OpType* type;
    std::size_t count;
    std::uint64_t at;  ///< the function's submission number
    SourceLocation where;
    bool in_graph;  ///< whether a graph owns the node and may run it several times
    void* closure;
    std::uint64_t id;            ///< OpInfo::id if observers request its times; else 0
    std::atomic<int> owners{1};  ///< the stream and the LossWatch, if any
    /// Whether the function has been called. Used for functions that are called even if the device
    /// is lost.
    std::atomic<bool> is_called{false};

    static std::size_t offset(const OpType& t) noexcept {
        const std::size_t align = std::max<std::size_t>(t.align, 1);
        return (sizeof(HostNode) + align - 1) / align * align;
    }
    static std::align_val_t alignment(const OpType& t) noexcept {
        return std::align_val_t(std::max<std::size_t>(t.align, alignof(HostNode)));
    }
};

HostNode* make_node(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                    const SourceLocation& where) {
    void* memory = ::operator new(HostNode::offset(type) + type.size, HostNode::alignment(type));
    void* closure = static_cast<char*>(memory) + HostNode::offset(type);
    try {
        if (type.move != nullptr) type.move(self, closure);
        else std::memcpy(closure, self, type.size);
    } catch (...) {
        ::operator delete(memory, HostNode::alignment(type));
        throw;
    }
    const std::uint64_t at = stream.submissions.load(std::memory_order_acquire) + 1;
    return ::new (memory)
        HostNode{&stream, &type, count, at, where, false, closure, function_id(), {1}, {false}};
}

void destroy_node(HostNode* node) noexcept {
    if (node->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const OpType& type = *node->type;
    if (type.destroy != nullptr) type.destroy(node->closure);
    ::operator delete(node, HostNode::alignment(type));
}

/// Calls the closure. After a failure of earlier work, calls only on_completion() functions and
/// cleanups. An exception poisons the stream, or the outcome if there is one. `node` is the name of
/// a graph's node, or null.
void call(const FailureTarget& target, const OpType& type, void* closure, std::size_t count,
          const SourceLocation& where, const std::string* node) noexcept {
    StreamRecord& stream = target.stream;
    try {
        // Looks only for failures of earlier work, because a known failure of the stream may belong
        // to later work.
        const Failure before = target.outcome != nullptr
                                   ? target.outcome->failure_up_to(outcome_work)
                                   : failure_until(stream, target.at);
        if (type.complete != nullptr)
            run_with_checks([&] {
                type.complete(closure, before != nullptr ? told(before, &stream) : nullptr);
            });
        else if (before == nullptr || type.is_cleanup)
            run_with_checks([&] { type.run(closure, 0, count); });
    } catch (...) {
        notify_failed();
        const Failure why = failure_of_throw(stream, type, where, std::current_exception(), node);
        if (target.outcome != nullptr) target.outcome->fail(why, outcome_work);
        else stream.poison(why, target.at);
    }
}

/// Runs a node on a driver thread.
void run_node(void* data) {
    HostNode* node = static_cast<HostNode*>(data);
    InHostFunction marked;  // makes waits throw
    // No CUDA call is allowed here, so destructors defer their releases.
    InCallback in;
    {
        const HostFunctionRun run(node->in_graph ? 0 : node->id, *node->stream, *node->type,
                                  node->where);
        if (node->type->complete == nullptr || node->in_graph || !node->is_called.exchange(true))
            call({*node->stream, node->at}, *node->type, node->closure, node->count, node->where,
                 nullptr);
    }
    if (!node->in_graph) destroy_node(node);
}

/// Calls an on_completion() function if the device is lost, because the driver does not call it
/// then.
struct LossWatch : Waiter {
    HostNode* node;
    Gpu* gpu;  // stored here, because the stream's record may have been reused
};
void watch_for_loss(StreamRecord& stream, HostNode* node) {
    auto watch = std::make_unique<LossWatch>();
    watch->node = node;
    watch->gpu = &gpu_of(stream);
    watch->wake = [](Waiter& self, const Completion&) noexcept {
        const std::unique_ptr<LossWatch> own(static_cast<LossWatch*>(&self));
        HostNode* const watched = own->node;
        Gpu& g = *own->gpu;
        if (g.lost.load(std::memory_order_acquire) && !watched->is_called.exchange(true)) {
            InHostFunction marked;
            InCallback in;
            Failure failure;
            {
                const std::lock_guard lock(g.lost_mutex);
                failure = g.failure;
            }
            try {
                watched->type->complete(watched->closure, told(failure));
            } catch (...) {
                // An exception would only poison a stream whose device is lost anyway.
            }
        }
        destroy_node(watched);
    };
    CompletionRef done = make_completion();
    (void)done->add(*watch.release());  // cannot fail: not completed yet
    stream.backend->signal_use({&stream, stream.id.load(std::memory_order_relaxed)},
                               std::move(done));
}

/// Owns one reference to a HostNode.
struct NodeOwner {
    HostNode* node;
    explicit NodeOwner(HostNode* owned) noexcept : node(owned) {}
    ~NodeOwner() {
        if (node != nullptr) destroy_node(node);
    }
    NodeOwner(NodeOwner&& other) noexcept : node(std::exchange(other.node, nullptr)) {}
    NodeOwner& operator=(NodeOwner&&) = delete;
};

/// Transfers the node to the graph that is being captured. The graph keeps the node as long as the
/// node may run.
void give_to_captured(StreamRecord& stream, NodeOwner owner, const SourceLocation& where) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = nullptr;
    check(api.cuStreamGetCaptureInfo(native_of(stream), &status, nullptr, &graph, nullptr, nullptr,
                                     nullptr),
          "cuStreamGetCaptureInfo", stream, where);
    if (graph == nullptr) throw_invalid_capture(stream, "launch_host", where);
    give_to_graph(graph, std::make_unique<NodeOwner>(std::move(owner)), stream.device.index(),
                  where);
}

}  // namespace

void CudaBackend::enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                          const SourceLocation& where) {
    NodeOwner owner(make_node(stream, type, self, count, where));
    HostNode* const node = owner.node;
    node->in_graph = capture_of(stream) != 0;
    const bool in_any_case = type.complete != nullptr && !node->in_graph;
    if (in_any_case) node->owners.store(2, std::memory_order_relaxed);
    // Set before the launch, so that streams which wait for this one treat it as fallible.
    stream.set(stream_flag::fallible);
    if (node->in_graph) give_to_captured(stream, std::move(owner), where);
    Submission submission(stream, where);
    CUresult code;
    {
        OnStream on(gpu_of(stream), stream.native);
        code = api.cuLaunchHostFunc(native_of(stream), &run_node, node);
    }
    if (code != CUDA_SUCCESS && in_any_case) node->owners.store(1, std::memory_order_relaxed);
    check(code, "cuLaunchHostFunc", stream, where);
    owner.node = nullptr;  // the stream owns the node now, and may already have run it
    submission.count();
    if (!in_any_case) return;
    try {
        watch_for_loss(stream, node);
    } catch (...) {
        report(std::current_exception());  // if the device is lost, the function is not called
    }
}

void run_in_graph(const FailureTarget& target, const OpType& type, void* closure, std::size_t count,
                  const SourceLocation& where, const std::string* node) noexcept {
    InHostFunction marked;
    InCallback in;
    call(target, type, closure, count, where, node);
}

void run_on_host(Gpu& g, StreamRecord& stream, std::function<void()> function,
                 const SourceLocation& where) {
    auto owned = std::make_unique<std::function<void()>>(std::move(function));
    const auto run = [](void* data) {
        InHostFunction marked;
        InCallback in;
        std::unique_ptr<std::function<void()>> f(static_cast<std::function<void()>*>(data));
        try {
            (*f)();
        } catch (...) {
            report(std::current_exception());
        }
    };
    OnStream on(g, stream.native);
    check(api.cuLaunchHostFunc(native_of(stream), run, owned.get()), "cuLaunchHostFunc", stream,
          where);
    owned.release();
}

}  // namespace heddle::detail::cu
