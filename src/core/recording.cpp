#include "core/recording.hpp"

#include <algorithm>
#include <atomic>

#include "core/graph.hpp"
#include "core/order.hpp"
#include "core/registry.hpp"
#include <heddle/array.hpp>
#include <heddle/scope.hpp>

namespace heddle::detail {

namespace {

std::atomic<std::uint64_t> next_id{std::uint64_t{1} << 63};  // CUDA counts its captures from 1
SpinLock free_lock;
Recording* free_recordings = nullptr;

Recording& new_recording() {
    {
        const std::lock_guard lock(free_lock);
        if (free_recordings != nullptr) return *std::exchange(free_recordings, free_recordings->next_free);
    }
    return *new Recording;
}

/// `tail` comes after `more` too.
void merge(std::vector<std::uint32_t>& tail, const std::vector<std::uint32_t>& more) {
    if (tail.empty()) {
        tail = more;
        return;
    }
    for (const std::uint32_t one : more)
        if (std::ranges::find(tail, one) == tail.end()) tail.push_back(one);
    std::ranges::sort(tail);
}

void attach(Recording& r, StreamRecord& stream, std::vector<std::uint32_t> tail,
            const SourceLocation& where) {
    Recording::Lane lane;
    lane.stream = &stream;
    lane.stream_id = stream.id.load();
    lane.given = stream.submissions.load();
    lane.tail = std::move(tail);
    if (r.batch == nullptr) lane.name = stream.display_name();
    lane.outer = stream.recording.load();
    if (lane.outer != nullptr) lane.outer_id = lane.outer->id;
    if (r.batch == nullptr && stream.has(stream_flag::handed_out)) {
        stream.backend->begin_foreign(stream, static_cast<int>(r.mode), where);
        lane.foreign = true;
    }
    stream.lane = r.lanes.size();
    r.lanes.push_back(std::move(lane));
    stream.recording.store(&r, std::memory_order_release);
    stream.set(stream_flag::recording);
}

void detach(Recording::Lane& lane) noexcept {
    StreamRecord* const stream = std::exchange(lane.stream, nullptr);
    if (stream == nullptr) return;
    if (lane.foreign) stream->backend->drop_foreign(*stream);
    stream->recording.store(nullptr, std::memory_order_release);
    stream->clear(stream_flag::recording);
}

/// What others gave the stream past heddle comes next.
void collect(Recording& r, Recording::Lane& lane, const SourceLocation& where) {
    if (!lane.foreign || lane.stream == nullptr) return;
    std::shared_ptr<void> graph =
        lane.stream->backend->take_foreign(*lane.stream, static_cast<int>(r.mode), where);
    if (graph == nullptr) return;
    const std::uint32_t op = r.tape->add(NodeKind::other, lane.stream->device, lane.tail, where);
    auto node = std::make_shared<NodeData>();
    node->foreign = std::move(graph);
    r.tape->set_node(std::move(node));
    lane.tail.assign(1, op);
}

[[noreturn]] void refuse(StreamRecord& stream, std::string message, const char* call,
                         const SourceLocation& where) {
    throw_error(stream_error(ErrorCode::usage, stream, std::move(message), call, where));
}

/// A stream of a batch that was given work really since it joined cannot go on being recorded.
bool is_clean(const Recording& r, StreamRecord& stream) noexcept {
    const Recording::Lane& lane = r.lanes[stream.lane];
    return stream.lane == 0 || lane.given == stream.submissions.load(std::memory_order_acquire);
}

/// Whether everything that `stream` was really given is before what the batch's first stream is given next.
bool is_settled(Recording& r, StreamRecord& stream, const SourceLocation& where) {
    StreamRecord& origin = *r.lanes[0].stream;
    const std::uint64_t given = stream.submissions.load(std::memory_order_acquire);
    const std::uint64_t origin_id = origin.id.load(std::memory_order_relaxed);
    if (given == 0 || (stream.settled_by == origin_id && stream.settled_at == given)) return true;
    if (!origin.waited.covers(stream.id.load(std::memory_order_relaxed), given) &&
        !stream.backend->is_complete(stream, where))
        return false;
    stream.settled_at = given;
    stream.settled_by = origin_id;
    return true;
}

bool may_join_batch(Recording& r, StreamRecord& stream, const SourceLocation& where) {
    return !r.sending && r.lanes[0].stream != nullptr && stream.backend == r.lanes[0].stream->backend &&
           is_recordable(stream) && r.owner == std::this_thread::get_id() && is_settled(r, stream, where) &&
           (!stream.has(stream_flag::fallible) || stream.known_failure() == nullptr);
}

/// The batch's operations go first, and the stream is recorded no longer (its first stream excepted, which only sends).
bool really(Recorded& r, StreamRecord& stream, const SourceLocation& where) {
    Recording& recording = *r;
    const bool first = stream.lane == 0;
    r.release();
    send(recording, false, where);
    if (!first) leave_recording(stream);
    return false;
}

void refuse_in_body(const Recording& r, StreamRecord& stream, const SourceLocation& where) {
    if (r.bodies == 0) return;
    refuse(stream,
           "the stream takes part in the capture around this condition, and what it is given would not be "
           "under the "
           "condition: in the body, use the condition's stream, or streams that wait for it there",
           "capture_if or capture_while", where);
}

/// An operation of the stream; the rest is for the caller to fill in.
void add_op(Recording& r, StreamRecord& stream, NodeKind kind, const SourceLocation& where) {
    refuse_in_body(r, stream, where);
    Recording::Lane& lane = r.lane_of(stream);
    collect(r, lane, where);
    const std::uint32_t op = r.tape->add(kind, stream.device, lane.tail, where);
    lane.tail.assign(1, op);
}

Recording::Mark* mark_of(Recording& r, const EventState& event) noexcept {
    const auto found = std::ranges::find_if(r.marks, [&](const auto& mark) { return mark.event == &event; });
    return found == r.marks.end() ? nullptr : &*found;
}

/// The lock of the recording that has the event marked, taken; null if none has.
Recording* lock_marking(EventState& event) noexcept {
    Recording* r = event.recording.load(std::memory_order_acquire);
    if (r == nullptr) return nullptr;
    r->lock.lock();
    if (event.recording.load(std::memory_order_relaxed) == r && mark_of(*r, event) != nullptr) return r;
    r->lock.unlock();
    return nullptr;
}

std::vector<std::uint32_t> place_of(const Recording::Mark& mark) {
    if (mark.op < 0) return mark.tail;
    return {static_cast<std::uint32_t>(mark.op)};
}

/// A stream joins a capture.
void join_capture(Recording& r, StreamRecord& stream, std::vector<std::uint32_t> tail, const char* call,
                  const SourceLocation& where) {
    if (stream.backend->capture_id(stream) != 0)
        refuse(stream, "the stream is in another capture already, begun past heddle", call, where);
    if (r.device.is_cpu() && stream.device.is_cuda())
        refuse(stream,
               "a stream of a CUDA device cannot take part in a capture that began on a CPU stream: begin it "
               "on the "
               "CUDA stream",
               call, where);
    attach(r, stream, std::move(tail), where);
}

}  // namespace

bool is_recordable(StreamRecord& stream) noexcept {
    return !stream.has(stream_flag::slow_order & ~stream_flag::fallible);
}

Recording& begin_recording(StreamRecord& stream, BatchRun* batch, CaptureMode mode,
                           const SourceLocation& where) {
    Recording& r = new_recording();
    const std::lock_guard lock(r.lock);
    r.id = next_id.fetch_add(1);
    r.batch = batch;
    r.mode = mode;
    r.device = stream.device;
    r.owner = std::this_thread::get_id();
    r.sending = false;
    if (r.tape == nullptr) r.tape = std::make_shared<Tape>();
    try {
        attach(r, stream, {}, where);
    } catch (...) {
        r.id = 0;
        const std::lock_guard free(free_lock);
        r.next_free = std::exchange(free_recordings, &r);
        throw;
    }
    return r;
}

void end_recording(Recording& r) noexcept {
    r.lock.lock();
    for (Recording::Lane& lane : r.lanes) {
        StreamRecord* const stream = lane.stream;
        detach(lane);
        if (stream == nullptr || lane.outer == nullptr || lane.outer->id != lane.outer_id) continue;
        // A batch around the capture goes on with it.
        const std::lock_guard outer(lane.outer->lock);
        for (std::size_t i = 0; i < lane.outer->lanes.size(); ++i) {
            if (lane.outer->lanes[i].stream != stream) continue;
            stream->lane = i;
            stream->recording.store(lane.outer, std::memory_order_release);
            stream->set(stream_flag::recording);
        }
    }
    for (const Recording::Mark& mark : r.marks)
        if (mark.event != nullptr) mark.event->recording.store(nullptr, std::memory_order_release);
    std::vector<Block*> given_up = std::move(r.given_up);
    r.given_up.clear();
    r.lanes.clear();
    r.marks.clear();
    r.spares.clear();
    r.owned.clear();
    std::shared_ptr<Tape> tape = std::move(r.tape);
    r.tape = nullptr;
    r.batch = nullptr;
    r.id = 0;
    r.lock.unlock();
    // Not with the lock: memory that goes asks its users' recordings.
    for (Block* block : given_up) release(*block);
    if (tape != nullptr && tape.use_count() == 1) {
        tape->clear();
        r.tape = std::move(tape);
    }
    const std::lock_guard free(free_lock);
    r.next_free = std::exchange(free_recordings, &r);
}

void collect_foreign(Recording& r, const SourceLocation& where) {
    const std::lock_guard lock(r.lock);
    for (Recording::Lane& lane : r.lanes) {
        collect(r, lane, where);
        if (lane.foreign && lane.stream != nullptr) lane.stream->backend->drop_foreign(*lane.stream);
        lane.foreign = false;
    }
}

Recorded::Recorded(StreamRecord& stream) noexcept {
    Recording* r = stream.recording.load(std::memory_order_acquire);
    if (r == nullptr) return;
    r->lock.lock();
    if (stream.recording.load(std::memory_order_relaxed) == r) recording_ = r;
    else r->lock.unlock();
}

void Recorded::unlock() noexcept {
    if (recording_ != nullptr) std::exchange(recording_, nullptr)->lock.unlock();
}

std::uint64_t recording_id(StreamRecord& stream) noexcept {
    const Recording* r = stream.recording.load(std::memory_order_acquire);
    return r != nullptr ? r->id : 0;
}

bool is_captured(StreamRecord& stream) noexcept {
    const Recording* r = stream.recording.load(std::memory_order_acquire);
    return r != nullptr && r->batch == nullptr;
}

bool record_work(StreamState& state, const WorkType& type, void* self, std::size_t count,
                 Block* const* blocks, std::size_t block_count, const LaunchOptions& options,
                 const SourceLocation& where) {
    StreamRecord& stream = record_of(state);
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr && !is_clean(*r, stream)) return really(r, stream, where);
    add_op(*r, stream, type.form != nullptr ? NodeKind::kernel : NodeKind::host_function, where);
    r->tape->set_work(type, self, count, options);
    for (std::size_t i = 0; i < block_count; ++i) r->tape->add_block(*blocks[i]);
    return true;
}

