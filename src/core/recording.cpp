// Recordings: which streams take part, from when to when.
#include <algorithm>
#include <atomic>

#include "core/fork.hpp"
#include "core/graph.hpp"
#include "core/recording_lanes.hpp"
#include "core/registry.hpp"
#include <heddle/array.hpp>

namespace heddle::detail {

namespace {

std::atomic<std::uint64_t> next_id{std::uint64_t{1} << 63};  // CUDA counts its captures from 1
constinit SpinLock free_lock;
const ForkRegistration registered{ForkOrder::recordings, free_lock};
Recording* free_recordings = nullptr;

Recording& new_recording() {
    {
        const std::lock_guard lock(free_lock);
        if (free_recordings != nullptr) return *std::exchange(free_recordings, free_recordings->next_free);
    }
    return *new Recording;
}

std::uint32_t flags_of(const Recording& r) noexcept {
    return r.batch == nullptr ? stream_flag::recording | stream_flag::captured : stream_flag::recording;
}

}  // namespace

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
    if (lane.outer != nullptr) lane.outer_id = lane.outer->id.load();
    if (r.batch == nullptr && stream.has(stream_flag::handed_out)) {
        stream.backend->begin_foreign(stream, r.mode, where);
        lane.foreign = true;
    }
    stream.lane = r.lanes.size();
    r.lanes.push_back(std::move(lane));
    stream.recording.store(&r, std::memory_order_release);
    stream.set(flags_of(r));
}

void detach(Recording::Lane& lane) noexcept {
    StreamRecord* const stream = std::exchange(lane.stream, nullptr);
    if (stream == nullptr) return;
    if (lane.foreign) stream->backend->drop_foreign(*stream);
    stream->recording.store(nullptr, std::memory_order_release);
    stream->clear(stream_flag::recording | stream_flag::captured);
}

void collect(Recording& r, Recording::Lane& lane, const SourceLocation& where) {
    if (!lane.foreign || lane.stream == nullptr) return;
    std::shared_ptr<void> graph = lane.stream->backend->take_foreign(*lane.stream, r.mode, where);
    if (graph == nullptr) return;
    const std::uint32_t op = r.tape->add(NodeKind::other, lane.stream->device, lane.tail, where);
    auto node = std::make_shared<NodeData>();
    node->foreign = std::move(graph);
    r.tape->set_node(std::move(node));
    lane.tail.assign(1, op);
}

void refuse(StreamRecord& stream, std::string message, const char* call, const SourceLocation& where) {
    throw_error(stream_error(ErrorCode::usage, stream, std::move(message), call, where));
}

bool is_clean(const Recording& r, StreamRecord& stream) noexcept {
    const Recording::Lane& lane = r.lanes[stream.lane];
    return stream.lane == 0 || lane.given == stream.submissions.load(std::memory_order_acquire);
}

bool really(Recorded& r, StreamRecord& stream, const SourceLocation& where) {
    Recording& recording = *r;
    const bool first = stream.lane == 0;
    r.release();
    send(recording, false, where);
    if (!first) leave_recording(stream);
    return false;
}

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
            stream->set(flags_of(*lane.outer));
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
    return r != nullptr ? r->id.load() : 0;
}

void send_batch_of(StreamRecord& stream, const SourceLocation& where) {
    Recorded r(stream);
    if (!r || r->batch == nullptr) return;
    Recording& recording = *r;
    r.release();
    send(recording, false, where);
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
        stream.backend->begin_foreign(stream, r->mode, where);
        lane.foreign = true;
        return;
    }
    Recording& recording = *r;
    r.release();
    send(recording, false, where);
    leave_recording(stream);
}

void leave_recording(StreamRecord& stream) noexcept {
    Recorded r(stream);
    if (!r) return;
    if (r->batch != nullptr && stream.lane == 0)  // without its first stream a batch records nothing
        for (Recording::Lane& lane : r->lanes) detach(lane);
    else detach(r->lane_of(stream));
}

}  // namespace heddle::detail
