// Open batches: recorders that launch their tape as a graph as soon as other code needs its work.
// recorded_calls.cpp records the operations, and batch.cpp launches the tape.
#pragma once

#include "core/recording/batch.hpp"
#include "core/recording/recorder.hpp"

namespace heddle::detail {

class HEDDLE_HIDDEN BatchRecorder final : public Recorder {
public:
    static BatchRecorder& start(StreamRecord& stream, BatchRun& run, const SourceLocation& where);
    /// Flushes and ends the batch. If flushing throws, the batch has still ended, and work left on
    /// the tape is lost. Acquires the lock.
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

    /// Returns the stream on which the batch began. Returns null if that stream has left.
    StreamRecord* origin() const noexcept;

protected:
    std::uint32_t flags() const noexcept override { return stream_flag::recording; }

private:
    bool takes_part(const Participant& one) const noexcept;
    /// Returns the participant that `one`, a branch, was forked from and that will join it. Returns
    /// null if `one` is no branch, or if that participant has left.
    const Participant* base_of(const Participant& one) const noexcept;
    bool is_clean(StreamRecord& stream) noexcept;
    bool is_ordered_before(StreamRecord& stream, std::uint64_t submitted, StreamPart::Past& past,
                           const SourceLocation& where);
    void note_ordered(StreamRecord& stream, std::uint64_t submitted,
                      CompletionRef reached) noexcept;
    void flush_part(const SourceLocation& where) noexcept;
    void complete_tape(const SourceLocation& where);
    void launch(StreamRecord& origin, const SourceLocation& where);
    void note_part_sent(Participant& one, StreamPart& part, const StreamPart& first,
                        const SourceLocation& where) noexcept;
    void note_sent(StreamRecord& origin, const SourceLocation& where) noexcept;
    void forget_left() noexcept;
    void collect_kept() noexcept;
    /// Reports to observers that the work left on the tape will not run. Reports nothing for an
    /// empty tape.
    void tell_abandoned(const SourceLocation& where) noexcept;

    BatchRun* run_ = nullptr;
    // BatchOptions::flush_after: the number of operations after which the tape is flushed, and the
    // number of parts so far, with the one being recorded.
    std::size_t part_size_ = 0, parts_so_far_ = 1;
    // Used by the launch in progress.
    std::vector<StreamPart> parts_;
    std::vector<PartMark> sent_marks_;
    /// Guards the next two members; a thread that holds it never waits for the recorder's lock.
    SpinLock kept_lock_;
    Block* kept_ = nullptr;  ///< blocks to free after the next flush; linked by Block::next_kept
    bool keeps_ = false;     ///< true while the batch is open
};

}  // namespace heddle::detail
