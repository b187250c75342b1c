// Locks of the recorded data, for threads that only read it.
#pragma once

#include <atomic>
#include <mutex>

namespace heddle::detail {

/// This process is a copy of one that ends abnormally (end_writer.hpp). It has one thread: locks
/// that other threads held when the copy was made stay locked.
inline constinit std::atomic<bool> is_end_copy{false};

/// Holds a lock. In a copy of the process it only tries to lock. In the copy, data no longer
/// changes, and half-made changes of the lock's owner are read as they are.
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
