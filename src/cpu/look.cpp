// Looks at CPU streams as a debugger does: in copies of their memory, without a lock.
#include <algorithm>
#include <utility>

#include "core/base/peek.hpp"
#include "cpu/backend.hpp"
#include "cpu/graph.hpp"

namespace heddle::detail::cpu {

/// Reads copies of what is private to queues, the executor's lists and runs of graphs.
class QueueLook {
public:
    explicit QueueLook(StreamRecord& stream) noexcept : stream_(stream) {}

    Looked count(StreamCounts& to) noexcept {
        switch (copy_queue()) {
        case Looked::seen: to = counts(); return Looked::seen;
        case Looked::moved: to = {}; return Looked::seen;
        case Looked::refused: break;
        }
        return Looked::refused;
    }

    Looked look(StreamLook& to) {
        const Looked copied = copy_queue();
        if (copied != Looked::seen) return copied;
        to.counts = counts();
        to.next = queue_->worked_ + 1;
        walk(to);
        if (to.at != StreamAt::idle) look_at_run(to);
        to.promises.push_back({queue_->final_.get(), to.pending});
        // A thread that has gone on meanwhile may have overwritten it.
        const StreamCounts before = to.counts;
        return copy_queue() == Looked::seen && counts().done == before.done ? Looked::seen
                                                                            : Looked::moved;
    }

private:
    /// A queue's chunk, piece by piece.
    struct Bytes {
        alignas(16) std::byte all[Chunk::standard];
        const std::byte* from = nullptr;
        std::size_t size = 0;

        /// Returns a copy of `bytes` at this address, or null.
        const std::byte* at(const std::byte* address, std::size_t bytes) noexcept {
            if (from == nullptr || address < from || address + bytes > from + size) {
                from = address;
                size = sizeof all;
                // Less at the end of memory that is mapped.
                while (size >= bytes && !peek(address, all, size)) size /= 2;
                if (size < bytes) return std::exchange(from, nullptr), nullptr;
            }
            return all + (address - from);
        }
    };

    /// Returns `moved` if the stream has no queue any more, or not yet.
    Looked copy_queue() noexcept {
        const void* native = nullptr;
        if (!peek_pointer(reinterpret_cast<const void*>(&stream_.native), native))
            return Looked::refused;
        if (native == nullptr) return Looked::moved;
        if (!queue_.read(native)) return Looked::moved;
        return &queue_->stream_ == &stream_ ? Looked::seen : Looked::moved;
    }
    StreamCounts counts() noexcept {
        return {queue_->pushed_.load(std::memory_order_relaxed),
                queue_->done_.load(std::memory_order_relaxed)};
    }
    static bool is_done(const void* completion) noexcept {
        Peeked<Completion> copy;
        return copy.read(completion) && copy->is_done();
    }

    void set_first(StreamLook& to, Operation& op) {
        const bool is_queued = queue_->queued_;
        to.where = op.where();
        switch (op.step()) {
        case Step::work:
            to.type = &op.type();
            to.at = is_queued ? StreamAt::ready : StreamAt::work;
            return;
        case Step::wait:
            to.awaited = *reinterpret_cast<void* const*>(op.closure());
            to.at = is_queued || is_done(to.awaited) ? StreamAt::ready : StreamAt::wait;
            return;
        default: to.at = is_queued ? StreamAt::ready : StreamAt::work;
        }
    }

    /// Goes to the next chunk, whose address a chunk begins with. Returns whether there is one.
    static bool follow(const Chunk*& chunk) noexcept {
        return peek_pointer(chunk, chunk) && chunk != nullptr;
    }

