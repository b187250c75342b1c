// The state of programs and modules.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unordered_map>

#include "core/seam/code_backend.hpp"

namespace heddle::detail {

/// A job that one thread claims and finishes, with or without an error, while others may wait.
/// Thread-safe.
class Pending {
public:
    Pending();
    bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Blocks until the job is done, and throws its error. Throws UsageError in host functions, and
    /// ForkedError if the parent process began the job.
    void wait(const char* call, const SourceLocation& where) const;
    /// Like wait(), but does not throw the job's own error.
    void wait_quietly(const char* call, const SourceLocation& where) const;
    /// Marks the job as done. Call once, after claim().
    void finish(std::exception_ptr error) noexcept;
    const std::exception_ptr& error() const noexcept { return error_; }  ///< valid if is_done()
    /// Returns true to one caller only, which then has to call finish().
    bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    bool is_claimed() const noexcept { return claimed_.load(std::memory_order_acquire); }

private:
    const pid_t process_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::atomic<bool> done_{false}, claimed_{false};
    std::exception_ptr error_;
};

/// The destructor finishes a job that no thread has claimed, with an error. Otherwise its waiters
/// would hang if the process ends.
class PendingEnd {
public:
    explicit PendingEnd(std::shared_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}
    ~PendingEnd();
    PendingEnd(const PendingEnd&) = delete;
    PendingEnd& operator=(const PendingEnd&) = delete;

private:
    std::shared_ptr<Pending> pending_;
};

struct HEDDLE_HIDDEN ModuleState : Pending {
    explicit ModuleState(Device d) noexcept : device(d) {}
    Device device;
    std::map<std::string, std::string> lowered_names;
    std::vector<ModuleKernelData*> kernels;  ///< live as long as the process, like their code

    /// Loads the code and finishes the job. Call after claim(). An error is stored in the module.
    void load(const std::string& image, const SourceLocation& where) noexcept;
};

struct HEDDLE_HIDDEN ProgramState : Pending {
    std::string source;
    ProgramOptions options;
    std::optional<Device> device;
    std::string cache;  ///< the cache's folder; empty if the cache is not used
    SourceLocation where;
    Compiled compiled;
    bool was_cached = false;

    std::mutex modules_mutex;
    std::unordered_map<Device, std::shared_ptr<ModuleState>> modules;

    void compile();
};

/// Throws Unsupported for CPU devices, and for all devices if CUDA is not available.
void check_code_device(Device device, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
