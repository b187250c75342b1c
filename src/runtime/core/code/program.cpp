#include "core/code/program.hpp"
#include "core/base/errors.hpp"

#include <algorithm>
#include <string_view>
#include <unistd.h>

#include "core/base/background.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/code/program_cache.hpp"
#include "core/seam/backend.hpp"
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

namespace detail {

Pending::Pending() : process_(getpid()) {}

void Pending::wait_quietly(const char* call, const SourceLocation& where) const {
    if (is_done()) return;
    if (process_ != getpid())
        coded_error(ErrorCode::forked, {call, where},
                    "the program or module was being compiled or loaded in the parent process at "
                    "fork(): compile or load again in this process");
    check_may_wait(call, where);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done(); });
}

void Pending::wait(const char* call, const SourceLocation& where) const {
    wait_quietly(call, where);
    if (error_ != nullptr) std::rethrow_exception(error_);
}

void Pending::finish(std::exception_ptr error) noexcept {
    {
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
        done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
}

PendingEnd::~PendingEnd() {
    if (!pending_->claim()) return;
    pending_->finish(std::make_exception_ptr(
        UsageError({.message = "the process is exiting, so the program or module was not compiled "
                               "or loaded: wait for programs and modules before main() returns",
                    .call = "compile"})));
}

void check_code_device(Device device, const char* call, const SourceLocation& where) {
    if (device.is_cpu())
        unsupported_error({call, where, device},
                          "CUDA C++ runs on CUDA devices only, not on {}: use a portable kernel "
                          "(an object with a HEDDLE_FN operator()), which runs on all devices",
                          device);
    code_backend().check_supported(call, where);
}

void ProgramState::compile() {
    CodeBackend& code = code_backend();
    const std::string compiler = code.compiler(where);
    if (options.architecture.empty())
        options.architecture =
            code.supported_architecture(code.architecture_of(*device, where), where);
    std::optional<std::string> key;
    if (!cache.empty()) key = cache_key(source, options, compiler);
    if (key) {
        if (std::optional<Compiled> kept = read_entry(cache, *key)) {
            compiled = std::move(*kept);
            was_cached = true;
            return;
        }
    }
    compiled = code.compile(source, options, where);
    if (!compiled.succeeded)
        coded_error(ErrorCode::compile, {"compile", where, device},
                    "{} does not compile for {}:\n{}", options.name, options.architecture,
                    compiled.log);
    if (key) write_entry(cache, *key, compiled);
}

namespace {

void check_options(const ProgramOptions& options, const SourceLocation& where) {
    for (const std::string& option : options.options)
        for (const char* name : {"-arch", "--gpu-architecture", "-gpu-architecture"})
            if (option.starts_with(name))
                usage_error({"compile", where},
                            "the option \"{}\" selects an architecture: set "
                            "ProgramOptions::architecture instead",
                            option);
    std::vector<std::string_view> names;
    for (const auto& [name, text] : options.headers) {
        if (std::ranges::find(names, name) != names.end())
            usage_error({"compile", where},
                        "two of ProgramOptions::headers have the name \"{}\": use unique names",
                        name);
        names.push_back(name);
    }
    const std::string& wanted = options.architecture;
    if (!wanted.empty() && !wanted.starts_with("sm_") && !wanted.starts_with("compute_"))
        usage_error({"compile", where},
                    "\"{}\" is not an architecture: write for example \"sm_90\" for machine code "
                    "or \"compute_90\" for PTX",
                    wanted);
}

std::shared_ptr<ProgramState> start(std::optional<Device> device, std::string source,
                                    ProgramOptions options, const SourceLocation& where) {
    check_options(options, where);
    auto state = std::make_shared<ProgramState>();
    state->source = std::move(source);
    state->device = device;
    state->where = where;
    if (options.cache) state->cache = cache_directory();
    if (std::ranges::none_of(options.options, [](const std::string& option) {
            return option.starts_with("-std") || option.starts_with("--std");
        }))
        options.options.insert(options.options.begin(), "--std=c++20");
    state->options = std::move(options);
    in_background([state, end = std::make_shared<PendingEnd>(state)] {
        if (!state->claim()) return;
        std::exception_ptr error;
        try {
            state->compile();
        } catch (...) {
            error = std::current_exception();
        }
        state->finish(std::move(error));
    });
    return state;
}

Device device_to_load_on(const ProgramState& program, const char* call,
                         const SourceLocation& where) {
    const Device device = program.device ? *program.device : current_device();
    check_code_device(device, call, where);
    return device;
}

/// Returns the program's module on a device. If there is none, or the last one failed to load,
/// makes a new one and sets `fresh`.
std::shared_ptr<ModuleState> module_of(ProgramState& program, Device device, bool& fresh) {
    const std::lock_guard lock(program.modules_mutex);
    std::shared_ptr<ModuleState>& module = program.modules[device];
    fresh = module == nullptr || (module->is_done() && module->error() != nullptr);
    if (fresh) module = std::make_shared<ModuleState>(device);
    return module;
}

}  // namespace

}  // namespace detail

