// Makes allocations fail when a test requests it. faults.cpp replaces operator new.
#pragma once

namespace heddle_test {

/// Which allocations by operator new fail.
enum class Fault {
    one_here,  ///< the k-th allocation of this thread
    /// The k-th allocation of all threads except NCCL's, which end the process if it fails.
    one_anywhere,
    all_here,  ///< the k-th allocation of this thread, and all its later ones
};

/// While this object exists, allocations fail. Only one may exist at a time.
class Faults {
public:
    Faults(Fault fault, long k) noexcept;
    ~Faults();
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;
    /// Returns how many allocations have failed so far.
    long count() const noexcept;
};

/// While this object exists, allocations of this thread do not fail and do not count towards `k`.
/// Tests use it for allocations of their own.
class OwnMemory {
public:
    OwnMemory() noexcept;
    ~OwnMemory();
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

private:
    bool before_;
};

/// Returns how many allocations of all threads are live.
long live_allocations() noexcept;

}  // namespace heddle_test