bool record_copy(StreamRecord& stream, const Piece& to, const Piece& from, Block* to_owner, Block* from_owner,
                 const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    const bool host = to.place.kind == MemoryKind::pageable || from.place.kind == MemoryKind::pageable;
    if (host && r->batch == nullptr)
        refuse(stream,
               "pageable memory cannot be copied in a capture: nothing is done before the graph is launched, "
               "and nobody "
               "knows when it may change. Use pinned()",
               "copy", where);
    const bool peers =
        to.place.device.is_cuda() && from.place.device.is_cuda() && to.place.device != from.place.device;
    const bool apart = peers && !is_pool_access_enabled(to.place.device, from.place.device);
    if (r->batch != nullptr && (host || apart || !is_clean(*r, stream))) return really(r, stream, where);
    add_op(*r, stream, NodeKind::copy, where);
    r->tape->set_copy(to, from);
    for (Block* block : {to_owner, from_owner})
        if (block != nullptr) r->tape->add_block(*block);
    return true;
}

bool record_fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size, Block* owner,
                 const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    const bool host = to.place.kind == MemoryKind::pageable;
    if (host && r->batch == nullptr)
        refuse(stream, "pageable memory cannot be filled in a capture: use pinned()", "fill", where);
    if (r->batch != nullptr && (host || !is_clean(*r, stream))) return really(r, stream, where);
    add_op(*r, stream, NodeKind::fill, where);
    r->tape->set_fill(to, value, size);
    if (owner != nullptr) r->tape->add_block(*owner);
    return true;
}

