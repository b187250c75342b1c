// Modules: loading images, and finding kernels by name.
#include <heddle/code/module.hpp>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/made_once.hpp"

#include "core/code/program.hpp"

namespace heddle {

namespace detail {

namespace {
void keep(std::unique_ptr<ModuleKernelData> kernel) {
    static constinit std::mutex mutex;
    static constinit MadeOnce<ModuleKernels> all;
    const std::lock_guard lock(mutex);
    all.get().push_back(std::move(kernel));
}
}  // namespace

void ModuleState::load(const std::string& image, const SourceLocation& where) noexcept {
    std::exception_ptr error;
    try {
        for (auto& kernel : code_backend().load(device, image, where)) {
            kernel->device = device;
            kernel->readable = readable_kernel_name(kernel->name);
            kernels.push_back(kernel.get());
            keep(std::move(kernel));
        }
    } catch (...) {
        error = std::current_exception();
    }
    finish(std::move(error));
}

void throw_argument_count(const ModuleKernelData& kernel, std::size_t passed,
                          const SourceLocation& where) try {
    usage_error({"launch", where, kernel.device},
                "kernel {} has {} parameters, but {} arguments are passed: pass one argument for "
                "each parameter",
                kernel.readable, kernel.parameters.size(), passed);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void throw_argument_size(const ModuleKernelData& kernel, std::size_t index, std::size_t passed,
                         const SourceLocation& where) try {
    usage_error({"launch", where, kernel.device},
                "argument {} of kernel {} has {} bytes, but the parameter has {}: pass a value of "
                "the parameter's type",
                index + 1, kernel.readable, passed, kernel.parameters[index]);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

namespace {

std::string without_spaces(std::string text) {
    std::erase(text, ' ');
    return text;
}

std::string list_of(const std::vector<const ModuleKernelData*>& kernels, bool mangled) {
    std::string all;
    for (const ModuleKernelData* kernel : kernels) {
        if (all.size() > 1000) return all + ", ...";
        all += (all.empty() ? "" : ", ") + (mangled ? kernel->name : kernel->readable);
    }
    return all.empty() ? "none" : all;
}

}  // namespace

}  // namespace detail

Module Module::from_image(Device device, std::span<const std::byte> image, Where where) try {
    detail::check_code_device(device, "Module::from_image", where);
    auto state = std::make_shared<detail::ModuleState>(device);
    state->claim();
    state->load(std::string(reinterpret_cast<const char*>(image.data()), image.size()), where);
    state->wait("Module::from_image", where);
    return detail::Access::make<Module>(std::move(state));
} catch (...) {
    detail::rethrow_as_error("from_image", where);
}

Module Module::from_file(Device device, const std::string& path, Where where) try {
    detail::check_code_device(device, "Module::from_file", where);
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    const std::string image{std::istreambuf_iterator<char>(file), {}};
    if (!file.is_open() || file.bad() || (image.empty() && errno != 0)) {
        const int code = errno;
        detail::coded_error(ErrorCode::native,
                            detail::ErrorSite("Module::from_file", where, device).with_native(code),
                            "\"{}\" cannot be read: {}", path,
                            std::generic_category().message(code));
    }
    return from_image(device, std::as_bytes(std::span(image)), where);
} catch (...) {
    detail::rethrow_as_error("from_file", where);
}

Device Module::device() const noexcept { return state_->device; }

std::span<const std::size_t> ModuleKernel::parameters() const noexcept { return data_->parameters; }

bool Module::is_ready() const noexcept { return state_->is_done(); }

void Module::wait(Where where) const { state_->wait("Module::wait", where); }

std::vector<std::string> Module::kernel_names(Where where) const try {
    state_->wait("Module::kernel_names", where);
    std::vector<std::string> names;
    for (const auto& kernel : state_->kernels) names.push_back(kernel->readable);
    return names;
} catch (...) {
    detail::rethrow_as_error("kernel_names", where);
}

ModuleKernel Module::kernel(const std::string& name, Where where) const try {
    state_->wait("Module::kernel", where);
    const auto lowered = state_->lowered_names.find(name);
    const std::string& exact = lowered != state_->lowered_names.end() ? lowered->second : name;
    for (const auto& kernel : state_->kernels)
        if (kernel->name == exact) return detail::Access::make<ModuleKernel>(*kernel);

    std::vector<const detail::ModuleKernelData*> all, meant;
    const std::string wanted = detail::without_spaces(name);
    detail::ModuleKernelData* found = nullptr;
    for (detail::ModuleKernelData* kernel : state_->kernels) {
        all.push_back(kernel);
        if (detail::without_spaces(kernel->readable) != wanted) continue;
        found = kernel;
        meant.push_back(found);
    }
    if (meant.size() == 1) return detail::Access::make<ModuleKernel>(*found);
    const detail::ErrorSite site{"Module::kernel", where, state_->device};
    if (meant.empty())
        detail::usage_error(site,
                            "the module has no kernel \"{}\": use one of {}, or list template "
                            "instances in ProgramOptions::names",
                            name, detail::list_of(all, false));
    detail::usage_error(site, "\"{}\" matches several kernels: use one of the mangled names {}",
                        name, detail::list_of(meant, true));
} catch (...) {
    detail::rethrow_as_error("kernel", where);
}

}  // namespace heddle
