// Kernels compiled at run time: CUDA C++ source in, a module out.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <heddle/device.hpp>
#include <heddle/error.hpp>
#include <heddle/module.hpp>

namespace heddle {

struct ProgramOptions {
    /// For the compiler, as NVRTC takes them: "-I/usr/local/cuda/include", "--use_fast_math", "-DN=4". Without a "-std" the
    /// source is C++20.
    std::vector<std::string> options = {};
    /// What the source may #include, beside files: name to text.
    std::map<std::string, std::string> headers = {};
    /// Instances of templates to be compiled, as the source would name them: "my::scale<float>". Kernels that are no templates are compiled
    /// anyway.
    std::vector<std::string> names = {};
    /// "sm_90": code for these GPUs. "compute_90": PTX, which the driver compiles when it is loaded, for these and newer ones.
    /// Empty: what the device is.
    std::string architecture = {};
    /// Keeps the result on disk, and takes it from there: in $HEDDLE_CACHE_DIR, else $XDG_CACHE_HOME/heddle, else
    /// ~/.cache/heddle. All of them together take $HEDDLE_CACHE_MIB mebibytes at most (1024 if unset): those that were not used for
    /// longest go. Nothing is taken from a folder or file that another user owns (but root) or that others may write to.
    bool cache = true;
    /// What the source is called in the compiler's log.
    std::string name = "program.cu";
};

namespace detail {
struct ProgramState;
}

/// CUDA C++ that is being compiled, on a thread of its own, or has been. Copies are the same program.
/// Thread-safety: all members may be called from many threads at once.
class Program {
public:
    /// Whether compiling is over, well or not. Never blocks.
    [[nodiscard]] bool is_ready() const noexcept;
    /// Blocks until compiling is over. Throws what went wrong: CompileError, whose message holds the compiler's log;
    /// Unsupported, where there is no compiler; UsageError in host functions.
    void wait(SourceLocation where = SourceLocation::current()) const;
    /// What the compiler said, warnings too; waits. Throws what wait() does, but not CompileError.
    std::string log(SourceLocation where = SourceLocation::current()) const;
    /// Whether it came from the disk; waits as wait() does.
    bool was_cached(SourceLocation where = SourceLocation::current()) const;
    /// The compiled code, a cubin or PTX, for Module::from_image(); waits as wait() does.
    const std::string& image(SourceLocation where = SourceLocation::current()) const;
    /// What became of one of ProgramOptions::names; waits as wait() does. UsageError if it is none of them.
    std::string lowered_name(const std::string& name, SourceLocation where = SourceLocation::current()) const;

    /// Waits as wait() does, and loads the code on the program's device (if it has none: on the current one), once. Loading waits until
    /// the device is idle, and this call, and other calls to CUDA, with it: call it before there is work, or use load_when_idle().
    Module load(SourceLocation where = SourceLocation::current()) const;
    /// Returns at once. The code is loaded by a thread of heddle's, once it is compiled and at a moment when all heddle's streams of
    /// the device are idle. What goes wrong is thrown by the module. Work given in the microseconds between that look and the load
    /// still meets it.
    Module load_when_idle(SourceLocation where = SourceLocation::current()) const;

private:
    explicit Program(std::shared_ptr<detail::ProgramState> state) noexcept : state_(std::move(state)) {}
    friend Program compile(Device, std::string, ProgramOptions, SourceLocation);
    friend Program compile(std::string, ProgramOptions, SourceLocation);
    std::shared_ptr<detail::ProgramState> state_;
};

/// Starts compiling CUDA C++ source for `device`, and returns at once. Throws Unsupported for CPU devices and in builds without CUDA, and
/// UsageError where options name an architecture.
[[nodiscard]] Program compile(Device device, std::string source, ProgramOptions options = {},
                              SourceLocation where = SourceLocation::current());
/// The same for the current device; or, with an architecture named, for no device in particular, which needs no GPU.
[[nodiscard]] Program compile(std::string source, ProgramOptions options = {},
                              SourceLocation where = SourceLocation::current());

}  // namespace heddle