bool record_child(StreamRecord& stream, const GraphData& graph, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr) return really(r, stream, where);
    add_op(*r, stream, NodeKind::child_graph, where);
    auto node = std::make_shared<NodeData>();
    node->child = clone_graph(graph);
    r->tape->set_node(std::move(node));
    return true;
}

void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    add_op(*r, stream, node->kind, where);
    r->tape->set_node(std::move(node));
}

void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    add_op(*r, stream, NodeKind::wait_event, where);
    r->tape->set_event(r->lane_of(stream).tail.front(), &event);
}

// Order ---------------------------------------------------------------------------------------------------------------

bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) {
    if (Recorded theirs(other); theirs) {
        Recording& r = *theirs;
        if (waiter.recording.load(std::memory_order_acquire) == &r) {
            refuse_in_body(r, waiter, where);
            if (r.batch == nullptr || (is_clean(r, other) && is_clean(r, waiter))) {
                collect(r, r.lane_of(other), where);
                collect(r, r.lane_of(waiter), where);
                merge(r.lane_of(waiter).tail, r.lane_of(other).tail);
                return true;
            }
            theirs.release();
            send(r, false, where);
            return false;
        }
        if (r.batch == nullptr) {
            if (is_captured(waiter)) return false;  // of another capture: refused there
            collect(r, r.lane_of(other), where);
            std::vector<std::uint32_t> tail = r.lane_of(other).tail;
            if (waiter.recording.load(std::memory_order_acquire) != nullptr) {
                theirs.unlock();
                send_batch_of(waiter, where);
                Recorded again(other);
                if (!again) return false;
                join_capture(r, waiter, std::move(tail), "wait_stream", where);
                return true;
            }
            join_capture(r, waiter, std::move(tail), "wait_stream", where);
            return true;
        }
        // In an open batch. A stream that has nothing of its own pending takes part.
        if (!waiter.has(stream_flag::recording) && may_join_batch(r, waiter, where)) {
            attach(r, waiter, r.lane_of(other).tail, where);
            return true;
        }
        theirs.release();
        send(r, false, where);
    }
    Recorded mine(waiter);
    if (!mine || mine->batch == nullptr) return false;
    if (is_recordable(other) &&
        waiter.waited.covers(other.id.load(), other.submissions.load(std::memory_order_acquire)))
        return false;  // so it is already, and no wait will be made
    return really(mine, waiter, where);
}

