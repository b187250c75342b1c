// Makes allocations fail on demand. Operator new is replaced in faults.cpp.
#pragma once

namespace heddle_test {

/// Which allocations by operator new fail.
enum class Fault {
    one_here,  ///< the k-th of this thread
    /// The k-th of all threads but NCCL's own, which end the process if they get no memory.
    one_anywhere,
    all_here,  ///< the k-th of this thread and all later ones
};

/// Makes allocations fail while it exists. Only one may exist at a time.
class Faults {
public:
    Faults(Fault fault, long k) noexcept;
    ~Faults();
    Faults(const Faults&) = delete;
    Faults& operator=(const Faults&) = delete;
    /// Returns how many allocations have failed so far.
    long count() const noexcept;
};

/// While it exists, allocations of this thread do not fail and do not count towards `k`. For the
/// test's own allocations.
class OwnMemory {
public:
    OwnMemory() noexcept;
    ~OwnMemory();
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;

private:
    bool before_;
};

/// Returns the number of live allocations of all threads.
long live_allocations() noexcept;

}  // namespace heddle_test
