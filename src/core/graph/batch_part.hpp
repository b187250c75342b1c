// What a batch tells a backend of its streams, when it is launched as one graph.
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
    /// What the stream was given before, as far as it may have failed.
    struct Past {
        std::shared_ptr<Fate> fate;  ///< null: nothing of it can fail
        std::uint64_t submissions = 0;
        CompletionRef reached;  ///< CPU: completes with what an earlier graph did for the stream
        /// Returns the failure, or null. Call it only once all that was given before is done.
        Failure failure() const noexcept {
            Failure failure = fate != nullptr ? fate->failure_up_to(submissions) : nullptr;
            if (failure == nullptr && reached && reached->is_done()) failure = reached->failure();
            return failure;
        }
    };
    StreamRecord* stream = nullptr;  ///< null if it has left
    /// What the stream's further work comes after: nodes, and parts whose past counts.
    std::span<const std::uint32_t> tail;
    std::span<const std::uint32_t> begins;
    const Past* past = nullptr;
    /// Set by the launch: how many submissions of the first part's stream this part's further work
    /// comes after. Others may enqueue on that stream meanwhile.
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
