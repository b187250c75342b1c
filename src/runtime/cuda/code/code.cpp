// Compiles CUDA C++ with NVRTC, and loads the result.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/seam/code_backend.hpp"
#include "core/stream/registry.hpp"
#include "cuda/code/nvrtc.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/device/native_event.hpp"
#include <heddle/cuda.hpp>

namespace heddle::detail {

namespace cu {

namespace {

/// Owns an NVRTC program.
class NvrtcProgram {
public:
    NvrtcProgram(const Nvrtc& nvrtc, const std::string& source, const ProgramOptions& options,
                 const SourceLocation& where)
        : nvrtc_(nvrtc), where_(where) {
        std::vector<const char*> texts, names;
        for (const auto& [name, text] : options.headers) {
            names.push_back(name.c_str());
            texts.push_back(text.c_str());
        }
        check(nvrtc_.create(&handle_, source.c_str(), options.name.c_str(),
                            static_cast<int>(names.size()), texts.data(), names.data()),
              "nvrtcCreateProgram");
    }
    ~NvrtcProgram() {
        if (handle_ != nullptr) nvrtc_.destroy(&handle_);
    }
    NvrtcProgram(const NvrtcProgram&) = delete;
    NvrtcProgram& operator=(const NvrtcProgram&) = delete;

    Nvrtc::Handle get() const noexcept { return handle_; }

    void check(int code, const char* call) const {
        if (code == 0) return;
        coded_error(ErrorCode::native,
                    ErrorSite(call, where_).with_native(code, nvrtc_.error_text(code)),
                    "{} failed: {}", call, nvrtc_.error_text(code));
    }

    /// Returns a text or an image. NVRTC returns the size by one call and the contents by another.
    std::string take(int (*size_of)(Nvrtc::Handle, std::size_t*),
                     int (*fetch)(Nvrtc::Handle, char*), const char* call) const {
        std::size_t size = 0;
        check(size_of(handle_, &size), call);
        std::string data(size, '\0');
        if (size != 0) check(fetch(handle_, data.data()), call);
        return data;
    }

private:
    const Nvrtc& nvrtc_;
    const SourceLocation& where_;
    Nvrtc::Handle handle_ = nullptr;
};

/// Cuts the text off at its first null character.
std::string as_text(std::string data) {
    data.resize(std::strlen(data.c_str()));
    return data;
}

/// Returns whether the driver can load the image: an ELF file, a fatbin (its wrapper or the fatbin
/// itself), or PTX text.
bool is_image(std::string_view image) {
    constexpr std::string_view elf = "\x7f"
                                     "ELF",
                               fatbin = "\x50\xed\x55\xba", wrapper = "\xb1\x43\x62\x46";
    if (image.starts_with(elf) || image.starts_with(fatbin) || image.starts_with(wrapper))
        return true;
    return image.find(".version") != std::string_view::npos &&
           image.find('\0') == std::string_view::npos;
}

/// Returns whether closed streams may still have pending work.
bool has_zombies(Gpu& g) {
    run_cleanups(g);
    const std::lock_guard lock(g.cleanups_mutex);
    return g.zombies_in_hand != 0 || std::ranges::any_of(g.zombies, [](const Zombie& z) {
               return z.stream->final_event != nullptr;
           });
}

class CudaCode final : public CodeBackend {
    void check_supported(const char*, const SourceLocation&) override {}

    std::string architecture_of(Device device, const SourceLocation& where) override {
        refuse_forked("compile", where);
        int major = 0, minor = 0;
        cu::check(
            api.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index()),
            "cudaDeviceGetAttribute", device.index(), where);
        cu::check(
            api.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index()),
            "cudaDeviceGetAttribute", device.index(), where);
        return "sm_" + std::to_string(major) + std::to_string(minor);
    }

    std::string compiler(const SourceLocation& where) override { return nvrtc(where).identity; }

    std::string supported_architecture(const std::string& wanted,
                                       const SourceLocation& where) override {
        const std::vector<int>& known = nvrtc(where).architectures;
        int number = 0;
        std::from_chars(wanted.data() + 3, wanted.data() + wanted.size(), number);
        if (std::ranges::find(known, number) != known.end()) return wanted;
        const auto newer = std::ranges::upper_bound(known, number);
        if (newer == known.begin())
            unsupported_error({"compile", where},
                              "this compiler ({}) does not support GPUs as old as {}: set "
                              "HEDDLE_NVRTC to an older compiler",
                              nvrtc(where).identity, wanted);
        return "compute_" + std::to_string(*(newer - 1));
    }

