// The fibers of one CPU stream, under ThreadSanitizer alone (see fiber.hpp).
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "core/base/spin_lock.hpp"
#include "core/seam/records.hpp"
#include "cpu/fiber.hpp"

namespace heddle::detail::cpu {

/// One for the stream's operations, and others for what runs side by side with them: parts of a
/// kernel, branches of a graph. All have the stream's name.
class Fibers {
public:
    explicit Fibers(const StreamRecord& stream);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    Fiber& main() noexcept { return *main_; }
    /// Takes a fiber that is not in use. Thread-safe.
    Fiber* take();
    void give(Fiber* fiber) noexcept;  ///< thread-safe

private:
    std::string name_;
    Fiber* main_;
    SpinLock lock_;
    std::vector<Fiber*> free_;  ///< guarded by lock_
};

/// A fiber that is taken while the object lives; null without `fibers`, or if out of memory.
class TakenFiber {
public:
    explicit TakenFiber(Fibers* fibers) noexcept;
    ~TakenFiber() {
        if (fiber_ != nullptr) [[unlikely]]
            fibers_->give(fiber_);
    }
    TakenFiber(const TakenFiber&) = delete;
    TakenFiber& operator=(const TakenFiber&) = delete;
    Fiber* get() const noexcept { return fiber_; }

private:
    Fibers* fibers_;
    Fiber* fiber_ = nullptr;
};

}  // namespace heddle::detail::cpu
