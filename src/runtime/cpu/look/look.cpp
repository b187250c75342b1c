#include "cpu/look/look.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cpu/device/backend.hpp"
#include "cpu/device/shared_event.hpp"
#include "cpu/graph/graph.hpp"

// offsetof is standard only for standard-layout types, but compilers support it for all.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace heddle::detail::cpu {

// A CompletionRef is represented as an address, and an atomic word as a word.
static_assert(sizeof(CompletionRef) == sizeof(void*));
static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));
static_assert(sizeof(std::atomic<const StreamRun*>) == sizeof(const StreamRun*));
static_assert(sizeof(Chunk) == sizeof(Chunk*) + sizeof(std::size_t));
// The closure of an operation that completes a Completion begins with the CompletionRef, without
// padding.
static_assert(alignof(CompletionRef) <= sizeof(void*) && alignof(Signal) <= sizeof(void*) &&
              alignof(Recovery) <= sizeof(void*));
static_assert(offsetof(Signal, done) == 0 && offsetof(Recovery, done) == 0);

/// Reads copies of the private state of queues and graph runs.
class QueueLook {
public:
    QueueLook(StreamRecord& stream, PeekFunction read) noexcept : stream_(stream), read_(read) {}

    Looked count(StreamCounts& to) noexcept {
        const Looked looked = copy(words_);
        to = words_.counts;
        return looked;
    }

    /// Returns whether the stream has launched a graph.
    bool has_run() const noexcept { return words_.run != nullptr; }

    Looked look(StreamLook& to) {
        const Looked copied = copy(words_);
        to.counts = words_.counts;
        if (copied != Looked::seen) return copied;
        // The first copy may be torn. If both copies have the same position, the members after the
        // position are consistent with it in the first copy, and the members before it in the
        // second.
        Words again;
        if (copy(again) != Looked::seen || again.position != words_.position) return Looked::moved;
        words_.counts.pushed = again.counts.pushed;
        words_.is_queued = again.is_queued;
        words_.completing = again.completing;
        to.counts = words_.counts;
        to.next = words_.worked + 1;
        const bool is_idle = words_.counts.pushed == words_.counts.done;
        if (!is_idle && !walk(to)) return Looked::moved;
        if (!look_at_run(to) || (!is_idle && !has_stayed())) return Looked::moved;
        if (words_.completing != nullptr) {
            to.promises.push_back({words_.completing, 0});
            // The draining thread has not reached the wait: it still wakes the waiters of this
            // completion.
            if (to.at == StreamAt::wait) to.at = StreamAt::ready;
        }
        to.promises.push_back({words_.final, to.pending});
        return Looked::seen;
    }

private:
    /// The position of the draining thread, which advances before memory behind it is reused. While
    /// all members are unchanged, the operations from this position to number `pushed` do not
    /// change, except for their closures.
    struct Position {
        std::uint64_t key = 0;
        const void* queue = nullptr;
        std::uint64_t done = 0;
        const Chunk* head = nullptr;
        std::size_t offset = 0;
        bool operator==(const Position&) const = default;
    };
    struct Words {
        Position position;
        StreamCounts counts;
        std::uint64_t worked = 0;
        bool is_queued = false;
        const GraphRun* run = nullptr;
        std::uint64_t run_serial = 0;
        const void* completing = nullptr;
        const void* final = nullptr;
    };