bool record_event_record(EventState& event, StreamRecord& stream, bool external,
                         const SourceLocation& where) {
    forget_mark(event);
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr && !is_clean(*r, stream)) return really(r, stream, where);
    collect(*r, r->lane_of(stream), where);
    Recording::Mark mark{&event, r->lane_of(stream).tail, -1};
    if (event.options.timing || external) {
        add_op(*r, stream, NodeKind::record_event, where);
        mark.op = r->lane_of(stream).tail.front();
        r->tape->set_event(static_cast<std::uint32_t>(mark.op), &event);
    }
    std::erase_if(r->marks, [](const Recording::Mark& one) { return one.event == nullptr; });
    r->marks.push_back(std::move(mark));
    event.recording.store(&*r, std::memory_order_release);
    event.recorded = true;
    event.stream = &stream;
    event.stream_id = stream.id.load(std::memory_order_relaxed);
    event.submissions = stream.submissions.load(std::memory_order_relaxed);
    event.capture_id = r->id;
    event.countable = false;
    return true;
}

bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) {
    if (Recording* theirs = lock_marking(event)) {
        Recording& r = *theirs;
        std::unique_lock held(r.lock, std::adopt_lock);
        const std::vector<std::uint32_t> place = place_of(*mark_of(r, event));
        if (waiter.recording.load(std::memory_order_acquire) == &r) {
            if (r.batch == nullptr || is_clean(r, waiter)) {
                collect(r, r.lane_of(waiter), where);
                merge(r.lane_of(waiter).tail, place);
                return true;
            }
        } else if (r.batch == nullptr) {
            if (is_captured(waiter)) return false;
            if (waiter.recording.load(std::memory_order_acquire) == nullptr) {
                join_capture(r, waiter, place, "wait_event", where);
                return true;
            }
            held.unlock();
            send_batch_of(waiter, where);
            held.lock();
            join_capture(r, waiter, place, "wait_event", where);
            return true;
        } else if (!waiter.has(stream_flag::recording) && may_join_batch(r, waiter, where)) {
            attach(r, waiter, place, where);
            return true;
        }
        if (r.batch != nullptr) {
            held.release();
            send(r, false, where);
        }
    }
    Recorded mine(waiter);
    if (!mine || mine->batch == nullptr) return false;
    return really(mine, waiter, where);
}

// Memory --------------------------------------------------------------------------------------------------------------

Block* take_spare(StreamRecord& stream, std::size_t bytes) {
    Recorded r(stream);
    if (!r || r->spares.empty()) return nullptr;
    const std::vector<bool> before = reached_from(*r->tape, r->lane_of(stream).tail);
    for (auto spare = r->spares.begin(); spare != r->spares.end(); ++spare) {
        if (spare->block->device != stream.device || spare->block->bytes < bytes ||
            spare->block->bytes / 2 > bytes)
            continue;
        // Only where it comes after all use anyway: memory is cheaper than order that nobody asked for.
        if (!std::ranges::all_of(spare->after, [&](std::uint32_t one) { return before[one]; })) continue;
        Block* const block = spare->block;
        r->spares.erase(spare);
        block->owners.fetch_add(1, std::memory_order_relaxed);
        return block;
    }
    return nullptr;
}

