// Open batches: recorders whose tape is launched as a graph whenever its work is needed.
// recorded_calls.cpp records the operations; batch.cpp launches a tape.
#pragma once

#include "core/recording/batch.hpp"
#include "core/recording/recorder.hpp"

namespace heddle::detail {

class BatchRecorder final : public Recorder {
public:
    static BatchRecorder& start(StreamRecord& stream, BatchRun& run, const SourceLocation& where);
    /// Flushes and ends the batch. If flushing throws, the batch has ended all the same, and work
    /// that was still on the tape is lost. Takes the lock.
    static void finish(BatchRecorder& batch, const SourceLocation& where);

    bool is_capture() const noexcept override { return false; }
    bool accept(StreamRecord& stream, Wants wants, const char* call,
                const SourceLocation& where) override;
    bool join(StreamRecord& stream, const Point& point, const char* call,
              const SourceLocation& where) override;
    void wait_inside(StreamRecord& waiter, StreamRecord* other, const Point& point,
                     const SourceLocation& where) override;
    void flush(const SourceLocation& where) override;
    void leave(StreamRecord& stream) noexcept override;
    void leave_joined(StreamRecord& stream, StreamRecord& base) noexcept override;
    void leave_when_sent(StreamRecord& stream) noexcept override;
    void step_aside(StreamRecord& stream, const SourceLocation& where) override;
    bool keep(Block& block) noexcept override;
    void note_batch_use(StreamRecord& stream, Block& block, bool writes) override;

    /// Returns the stream on which the batch began, or null if it has left.
    StreamRecord* origin() const noexcept;

protected:
    std::uint32_t flags() const noexcept override { return stream_flag::recording; }

private:
    bool takes_part(const Participant& one) const noexcept;
    /// Returns the participant that will join this one, or null.
    const Participant* base_of(const Participant& one) const noexcept;
    bool is_clean(StreamRecord& stream) noexcept;
    bool is_settled(StreamRecord& stream, std::uint64_t given, StreamPart::Past& past,
                    const SourceLocation& where);
    void note_settled(StreamRecord& stream, std::uint64_t given, CompletionRef reached) noexcept;
    void complete_tape(const SourceLocation& where);
    void launch(StreamRecord& origin, const SourceLocation& where);
    void note_part_sent(Participant& one, StreamPart& part, const StreamPart& first,
                        const SourceLocation& where) noexcept;
    void note_sent(StreamRecord& origin, const SourceLocation& where) noexcept;
    void forget_left() noexcept;
    void collect_kept() noexcept;
    /// Reports to observers that the work on the tape will not run, if there is any.
    void tell_abandoned(const SourceLocation& where) noexcept;

    BatchRun* run_ = nullptr;
    // For the launch in progress.
    std::vector<StreamPart> parts_;
    std::vector<PartMark> sent_marks_;
    SpinLock kept_lock_;  ///< guards the next two; its holder never waits for the recorder's lock
    Block* kept_ = nullptr;  ///< blocks to free after the next flush; linked by Block::next_kept
    bool keeps_ = false;     ///< true while the batch is open
};

}  // namespace heddle::detail
