// Locks for threads that only read the recorded data.
#pragma once

#include <atomic>
#include <mutex>

namespace heddle::detail {

/// True in the copy of a process that ends abnormally (end_writer.hpp). The copy has one thread.
/// Locks that other threads held when the copy was made are never released in it.
inline constinit std::atomic<bool> is_end_copy{false};

/// Acquires a lock for reading. In a copy of the process, only tries to acquire the lock, and
/// allows reading even without it. Data no longer changes there; a change that the lock's owner had
/// half made is read in that state.
class ReadLock {
public:
    explicit ReadLock(std::mutex& mutex) : mutex_(mutex) {
        if (is_end_copy.load(std::memory_order_relaxed)) is_held_ = mutex.try_lock();
        else mutex.lock();
    }
    ~ReadLock() {
        if (is_held_) mutex_.unlock();
    }
    ReadLock(const ReadLock&) = delete;
    ReadLock& operator=(const ReadLock&) = delete;

private:
    std::mutex& mutex_;
    bool is_held_ = true;
};

}  // namespace heddle::detail