void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where) {
    Recorded r(stream);
    if (!r || r->batch != nullptr) return;
    auto node = std::make_shared<NodeData>();
    block.owners.fetch_add(1, std::memory_order_relaxed);
    node->owned.emplace_back(block);
    add_op(*r, stream, NodeKind::allocate, where);
    r->tape->set_node(std::move(node));
    r->owned.push_back(&block);
}

void give_spare(Block& block, StreamRecord* const* users, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!users[i]->has(stream_flag::recording)) continue;
        Recorded r(*users[i]);
        if (!r || std::ranges::find(r->owned, &block) == r->owned.end()) continue;
        Recording::Spare spare{&block, {}};
        for (const Recording::Lane& lane : r->lanes)
            for (std::size_t u = 0; u < count; ++u)
                if (users[u]->id.load() == lane.stream_id) merge(spare.after, lane.tail);
        r->spares.push_back(std::move(spare));
        return;
    }
}

StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return stream;
    if (r->batch == nullptr) return record_of(default_stream(stream.device).state());
    StreamRecord* const first = r->lanes[0].stream;
    if (first != nullptr && first->device == stream.device) return *first;
    really(r, stream, where);
    return stream;
}

// Ways out ------------------------------------------------------------------------------------------------------------

void send_batch_of(StreamRecord& stream, const SourceLocation& where) {
    Recorded r(stream);
    if (!r || r->batch == nullptr) return;
    Recording& recording = *r;
    r.release();
    send(recording, false, where);
}

void send_batch_of(EventState& event, const SourceLocation& where) {
    Recording* const r = lock_marking(event);
    if (r == nullptr) return;
    if (r->batch != nullptr) send(*r, false, where);
    else r->lock.unlock();
}

void leave_to_host(StreamRecord& stream, const char* call, const SourceLocation& where) {
    if (!stream.has(stream_flag::recording)) return;
    if (is_captured(stream))
        refuse(stream,
               "the host cannot wait for or query a stream that is capturing: nothing of it is done before "
               "the graph is "
               "launched. End the capture first; to read memory, copy() it to pinned() in the capture",
               call, where);
    send_batch_of(stream, where);
}

void note_handed_out(StreamRecord& stream, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    if (r->batch == nullptr) {
        Recording::Lane& lane = r->lane_of(stream);
        if (lane.foreign) return;
        stream.backend->begin_foreign(stream, static_cast<int>(r->mode), where);
        lane.foreign = true;
        return;
    }
    Recording& recording = *r;
    r.release();
    send(recording, false, where);
    leave_recording(stream);
}

void forget_mark(EventState& event) noexcept {
    Recording* const r = lock_marking(event);
    if (r == nullptr) return;
    Recording::Mark& mark = *mark_of(*r, event);
    if (mark.op >= 0) r->tape->make_empty(static_cast<std::uint32_t>(mark.op));
    mark.event = nullptr;
    event.recording.store(nullptr, std::memory_order_release);
    event.capture_id = 0;
    r->lock.unlock();
}

void leave_recording(StreamRecord& stream) noexcept {
    Recorded r(stream);
    if (!r) return;
    if (r->batch != nullptr && stream.lane == 0)  // without its first stream a batch records nothing
        for (Recording::Lane& lane : r->lanes) detach(lane);
    else detach(r->lane_of(stream));
}

bool give_up_later(Block& block, StreamRecord* const* users, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        if (!users[i]->has(stream_flag::recording)) continue;
        Recorded r(*users[i]);
        if (!r || r->batch == nullptr) continue;
        r->given_up.push_back(&block);
        return true;
    }
    return false;
}

std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends) {
    std::vector<std::size_t> first(tape.size() + 1, 0);
    for (std::size_t i = 0; i < tape.size(); ++i) first[i + 1] = first[i] + tape.op(i).dependencies;
    std::vector<bool> reached(tape.size(), false);
    for (const std::uint32_t end : ends) reached[end] = true;
    for (std::size_t i = tape.size(); i-- > 0;) {
        if (!reached[i]) continue;
        for (std::size_t d = first[i]; d < first[i + 1]; ++d) reached[tape.all_dependencies()[d]] = true;
    }
    return reached;
}

}  // namespace heddle::detail
