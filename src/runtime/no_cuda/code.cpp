// Replaces compiling and loading CUDA C++ in a build without CUDA. Each call throws Unsupported.
#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/seam/code_backend.hpp"

namespace heddle::detail {

namespace {

class NoCode final : public CodeBackend {
    [[noreturn]] static void none(const char* call, const SourceLocation& where) {
        unsupported_error({call, where}, "heddle was built without CUDA, which compiling and "
                                         "loading CUDA C++ needs: build it with CUDA");
    }

    void check_supported(const char* call, const SourceLocation& where) override {
        none(call, where);
    }
    std::string architecture_of(Device, const SourceLocation& where) override {
        none("compile", where);
    }
    std::string compiler(const SourceLocation& where) override { none("compile", where); }
    std::string supported_architecture(const std::string&, const SourceLocation& where) override {
        none("compile", where);
    }
    Compiled compile(const std::string&, const ProgramOptions&,
                     const SourceLocation& where) override {
        none("compile", where);
    }
    bool is_idle(Device) noexcept override { return true; }
    const char* name_of_function(const void*) noexcept override { return "?"; }
    ModuleKernels load(Device, const std::string&, const SourceLocation& where) override {
        none("load", where);
    }
};

}  // namespace

namespace {
constinit NeverDestroyed<NoCode> no_code;
}
CodeBackend& code_backend() noexcept { return no_code.get(); }

}  // namespace heddle::detail