    /// Copies the members. Returns `moved` if the stream does not have a queue yet, or no longer
    /// has one.
    Looked copy(Words& to) noexcept {
        to = {};
        to.position.key = stream_.key.load(std::memory_order_acquire);
        if (!read_(reinterpret_cast<const void*>(&stream_.native),
                   reinterpret_cast<void*>(&to.position.queue), sizeof(void*)))
            return Looked::refused;
        // A copy reads in ascending order of addresses: pushed_ before done_, and done_ before
        // worked_.
        static_assert(offsetof(Queue, pushed_) < offsetof(Queue, done_) &&
                      offsetof(Queue, done_) < offsetof(Queue, worked_));
        PeekedBytes<Queue> queue;
        if (to.position.queue == nullptr || !queue.read(read_, to.position.queue))
            return Looked::moved;
        to.counts.pushed = queue.at<std::uint64_t>(offsetof(Queue, pushed_));
        to.counts.done = queue.at<std::uint64_t>(offsetof(Queue, done_));
        to.position.done = to.counts.done;
        to.position.head = queue.at<const Chunk*>(offsetof(Queue, head_));
        to.position.offset = queue.at<std::size_t>(offsetof(Queue, head_offset_));
        to.worked = queue.at<std::uint64_t>(offsetof(Queue, worked_));
        to.is_queued = queue.at<std::uint8_t>(offsetof(Queue, queued_)) != 0;
        to.run = static_cast<const GraphRun*>(queue.at<const StreamRun*>(offsetof(Queue, run_)));
        to.run_serial = queue.at<std::uint64_t>(offsetof(Queue, run_serial_));
        to.completing = queue.at<const void*>(offsetof(Queue, completing_));
        to.final = queue.at<const void*>(offsetof(Queue, final_));
        return to.counts.done <= to.counts.pushed ? Looked::seen : Looked::moved;
    }
    /// Returns whether all copies since copy() are consistent.
    bool has_stayed() noexcept {
        Words now;
        const bool has = copy(now) == Looked::seen && now.position == words_.position;
        // Takes the newest value: the draining thread may have moved the completion out of its
        // closure since then.
        words_.completing = now.completing;
        return has;
    }
    /// Copies memory of the queue. Returns false if the queue has advanced since copy().
    bool copy_stayed(const void* from, void* to, std::size_t bytes) noexcept {
        return read_(from, to, bytes) && has_stayed();
    }
    template <class T> T* pointer_at(const void* address) noexcept {
        T* pointer = nullptr;
        return read_(address, reinterpret_cast<void*>(&pointer), sizeof(void*)) ? pointer : nullptr;
    }
    bool is_done(const void* completion) noexcept {
        std::uintptr_t state = 0;
        return completion != nullptr &&
               read_(static_cast<const std::byte*>(completion) + Completion::state_offset(), &state,
                     sizeof state) &&
               Completion::is_done(state);
    }

    /// A consistent copy of a part of a chunk.
    struct Window {
        const Chunk* chunk = nullptr;
        std::size_t size = 0;  ///< Chunk::size
        const Chunk* next = nullptr;
        std::size_t from = 0, to = 0;  ///< offsets in the chunk's data
        alignas(Operation) std::byte bytes[Chunk::standard];
    };

    /// Makes the window begin with the chunk. Returns false if the queue has advanced since copy().
    bool open(const Chunk* chunk) noexcept {
        Window& w = window_;
        if (chunk == nullptr || !copy_stayed(chunk, w.bytes, sizeof w.bytes)) return false;
        w.chunk = chunk;
        std::memcpy(reinterpret_cast<void*>(&w.next), w.bytes + offsetof(Chunk, next),
                    sizeof(void*));
        std::memcpy(&w.size, w.bytes + offsetof(Chunk, size), sizeof w.size);
        w.from = 0;
        w.to = ChunkPool::standard;
        std::memmove(w.bytes, w.bytes + sizeof(Chunk), w.to);
        return w.size >= ChunkPool::standard;
    }
    /// Returns a pointer to the copy of `bytes` bytes of the chunk at `offset`. Returns null if
    /// those are out of range, or if the queue has advanced since copy().
    const std::byte* at(std::size_t offset, std::size_t bytes) noexcept {
        Window& w = window_;
        if (offset > w.size || bytes > w.size - offset) return nullptr;
        if (offset < w.from || offset + bytes > w.to) {
            const std::size_t size = std::min(sizeof w.bytes, w.size - offset);
            const auto* const data = reinterpret_cast<const std::byte*>(w.chunk) + sizeof(Chunk);
            if (!copy_stayed(data + offset, w.bytes, size)) return nullptr;
            w.from = offset;
            w.to = offset + size;
        }
        return w.bytes + (offset - w.from);
    }

    /// An operation of the queue and, unless it is work, the completion at the start of its
    /// closure.
    struct Found {
        Operation operation;
        const void* completion = nullptr;
    };
    /// Copies the operation at this offset. Returns false if there is no valid operation.
    bool read_operation(std::size_t offset, Found& to) noexcept {
        const std::byte* bytes = at(offset, sizeof(Operation));
        if (bytes == nullptr) return false;
        std::memcpy(&to.operation, bytes, sizeof(Operation));
        to.completion = nullptr;
        const Operation& op = to.operation;
        if (op.step() > Step::next_chunk) return false;
        if (const OpType* const own = type_of(op.step());
            own != nullptr && op.type_address() != own)
            return false;
        if (op.step() == Step::next_chunk) return true;
        if (op.bytes() < sizeof(Operation) || op.bytes() % operation_alignment != 0 ||
            op.bytes() + link_bytes > window_.size - offset)
            return false;
        if (op.step() == Step::work || op.step() == Step::time) return true;
        bytes = at(offset, sizeof(Operation) + sizeof to.completion);
        if (op.is_counted() || bytes == nullptr) return false;
        std::memcpy(reinterpret_cast<void*>(&to.completion), bytes + sizeof(Operation),
                    sizeof(void*));
        return true;
    }

