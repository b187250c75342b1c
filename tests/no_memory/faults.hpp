// Allocations that fail when a test says so. What replaces operator new is in faults.cpp.
#pragma once

namespace heddle_test {

/// Which allocations fail, of those by operator new.
enum class Fault {
    one_here,      ///< the k-th of this thread
    one_anywhere,  ///< the k-th of all threads
    all_here,      ///< the k-th of this thread and all that follow
};

/// Lets allocations fail while it lives. One at a time.
class Faults {
public:
    Faults(Fault fault, long k) noexcept;
    ~Faults();
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;
    /// How many have failed so far.
    long count() const noexcept;
};

/// What the test itself allocates on this thread does not fail, and is not counted.
class OwnMemory {
public:
    OwnMemory() noexcept;
    ~OwnMemory();
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

private:
    bool before_;
};

/// Allocations that are not freed yet, of all threads.
long live_allocations() noexcept;

}  // namespace heddle_test
