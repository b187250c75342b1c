// One completion for all pending uses of some memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Completes `all`, without a failure, once the work that these users have enqueued so far has
/// completed, failed or been dropped.
class Gathering {
public:
    /// Throws std::bad_alloc, without any effect on the users.
    explicit Gathering(std::span<const StreamUse> users);

    /// Begins to wait. `all` may complete during the call.
    void begin() noexcept;
    /// Begins to wait. The object deletes itself when all users are done.
    static void begin_alone(std::unique_ptr<Gathering> one) noexcept;
    /// Declares to ThreadSanitizer that the calling thread is ordered after all the work. Call it
    /// after `all` has completed.
    void see() const noexcept;

    const CompletionRef all = make_completion();

private:
    struct Node : Waiter {
        Gathering* owner = nullptr;
    };
    void one_less() noexcept;

    std::vector<CompletionRef> parts_;
    std::vector<Node> nodes_;
    std::atomic<std::size_t> left_;
    bool is_alone_ = false;
};

}  // namespace heddle::detail