    void set_first(StreamLook& to, const Found& found) noexcept {
        const Operation& op = found.operation;
        to.where = op.where();
        to.at = words_.is_queued ? StreamAt::ready : StreamAt::work;
        if (op.step() == Step::work) to.type = op.type_address();
        if (op.step() != Step::wait) return;
        to.awaited = found.completion;
        if (batches_being_sent.load() != 0) to.is_whole = false;
        // The completion is null while the draining thread steps over the operation.
        const bool is_over = to.awaited == nullptr || is_done(to.awaited);
        to.at = words_.is_queued || is_over ? StreamAt::ready : StreamAt::wait;
    }

    /// Visits the operations in the order in which they are drained. Returns false if the queue has
    /// advanced since copy().
    bool walk(StreamLook& to) {
        constexpr std::size_t most = 1 << 16;
        const std::size_t all = to.counts.pushed - to.counts.done;
        std::size_t offset = words_.position.offset;
        if (!open(words_.position.head)) return false;
        bool has_first = false, may_go_on = true;
        for (std::size_t seen = 0; seen < all;) {
            if (seen == most) {
                to.is_whole = false;
                return true;
            }
            Found found{Operation(Step::next_chunk, 0, *type_of(Step::next_chunk), 1, {})};
            if (!read_operation(offset, found)) return false;
            const Operation& op = found.operation;
            if (op.step() == Step::next_chunk) {
                // Only the first chunk may have no more operations.
                if (!std::exchange(may_go_on, false) || !open(window_.next)) return false;
                offset = 0;
                continue;
            }
            may_go_on = true;
            // A time step belongs to the work after it.
            if (!has_first && op.step() != Step::time) {
                has_first = true;
                set_first(to, found);
            }
            if (!count_in(found, offset, to)) return false;
            offset += op.bytes();
            ++seen;
        }
        return true;
    }

    /// Adds the completions that the operation promises, and counts it. Returns false if the queue
    /// has advanced since copy().
    bool count_in(const Found& found, std::size_t offset, StreamLook& to) {
        const Operation& op = found.operation;
        const bool completes = op.step() == Step::signal || op.step() == Step::recover;
        if (completes && found.completion != nullptr)
            to.promises.push_back({found.completion, to.pending});
        const bool starts = op.step() == Step::work && op.type_address() == &start_type;
        if (starts && !look_at_start(offset, to)) return false;
        if (op.step() == Step::work || op.step() == Step::wait) ++to.pending;
        return true;
    }

    /// Adds the completions promised by a run that has not begun. Returns false if the queue has
    /// advanced since copy().
    bool look_at_start(std::size_t offset, StreamLook& to) {
        const std::byte* const bytes = at(offset, sizeof(Operation) + sizeof(void*));
        if (bytes == nullptr) return false;
        const StreamRun* start = nullptr;
        std::memcpy(reinterpret_cast<void*>(&start), bytes + sizeof(Operation), sizeof(void*));
        const auto* const run = static_cast<const GraphRun*>(start);
        Facts facts;
        const bool is_known = read_facts(run, facts) && facts.key == words_.position.key;
        // Once the run has begun, look_at_run() follows it.
        if (is_known && facts.serial == 0) promise(to, facts, to.pending);
        else if (to.pending != 0) return false;
        return has_stayed();
    }

    /// Follows the newest graph run. Returns false if the queue has advanced since copy().
    bool look_at_run(StreamLook& to) {
        // The run's tasks run during the operation that starts it, and may still run after that
        // operation.
        const bool starts = to.type == &start_type;
        const GraphRun* const address = words_.run;
        PeekedBytes<GraphRun> run;
        Facts facts;
        const bool is_known =
            is_there(address) && run.read(read_, address) && copy_facts(address, facts);
        if (!is_known || (!starts && facts.done != to.awaited) || (starts && is_done(facts.done))) {
            if (starts) to.at = StreamAt::ready;  // the run is about to begin, or has ended
            if (is_known) to.is_whole = false;    // the run is ending, and has more to complete
            return true;
        }
        to.graph.is_there = true;
        to.graph.left = run.at<std::size_t>(offsetof(GraphRun, left_));
        to.graph.has_shared = run.at<std::size_t>(offsetof(GraphRun, shared_count_)) != 0;
        promise(to, facts, 0);
        look_at_waits(to, facts);
        return is_there(address);
    }

    /// A copy of GraphRun::Facts.
    struct Facts {
        std::uint64_t serial, key;
        const void *done, *over;
        const GraphRun::Part* parts;
        std::size_t part_count;
        const std::uint32_t* events;
        std::size_t event_count;
        const Plan::Task* tasks;
        const CompletionRef* records;
        const GraphRun::TaskState* states;
    };
    static_assert(sizeof(Facts) == sizeof(GraphRun::Facts));
    static_assert(offsetof(Facts, states) == offsetof(GraphRun::Facts, states));

