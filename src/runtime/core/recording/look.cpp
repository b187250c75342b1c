// For the watch: reads the work that recorders have not submitted yet.
#include "core/base/fork.hpp"
#include "core/recording/recorder.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle::detail {

namespace {

/// Reads how much work the tape has for the stream. Call it with the recorder's lock held.
void look_at_tape(const Recorder& recorder, const StreamRecord& stream,
                  RecordingLook& to) noexcept {
    const Tape& tape = *recorder.tape;
    if (!to.is_capture && stream.participant != 0) return;
    for (std::size_t i = 0; i < tape.size(); ++i) {
        if (to.is_capture && tape.participant(i) != stream.participant) continue;
        if (to.operations++ != 0) continue;
        to.first = tape.op(i).type != nullptr ? tape.op(i).type->op : nullptr;
        to.first_where = tape.where(i);
    }
}

}  // namespace

RecordingLook look_at_recording(StreamRecord& stream) noexcept {
    RecordingLook seen;
    Recorder* const recorder = stream.recorder.load(std::memory_order_acquire);
    if (recorder == nullptr || recorder->process.load() != forks()) return seen;
    seen.is_there = true;
    seen.id = recorder->id.load();
    seen.is_capture = recorder->is_capture();
    seen.owner = recorder->owner.load();
    seen.is_locked = !recorder->lock.try_lock();
    if (seen.is_locked) return seen;
    if (stream.recorder.load(std::memory_order_acquire) == recorder && recorder->tape) {
        seen.began_at = recorder->began_at;
        look_at_tape(*recorder, stream, seen);
    } else {
        seen = {};
    }
    recorder->lock.unlock();
    return seen;
}

}  // namespace heddle::detail
