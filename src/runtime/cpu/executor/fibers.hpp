// The fibers of one CPU stream, under ThreadSanitizer only (see fiber.hpp).
#pragma once

#include <string>
#include <vector>

#include "core/base/spin_lock.hpp"
#include "core/seam/records.hpp"
#include "cpu/executor/fiber.hpp"

namespace heddle::detail::cpu {

/// Owns one fiber for the stream's operations, and further fibers for concurrent parts: subranges
/// of a kernel, branches of a graph. All fibers have the stream's name.
class Fibers {
public:
    explicit Fibers(const StreamRecord& stream);
    ~Fibers();
    Fibers(const Fibers&) = delete;
    Fibers& operator=(const Fibers&) = delete;

    Fiber& main() noexcept { return *main_; }
    /// Acquires a fiber that is not in use. Thread-safe.
    Fiber* take();
    void give(Fiber* fiber) noexcept;  ///< releases a fiber; thread-safe

private:
    std::string name_;
    Fiber* main_;
    SpinLock lock_;
    std::vector<Fiber*> free_;  ///< guarded by lock_
};

/// Owns a fiber while the object exists. The fiber is null if `fibers` is null, or if out of
/// memory.
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