    Compiled compile(const std::string& source, const ProgramOptions& options,
                     const SourceLocation& where) override {
        const Nvrtc& n = nvrtc(where);
        const NvrtcProgram program(n, source, options, where);
        for (const std::string& name : options.names)
            program.check(n.add_name(program.get(), name.c_str()), "nvrtcAddNameExpression");
        const std::string architecture = "--gpu-architecture=" + options.architecture;
        std::vector<const char*> all{architecture.c_str()};
        for (const std::string& option : options.options) all.push_back(option.c_str());
        const int code = n.compile(program.get(), static_cast<int>(all.size()), all.data());

        Compiled compiled;
        compiled.log = as_text(program.take(n.log_size, n.get_log, "nvrtcGetProgramLog"));
        if (code == Nvrtc::bad_source) return compiled;
        if (code != 0) {
            if (compiled.log.empty()) program.check(code, "nvrtcCompileProgram");
            compiled.log = formatted("{}: {}", n.error_text(code), compiled.log);
            return compiled;
        }
        const bool is_ptx = options.architecture.starts_with("compute_");
        compiled.image = is_ptx ? as_text(program.take(n.ptx_size, n.get_ptx, "nvrtcGetPTX"))
                                : program.take(n.cubin_size, n.get_cubin, "nvrtcGetCUBIN");
        for (const std::string& name : options.names) {
            const char* lowered = nullptr;
            program.check(n.lowered_name(program.get(), name.c_str(), &lowered),
                          "nvrtcGetLoweredName");
            compiled.lowered_names[name] = lowered;
        }
        compiled.succeeded = true;
        return compiled;
    }

    const char* name_of_function(const void* symbol) noexcept override {
        return global_name(symbol);
    }
    bool is_idle(Device device) noexcept override {
        Gpu* g = gpu_if_used(device.index());
        if (g == nullptr || is_forked() || g->lost.load(std::memory_order_acquire)) return true;
        bool idle = true;
        try {
            const RelaxedCapture relaxed;
            if (has_zombies(*g)) return false;
            for_each_stream([&](StreamRecord& s) {
                if (!idle || s.device != device || s.has(stream_flag::dead)) return;
                const std::lock_guard life(s.life);
                // Captured work does not run.
                if (s.native == nullptr || capture_of(s) != 0) return;
                const OnStream on(*g, s.native);
                if (api.cuStreamQuery(native_of(s)) == CUDA_ERROR_NOT_READY) idle = false;
            });
        } catch (...) {
            return false;  // assumes pending work if out of memory
        }
        return idle;
    }

    ModuleKernels load(Device device, const std::string& image,
                       const SourceLocation& where) override;
};

/// Unloads the module if a later step of loading it fails.
class Loaded {
public:
    ~Loaded() {
        if (module != nullptr) note_failure(api.cuModuleUnload(module), "cuModuleUnload", -1);
    }
    CUmodule module = nullptr;
};

ModuleKernels CudaCode::load(Device device, const std::string& image, const SourceLocation& where) {
    if (!is_image(image))
        usage_error({"load", where, device}, "not GPU code: expected a cubin, a fatbin or PTX");
    Gpu& g = gpu(device.index(), where);
    const RelaxedCapture relaxed;
    const InContext in(g);
    std::array<char, 8192> log{};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
    Loaded loaded;
    const CUresult code = api.cuModuleLoadDataEx(&loaded.module, image.c_str(), 2, options, values);
    if (code == CUDA_ERROR_INVALID_PTX && log[0] != '\0')
        coded_error(ErrorCode::compile,
                    with_native({"cuModuleLoadDataEx", where, device}, as_runtime(code)),
                    "the driver cannot compile this PTX:\n{}", log.data());
    cu::check(code, "cuModuleLoadDataEx", device.index(), where);

    // Loads all kernels now. Loading a kernel at its first launch would delay that launch.
    unsigned count = 0;
    cu::check(api.cuModuleGetFunctionCount(&count, loaded.module), "cuModuleGetFunctionCount",
              device.index(), where);
    std::vector<CUfunction> functions(count);
    if (count != 0)
        cu::check(api.cuModuleEnumerateFunctions(functions.data(), count, loaded.module),
                  "cuModuleEnumerateFunctions", device.index(), where);
    ModuleKernels kernels;
    for (CUfunction function : functions) {
        cu::check(api.cuFuncLoad(function), "cuFuncLoad", device.index(), where);
        auto kernel = std::make_unique<ModuleKernelData>();
        const char* name = nullptr;
        cu::check(api.cuFuncGetName(&name, function), "cuFuncGetName", device.index(), where);
        kernel->name = name;
        kernel->native = function;
        std::size_t offset = 0, size = 0;
        for (std::size_t i = 0; api.cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS;
             ++i)
            kernel->parameters.push_back(size);
        kernels.push_back(std::move(kernel));
    }
    loaded.module = nullptr;  // never unloaded from here on
    return kernels;
}

}  // namespace

}  // namespace cu

namespace {
constinit NeverDestroyed<cu::CudaCode> instance;
}
CodeBackend& code_backend() noexcept { return instance.get(); }

}  // namespace heddle::detail
