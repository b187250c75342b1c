// Programs: CUDA C++ source compiled at run time, and loaded as modules.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <heddle/code/module.hpp>
#include <heddle/device/device.hpp>
#include <heddle/error.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Options of compile().
struct ProgramOptions {
    /// Options of the compiler (NVRTC): "-I/usr/local/cuda/include", "--use_fast_math", "-DN=4".
    /// Without a "-std" the source is C++20.
    std::vector<std::string> options = {};
    /// Headers that the source can `#include` in addition to files: pairs of a unique name and a
    /// text.
    std::vector<std::pair<std::string, std::string>> headers = {};
    /// Template instances to compile, as named in the source: "my::scale<float>". Kernels that are
    /// not templates are always compiled.
    std::vector<std::string> names = {};
    /// The target architecture. "sm_90" generates code for GPUs of compute capability 9.0.
    /// "compute_90" generates PTX for these and newer GPUs, which the driver compiles when the
    /// module is loaded. If empty, selects the device's own architecture. If the compiler does not
    /// support that one, selects PTX for an older architecture.
    std::string architecture = {};
    /// Caches results on disk, in $HEDDLE_CACHE_DIR, else $XDG_CACHE_HOME/heddle, else
    /// ~/.cache/heddle. The folder holds at most $HEDDLE_CACHE_MIB MiB (1024 if unset); the least
    /// recently used results are removed first. Reads only folders and files that are owned by this
    /// user or root, and writable by no one else.
    bool cache = true;
    /// The name of the source in the compiler's log.
    std::string name = "program.cu";
};

namespace detail {
struct ProgramState;
}

/// A handle to CUDA C++ source that a background thread compiles. Made by compile(). Copies refer
/// to the same program.
///
///     Program program = compile(source, {.names = {"scale<float>"}});
///     Module code = program.load_when_idle();            // does not block
///     ModuleKernel scale = code.kernel("scale<float>");  // blocks until the code is loaded
///     launch(stream, scale, dim(1000), x, 2.0f, 1000);
///
/// Lifetime: destroying a handle never blocks. Compiling continues without it, and modules outlive
/// it. Errors: members that need the code throw CompileError if the source does not compile, and
/// ForkedError in a child of fork() if the parent was still compiling. Thread-safe.
class Program {
public:
    /// Returns whether compilation has ended, in success or failure. Never blocks.
    [[nodiscard]] bool is_ready() const noexcept;
    /// Blocks until compilation has ended. Throws CompileError, with the compiler's log, if the
    /// source does not compile, Unsupported if there is no compiler, and UsageError in host
    /// functions.
    void wait(Where where = {}) const;
    /// Returns the compiler's log, including warnings. Blocks and throws as wait() does, but throws
    /// no CompileError.
    std::string log(Where where = {}) const;
    /// Returns whether the result was read from the cache on disk. Blocks and throws as wait().
    bool was_cached(Where where = {}) const;
    /// Returns the compiled code, a cubin or PTX, for Module::from_image(). Blocks and throws as
    /// wait() does.
    const std::string& image(Where where = {}) const;
    /// Returns the mangled name of one of ProgramOptions::names. Blocks and throws as wait() does.
    /// Throws UsageError if `name` is not one of them.
    std::string lowered_name(const std::string& name, Where where = {}) const;

    /// Loads the code on the program's device (on the current device if the program has none).
    /// Later calls return the same module, unless it failed to load. Blocks and throws as wait()
    /// does. Loading then blocks this call, and other calls to CUDA, until the device is idle: load
    /// before enqueuing work, or use load_when_idle().
    Module load(Where where = {}) const;
    /// Returns a module at once. A background thread loads the code when it is compiled and all of
    /// heddle's streams of the device are idle. If the device is never idle, the code is never
    /// loaded. The module's members throw the errors of compiling and loading. Work that is
    /// enqueued in the microseconds between that check and the loading still delays the loading.
    Module load_when_idle(Where where = {}) const;

private:
    friend detail::Access;
    explicit Program(std::shared_ptr<detail::ProgramState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<detail::ProgramState> state_;
};

/// Starts to compile CUDA C++ source for `device`, and returns at once. Throws Unsupported for CPU
/// devices and in builds without CUDA. Throws UsageError if ProgramOptions::options names an
/// architecture, or if ProgramOptions::architecture is not "sm_..." or "compute_...".
[[nodiscard]] Program compile(Device device, std::string source, ProgramOptions options = {},
                              Where where = {});
/// Starts to compile for the current device. With ProgramOptions::architecture, the program has no
/// device, and no GPU is required.
[[nodiscard]] Program compile(std::string source, ProgramOptions options = {}, Where where = {});

}  // namespace heddle