    /// Goes through the operations, as the draining thread would.
    void walk(StreamLook& to) {
        constexpr std::size_t most = 1 << 16;
        const std::size_t all = to.counts.pushed - to.counts.done;
        const Chunk* chunk = queue_->head_;
        std::size_t offset = queue_->head_offset_;
        Bytes bytes;
        bool has_first = false;
        for (std::size_t seen = 0; seen < all;) {
            if (seen == most) {
                to.is_whole = false;
                return;
            }
            const auto* const data = reinterpret_cast<const std::byte*>(chunk + 1);
            constexpr std::size_t closure = sizeof(std::size_t) + 3 * sizeof(void*);
            const std::byte* const at = bytes.at(data + offset, sizeof(Operation));
            if (at == nullptr) return void(to.is_whole = false);
            auto& op = *reinterpret_cast<Operation*>(const_cast<std::byte*>(at));
            if (op.step() == Step::next_chunk) {
                if (!follow(chunk)) return void(to.is_whole = false);
                offset = 0;
                bytes.from = nullptr;
                continue;
            }
            const bool has_completion =
                op.step() == Step::signal || op.step() == Step::wait || op.step() == Step::recover;
            const std::byte* const body =
                has_completion ? bytes.at(data + offset, sizeof(Operation) + closure) : at;
            if (body == nullptr || op.bytes() == 0) return void(to.is_whole = false);
            auto& whole = *reinterpret_cast<Operation*>(const_cast<std::byte*>(body));
            // What an observer wants of the work behind it is part of that.
            if (!has_first && whole.step() != Step::time) {
                has_first = true;
                set_first(to, whole);
            }
            // All of these begin with the completion, and need no padding.
            if (whole.step() == Step::signal || whole.step() == Step::recover)
                to.promises.push_back(
                    {*reinterpret_cast<void* const*>(whole.closure()), to.pending});
            if (whole.step() == Step::work || whole.step() == Step::wait) ++to.pending;
            offset += whole.bytes();
            ++seen;
        }
    }

    void look_at_run(StreamLook& to) {
        const GraphRun* const address = queue_->run_.load(std::memory_order_relaxed);
        Peeked<GraphRun> run;
        if (address == nullptr || !run.read(address) || &run->stream_ != &stream_) return;
        // Its tasks run within the operation that starts it, and behind that.
        const bool starts = to.type == &start_type;
        if (!starts && run->done_.get() != to.awaited) return;
        to.graph.is_there = true;
        to.graph.left = run->left_.load(std::memory_order_relaxed);
        to.graph.has_shared = run->shared_count_.load(std::memory_order_relaxed) != 0;
        to.promises.push_back({run->done_.get(), 0});
        to.promises.push_back({run->over_.get(), 0});
        look_at_parts(to, *run);
        look_at_events(to, *run);
    }

    /// A batch's other streams wait for their parts.
    static void look_at_parts(StreamLook& to, GraphRun& run) {
        const std::size_t count = std::min<std::size_t>(run.parts_.size(), 256);
        for (std::size_t i = 0; i < count; ++i) {
            Peeked<GraphRun::Part> part;
            if (part.read(run.parts_.data() + i) && part->after)
                to.promises.push_back({part->after.get(), 0});
        }
    }

    static void look_at_events(StreamLook& to, GraphRun& run) {
        Peeked<Plan> plan;
        if (!plan.read(run.plan_.get())) return;
        const std::size_t count =
            std::min<std::size_t>({plan->events.size(), run.records_.size(), 1024});
        for (std::size_t i = 0; i < count; ++i) {
            std::uint32_t index = 0;
            const void* completion = nullptr;
            Peeked<Plan::Task> task;
            if (!peek(plan->events.data() + i, &index, sizeof index) ||
                index >= plan->tasks.size() || !task.read(plan->tasks.data() + index) ||
                !peek_pointer(run.records_.data() + i, completion) || completion == nullptr)
                continue;
            if (task->kind == NodeKind::record_event) {
                to.promises.push_back({completion, 0});
                continue;
            }
            // One arrival is left: the event's. The tasks before it are done.
            Peeked<GraphRun::TaskState> state;
            if (!is_done(completion) && state.read(run.states_.get() + index) &&
                state->waits_for.load(std::memory_order_relaxed) == 1)
                to.graph.awaited.push_back(completion);
        }
    }

    StreamRecord& stream_;
    Peeked<Queue> queue_;
};

bool CpuBackend::count_steps(StreamRecord& stream, StreamCounts& to) noexcept {
    return QueueLook(stream).count(to) == Looked::seen;
}

Looked CpuBackend::look(StreamRecord& stream, StreamLook& to) {
    constexpr int tries = 4;
    Looked looked = Looked::moved;
    for (int i = 0; i < tries && looked == Looked::moved; ++i) {
        to = {};
        looked = QueueLook(stream).look(to);
    }
    return looked;
}

int CpuBackend::worker_count() noexcept {
    Executor* const made = executor_if_made();
    return made != nullptr ? made->workers() : 0;
}

}  // namespace heddle::detail::cpu
