// Captures: recorders whose tape becomes a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/recording/recorder.hpp"
#include "core/stream/elsewhere.hpp"

namespace heddle::detail {

class HEDDLE_HIDDEN CaptureRecorder final : public Recorder {
public:
    static CaptureRecorder& start(StreamRecord& stream, CaptureMode mode,
                                  const SourceLocation& where);
    /// Ends the capture. Discards the tape, unless take() has moved it out. Acquires the lock.
    static void finish(CaptureRecorder& capture) noexcept;

    /// Returns the captured work as a graph. Throws UsageError if `join` is false and the first
    /// stream has not waited for all others; the message names these streams. Acquires the lock.
    std::unique_ptr<GraphData> take(bool join, const SourceLocation& where);

    /// If the capture is empty but its thread enqueued work on other streams, reports this: the
    /// graph is probably not as intended. Acquires the lock.
    void report_empty(const SourceLocation& where) noexcept;

    /// Throws UsageError while a condition's body is being captured: until that ends, the streams
    /// of the capture around the body must not be used.
    void refuse_in_body(StreamRecord& stream, const SourceLocation& where) const;

    /// The number of conditions' bodies that are currently being captured inside this capture.
    /// While there are any, the other streams of this capture must not be used.
    int bodies = 0;
    /// Detects work that is enqueued on other streams during this capture. Not used for the bodies
    /// of conditions, because a body may be empty.
    Elsewhere elsewhere;

    bool is_capture() const noexcept override { return true; }
    CaptureMode capture_mode() const noexcept override { return mode_; }
    bool accept(StreamRecord& stream, Wants wants, const char* call,
                const SourceLocation& where) override;
    bool join(StreamRecord& stream, const Point& point, const char* call,
              const SourceLocation& where) override;
    void wait_inside(StreamRecord& waiter, StreamRecord* other, const Point& point,
                     const SourceLocation& where) override;
    void flush(const SourceLocation&) override {}
    void step_aside(StreamRecord&, const SourceLocation&) override {}

    Block* take_freed(StreamRecord& stream, std::size_t bytes);
    void own(StreamRecord& stream, Block& block, const SourceLocation& where);
    void offer(Block& block);
    bool owns(const Block& block) noexcept;
    /// Returns whether this capture owns the block, or a capture around it does.
    bool holds(const Block& block) noexcept;
    void declare_use(StreamRecord& stream, Block& block) override;

protected:
    std::uint32_t flags() const noexcept override {
        return stream_flag::recording | stream_flag::captured;
    }

private:
    /// A block allocated in this capture.
    struct Owned {
        Block* block;
        std::size_t participant;  ///< whose stream the block's newest array was made on
    };
    /// Native work of a participant that was not yet collected when a block was freed.
    struct NotCollected {
        std::size_t participant;
        std::uint64_t collections;  ///< Participant::collections at that time
    };
    /// A block of the capture that its array has freed. Work can reuse the block if it is ordered
    /// after the operations `after` and after the work `not_collected`.
    struct Freed {
        Block* block;
        std::vector<std::uint32_t> after;
        std::vector<NotCollected> not_collected;
    };
    bool is_after(StreamRecord& stream, const Freed& freed, const std::vector<bool>& before) const;
    /// A block that a stream declared by used_on(). No operation on the tape shows this use.
    struct Declared {
        Block* block;
        std::uint64_t serial;
        /// Index of the participant; `everywhere` for a use in a condition's body.
        std::size_t participant;
    };
    static constexpr std::size_t everywhere = ~std::size_t{0};
    std::vector<Owned>::iterator find_owned(const Block& block) noexcept;
    void add_native_uses(Freed& freed, std::size_t participant) const;
    void tell_capture_around();
    std::string unjoined(const std::vector<bool>& reached) const;

    CaptureMode mode_ = CaptureMode::thread_local_;
    std::vector<Freed> freed_;
    std::vector<Owned> owned_;
    std::vector<Declared> declared_;
};

}  // namespace heddle::detail
