// A batch's streams, as passed to a backend when the batch is launched as one graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/failure/work_outcome.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail {

/// The part of one stream in a batch. The batch is launched as one graph.
struct StreamPart {
    /// Earlier work of the stream, which may still fail.
    struct Past {
        std::shared_ptr<WorkOutcome> outcome;  ///< null if the stream's work cannot fail
        std::uint64_t submissions = 0;
        /// On CPUs: completes when an earlier graph has completed its work for this stream.
        CompletionRef reached;
        /// Returns the failure of the earlier work. Returns null if it did not fail. Call it only
        /// once that work has completed.
        Failure failure() const noexcept {
            Failure failure = outcome != nullptr ? outcome->failure_up_to(submissions) : nullptr;
            if (failure == nullptr && reached && reached->is_done()) failure = reached->failure();
            return failure;
        }
    };
    StreamRecord* stream = nullptr;  ///< null if the stream has left the batch
    /// The stream's further work must follow these nodes, and the earlier work of the parts with
    /// the indices `begins`.
    std::span<const std::uint32_t> last_ops;
    std::span<const std::uint32_t> begins;
    const Past* past = nullptr;
    /// Set by the launch. Identifies the work on the first part's stream that precedes this part's
    /// further work, as a number of submissions. Other threads may already have enqueued more on
    /// the first part's stream.
    std::uint64_t first_submitted = 0;
    /// On CPUs: set by the launch. Completes when the graph completes, and has this part's failure.
    CompletionRef after;
};
/// A node that directly depends on a part's earlier work.
struct PartBegin {
    std::uint32_t node;
    std::uint32_t part;
};
/// A node that records an event.
struct PartMark {
    std::uint32_t node;
    /// On CUDA: set by the launch; null if no failure of the node's work can become known after the
    /// launch.
    std::shared_ptr<WorkOutcome> outcome;
};

}  // namespace heddle::detail
