// What stands behind programs and modules.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unordered_map>

#include "core/code_backend.hpp"

namespace heddle::detail {

/// Something that a thread in the background brings to an end, well or not.
class Pending {
public:
    Pending();
    bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Blocks until it is done; throws what went wrong. UsageError in host functions, ForkedError where the thread is the parent's.
    void wait(const char* call, const SourceLocation& where) const;
    /// The same, but throws only what prevents waiting.
    void wait_quietly(const char* call, const SourceLocation& where) const;
    /// Once.
    void finish(std::exception_ptr error) noexcept;
    const std::exception_ptr& error() const noexcept { return error_; }  ///< when it is done
    /// Whoever gets true brings it to its end.
    bool claim() noexcept { return !claimed_.exchange(true, std::memory_order_acq_rel); }
    bool is_claimed() const noexcept { return claimed_.load(std::memory_order_acquire); }

private:
    const pid_t process_;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::atomic<bool> done_{false}, claimed_{false};
    std::exception_ptr error_;
};

/// Keeps those who wait from waiting for ever when a job is dropped because the process ends.
class EndOf {
public:
    explicit EndOf(std::shared_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}
    ~EndOf();
    EndOf(const EndOf&) = delete;
    EndOf& operator=(const EndOf&) = delete;

private:
    std::shared_ptr<Pending> pending_;
};

struct ModuleState : Pending {
    explicit ModuleState(Device d) noexcept : device(d) {}
    Device device;
    std::map<std::string, std::string> lowered_names;
    std::vector<ModuleKernelData*> kernels;  ///< kept for the life of the process, as the code is

    /// Loads it, by whoever has claimed it. Never throws: the error is the module's.
    void load(const std::string& image, const SourceLocation& where) noexcept;
};

struct ProgramState : Pending {
    std::string source;
    ProgramOptions options;
    std::optional<Device> device;
    std::string cache;  ///< folder; empty: none
    SourceLocation where;
    Compiled compiled;
    bool was_cached = false;

    std::mutex modules_mutex;
    std::unordered_map<Device, std::shared_ptr<ModuleState>> modules;

    void compile();
};

/// "my::scale<float>" out of a kernel's mangled name.
std::string readable_kernel_name(const std::string& mangled);

/// Throws Unsupported for CPU devices, and where there is no CUDA at all.
void check_code_device(Device device, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
