// The interface of a graph launch for its stream.
#pragma once

#include <vector>

#include "core/seam/completion.hpp"
#include "cpu/executor/executor.hpp"
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail::cpu {

/// A launch of a graph on a stream. The stream's queue starts the run, and lends it priorities.
class StreamRun : public Runnable {
public:
    using Runnable::Runnable;

    /// Starts the run. The calling thread executes tasks until none is ready.
    virtual void start() noexcept = 0;
    /// Like run(), but returns false if tasks remain because other work takes precedence.
    virtual bool take_part() noexcept = 0;
    /// Adds to `to` the completions that the run's tasks wait for.
    virtual void add_awaited(std::vector<Completion*>& to) const = 0;
    /// Returns an awaited completion that is pending, or null.
    virtual CompletionRef first_awaited() const noexcept = 0;

private:
    friend class Queue;
    // Guarded by StreamRecord::life: links to the stream's other runs.
    StreamRun* next_run_ = nullptr;
    StreamRun* previous_run_ = nullptr;
};

/// The closure of the operation that starts a run, when the stream reaches it.
struct StartOp {
    StreamRun* run;
    static void go(void* self, std::size_t, std::size_t) {
        static_cast<StartOp*>(self)->run->start();
    }
};
/// The type of the operation that starts a run.
extern const OpType start_type;

}  // namespace heddle::detail::cpu
