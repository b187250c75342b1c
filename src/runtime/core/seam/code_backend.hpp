// The seam for code that is compiled and loaded at run time. Separate from backend.hpp, because
// only CUDA devices have it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <heddle/code/module.hpp>
#include <heddle/code/program.hpp>
#include <heddle/error.hpp>

namespace heddle::detail {

/// The result of compiling a source.
struct Compiled {
    bool succeeded = false;
    std::string image;
    std::string log;
    std::map<std::string, std::string> lowered_names;
};

using ModuleKernels = std::vector<std::unique_ptr<ModuleKernelData>>;

/// Functions throw heddle::Error unless marked noexcept. Thread-safe.
class CodeBackend {
public:
    virtual ~CodeBackend() = default;

    /// Throws Unsupported if this build of heddle cannot compile or load code.
    virtual void check_supported(const char* call, const SourceLocation& where) = 0;
    /// Returns the device's architecture, such as "sm_90".
    virtual std::string architecture_of(Device device, const SourceLocation& where) = 0;

    /// Returns the compiler's name and version, and loads it on first use. Throws Unsupported if
    /// there is none.
    virtual std::string compiler(const SourceLocation& where) = 0;
    /// Returns the architecture to compile for: the argument if the compiler supports it. Otherwise
    /// returns the newest older architecture that is supported, as PTX ("compute_90"). Throws
    /// Unsupported if there is none.
    virtual std::string supported_architecture(const std::string& wanted,
                                               const SourceLocation& where) = 0;
    /// Compiles `source`; `options.architecture` must be set. If the source does not compile,
    /// returns `succeeded == false` and the log instead of throwing.
    virtual Compiled compile(const std::string& source, const ProgramOptions& options,
                             const SourceLocation& where) = 0;

    /// Returns whether all work on heddle's streams of the device has completed; may return false
    /// if memory is short. Does not wait for the device.
    virtual bool is_idle(Device device) noexcept = 0;
    /// Returns the mangled name of a __global__ function, or "?" if it is unknown.
    virtual const char* name_of_function(const void* symbol) noexcept = 0;
    /// Loads code and all its kernels; they are never unloaded. Blocks until the device is idle.
    virtual ModuleKernels load(Device device, const std::string& image,
                               const SourceLocation& where) = 0;
};

CodeBackend& code_backend() noexcept;

}  // namespace heddle::detail