bool Program::is_ready() const noexcept { return state_->is_done(); }

void Program::wait(Where where) const { state_->wait("Program::wait", where); }

std::string Program::log(Where where) const try {
    state_->wait_quietly("Program::log", where);
    if (state_->error() != nullptr) {
        try {
            std::rethrow_exception(state_->error());
        } catch (const CompileError&) {
            // the log has the error
        }
    }
    return state_->compiled.log;
} catch (...) {
    detail::rethrow_as_error("log", where);
}

bool Program::was_cached(Where where) const {
    state_->wait("Program::was_cached", where);
    return state_->was_cached;
}

const std::string& Program::image(Where where) const {
    state_->wait("Program::image", where);
    return state_->compiled.image;
}

std::string Program::lowered_name(const std::string& name, Where where) const try {
    state_->wait("Program::lowered_name", where);
    const auto found = state_->compiled.lowered_names.find(name);
    if (found != state_->compiled.lowered_names.end()) return found->second;
    detail::usage_error({"Program::lowered_name", where},
                        "\"{}\" is not in ProgramOptions::names: add the name to that list", name);
} catch (...) {
    detail::rethrow_as_error("lowered_name", where);
}

Module Program::load(Where where) const try {
    const Device device = detail::device_to_load_on(*state_, "Program::load", where);
    state_->wait("Program::load", where);
    bool fresh = false;
    std::shared_ptr<detail::ModuleState> module = detail::module_of(*state_, device, fresh);
    if (module->claim()) {
        module->lowered_names = state_->compiled.lowered_names;
        module->load(state_->compiled.image, where);
    }
    module->wait("Program::load", where);
    return detail::Access::make<Module>(std::move(module));
} catch (...) {
    detail::rethrow_as_error("load", where);
}

Module Program::load_when_idle(Where where) const try {
    const Device device = detail::device_to_load_on(*state_, "Program::load_when_idle", where);
    bool fresh = false;
    std::shared_ptr<detail::ModuleState> module = detail::module_of(*state_, device, fresh);
    if (fresh)
        detail::poll_in_background(
            [program = state_, module, where, end = std::make_shared<detail::PendingEnd>(module)] {
                if (module->is_claimed()) return true;
                if (!program->is_done()) return false;
                if (program->error() == nullptr && !detail::code_backend().is_idle(module->device))
                    return false;
                if (!module->claim()) return true;
                if (program->error() != nullptr) {
                    module->finish(program->error());
                    return true;
                }
                module->lowered_names = program->compiled.lowered_names;
                module->load(program->compiled.image, where);
                return true;
            });
    return detail::Access::make<Module>(std::move(module));
} catch (...) {
    detail::rethrow_as_error("load_when_idle", where);
}

Program compile(Device device, std::string source, ProgramOptions options, Where where) try {
    detail::check_code_device(device, "compile", where);
    return detail::Access::make<Program>(
        detail::start(device, std::move(source), std::move(options), where));
} catch (...) {
    detail::rethrow_as_error("compile", where);
}

Program compile(std::string source, ProgramOptions options, Where where) try {
    if (options.architecture.empty())
        return compile(current_device(), std::move(source), std::move(options), where);
    detail::code_backend().check_supported("compile", where);
    return detail::Access::make<Program>(
        detail::start(std::nullopt, std::move(source), std::move(options), where));
} catch (...) {
    detail::rethrow_as_error("compile", where);
}

}  // namespace heddle