    bool read_facts(const GraphRun* run, Facts& to) noexcept {
        return run != nullptr &&
               read_(reinterpret_cast<const std::byte*>(run) + offsetof(GraphRun, facts_), &to,
                     sizeof to);
    }
    bool copy_facts(const GraphRun* run, Facts& to) noexcept {
        return read_facts(run, to) && to.serial == words_.run_serial &&
               to.key == words_.position.key;
    }
    /// Returns whether `run` is the run that the queue stored in note_run(), and still exists.
    bool is_there(const GraphRun* run) noexcept {
        Facts facts;
        return copy_facts(run, facts);
    }

    template <class T> static const std::byte* address_of(const T* first, std::size_t index) {
        return reinterpret_cast<const std::byte*>(first) + index * sizeof(T);
    }

    static constexpr std::size_t most_parts = 256, most_events = 1024;

    /// Adds all completions of the run to the promises. A batch's other streams wait for their
    /// parts.
    void promise(StreamLook& to, const Facts& facts, std::size_t after) {
        to.promises.push_back({facts.done, after});
        to.promises.push_back({facts.over, after});
        if (facts.part_count > most_parts || facts.event_count > most_events) to.is_whole = false;
        for (std::size_t i = 0; i < std::min(facts.part_count, most_parts); ++i)
            if (const void* const part = pointer_at<const void>(address_of(facts.parts, i) +
                                                                offsetof(GraphRun::Part, after)))
                to.promises.push_back({part, after});
        for_each_event(facts, [&](NodeKind kind, std::uint32_t, const void* completion) {
            if (kind == NodeKind::record_event) to.promises.push_back({completion, after});
        });
    }
    void look_at_waits(StreamLook& to, const Facts& facts) {
        for_each_event(facts, [&](NodeKind kind, std::uint32_t index, const void* completion) {
            // The task waits only for its event: its predecessors are done.
            std::int32_t waits_for = 0;
            if (kind == NodeKind::wait_event && !is_done(completion) &&
                read_(address_of(facts.states, index) + offsetof(GraphRun::TaskState, waits_for),
                      &waits_for, sizeof waits_for) &&
                waits_for == 1)
                to.graph.awaited.push_back(completion);
        });
    }
    /// Calls use(kind, task, completion) for the tasks that record or wait for an event.
    template <class F> void for_each_event(const Facts& facts, F&& use) {
        for (std::size_t i = 0; i < std::min(facts.event_count, most_events); ++i) {
            std::uint32_t index = 0;
            NodeKind kind{};
            const void* const completion = pointer_at<const void>(address_of(facts.records, i));
            if (completion != nullptr && read_(facts.events + i, &index, sizeof index) &&
                read_(address_of(facts.tasks, index) + offsetof(Plan::Task, kind), &kind,
                      sizeof kind))
                use(kind, index, completion);
        }
    }

    StreamRecord& stream_;
    PeekFunction read_;
    Words words_;
    Window window_;
};

Looked look_at_queue(StreamRecord& stream, StreamLook& to, PeekFunction read) {
    constexpr int tries = 4;
    Looked looked = Looked::moved;
    bool has_run = false;
    for (int i = 0; i < tries && looked == Looked::moved; ++i) {
        to = {};
        QueueLook look(stream, read);
        looked = look.look(to);
        has_run = look.has_run();
    }
    if (looked != Looked::seen) {
        const StreamCounts counts = to.counts;
        to = {};
        to.counts = counts;
        to.is_whole = !has_run;  // a graph run also completes completions that are not counted
    }
    return looked;
}

Looked count_queue(StreamRecord& stream, StreamCounts& to, PeekFunction read) noexcept {
    const Looked looked = QueueLook(stream, read).count(to);
    if (looked == Looked::moved) to = {};
    return looked;
}

bool CpuBackend::count_steps(StreamRecord& stream, StreamCounts& to) noexcept {
    to = {};
    if (at_rest(stream).load(std::memory_order_acquire) != 0) return true;
    return count_queue(stream, to) != Looked::refused;
}

Looked CpuBackend::look(StreamRecord& stream, StreamLook& to) {
    if (at_rest(stream).load(std::memory_order_acquire) == 0) return look_at_queue(stream, to);
    to = {};
    to.next = stream.submissions.load(std::memory_order_relaxed) + 1;
    return Looked::seen;
}

bool CpuBackend::list_shared_waits(std::vector<SharedWait>& to) {
    return SharedEvent::list_waits(to);
}

int CpuBackend::worker_count() noexcept {
    Executor* const made = executor_if_made();
    return made != nullptr ? made->workers() : 0;
}

}  // namespace heddle::detail::cpu
