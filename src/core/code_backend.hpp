// The seam for code that is compiled and loaded at run time: beside backend.hpp, because only one kind of device has it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <heddle/error.hpp>
#include <heddle/module.hpp>
#include <heddle/program.hpp>

namespace heddle::detail {

/// What a compiler made of a source.
struct Compiled {
    bool succeeded = false;
    std::string image;
    std::string log;
    std::map<std::string, std::string> lowered_names;
};

using ModuleKernels = std::vector<std::unique_ptr<ModuleKernelData>>;

/// Functions throw heddle::Error unless marked noexcept. Thread-safety: all may be called from many threads at once.
class CodeBackend {
public:
    virtual ~CodeBackend() = default;

    /// Throws Unsupported where nothing can ever be compiled or loaded.
    virtual void check_supported(const char* call, const SourceLocation& where) = 0;
    /// "sm_90".
    virtual std::string architecture_of(Device device, const SourceLocation& where) = 0;

    /// Names the compiler and its version; throws Unsupported where there is none. May load it.
    virtual std::string compiler(const SourceLocation& where) = 0;
    /// The architecture that the compiler can do for such a device: itself, or PTX for the newest it knows.
    virtual std::string supported_architecture(const std::string& wanted, const SourceLocation& where) = 0;
    /// `options.architecture` is set. A source that does not compile is no error here.
    virtual Compiled compile(const std::string& source, const ProgramOptions& options,
                             const SourceLocation& where) = 0;

    /// Whether all that heddle's streams of the device were given is done. Never blocks.
    virtual bool is_idle(Device device) noexcept = 0;
    /// Loads code, and all its kernels, for good. Blocks until the device is idle.
    virtual ModuleKernels load(Device device, const std::string& image, const SourceLocation& where) = 0;
};

CodeBackend& code_backend();

}  // namespace heddle::detail
