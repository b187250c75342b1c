// Captures: recorders whose tape becomes a graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/recording/recorder.hpp"
#include "core/stream/elsewhere.hpp"

namespace heddle::detail {

class CaptureRecorder final : public Recorder {
public:
    static CaptureRecorder& start(StreamRecord& stream, CaptureMode mode,
                                  const SourceLocation& where);
    /// Ends the capture and discards its tape, unless take() has moved it out. Takes the lock.
    static void finish(CaptureRecorder& capture) noexcept;

    /// Returns the captured work as a graph. If `join` is false, throws UsageError with the names
    /// of streams that the first stream has not waited for. Takes the lock.
    std::unique_ptr<GraphData> take(bool join, const SourceLocation& where);

    /// Reports that no work was captured, if work was enqueued on other streams meanwhile: the
    /// graph is probably not as intended. Takes the lock.
    void report_empty(const SourceLocation& where) noexcept;

    /// Throws UsageError while a condition's body is captured: the stream belongs to the capture
    /// around the body.
    void refuse_in_body(StreamRecord& stream, const SourceLocation& where) const;

    /// Number of conditions' bodies that are being captured inside this capture. They must not use
    /// its other streams.
    int bodies = 0;
    /// Finds work that is enqueued on other streams meanwhile. Not begun for bodies of conditions,
    /// which may be empty.
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

    Block* take_spare(StreamRecord& stream, std::size_t bytes);
    void own(StreamRecord& stream, Block& block, const SourceLocation& where);
    void offer(Block& block);
    bool owns(const Block& block) const noexcept;
    void declare_use(StreamRecord& stream, Block& block) override;

protected:
    std::uint32_t flags() const noexcept override {
        return stream_flag::recording | stream_flag::captured;
    }

private:
    /// A block that the capture owns and whose array has freed it: reusable after these operations.
    struct Spare {
        Block* block;
        std::vector<std::uint32_t> after;
    };
    /// A block that a stream uses by used_on(), not by an operation on the tape.
    struct Declared {
        Block* block;
        std::uint64_t serial;
        std::size_t place;  ///< index of the participant; `everywhere` if in a condition's body
    };
    static constexpr std::size_t everywhere = ~std::size_t{0};
    void tell_capture_around();
    std::string unjoined(const std::vector<bool>& reached) const;

    CaptureMode mode_ = CaptureMode::thread_local_;
    std::vector<Spare> spares_;
    std::vector<Block*> owned_;  ///< allocated in this capture
    std::vector<Declared> declared_;
};

}  // namespace heddle::detail
