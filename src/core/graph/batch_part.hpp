// A batch's streams, as passed to a backend when the batch is launched as one graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/failure/fate.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail {

/// A stream's part in a batch that is launched as one graph.
struct StreamPart {
    /// The stream's earlier work that may have failed.
    struct Past {
        std::shared_ptr<Fate> fate;  ///< null if no work of the stream can fail
        std::uint64_t submissions = 0;
        /// CPU: completes with the work that an earlier graph did for the stream.
        CompletionRef reached;
        /// Returns the failure of the earlier work, or null. Call it only once that work has
        /// completed.
        Failure failure() const noexcept {
            Failure failure = fate != nullptr ? fate->failure_up_to(submissions) : nullptr;
            if (failure == nullptr && reached && reached->is_done()) failure = reached->failure();
            return failure;
        }
    };
    StreamRecord* stream = nullptr;  ///< null if the stream has left the batch
    /// The nodes that precede the stream's further work, and the parts whose past precedes it.
    std::span<const std::uint32_t> tail;
    std::span<const std::uint32_t> begins;
    const Past* past = nullptr;
    /// Set by the launch: the number of submissions of the first part's stream that precede this
    /// part's further work. Other threads may enqueue on that stream meanwhile.
    std::uint64_t first_given = 0;
    /// CPU: set by the launch. Completes when the graph is done, with the part's own failure.
    CompletionRef after;
};
/// A node that is the first to depend on the past of a part.
struct PartBegin {
    std::uint32_t node;
    std::uint32_t part;
};
/// A node that records an event.
struct PartMark {
    std::uint32_t node;
    std::shared_ptr<Fate> fate;  ///< CUDA: set by the launch; null if the node cannot fail late
};

}  // namespace heddle::detail
