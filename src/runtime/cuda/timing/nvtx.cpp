// Names for NVIDIA's tools (Nsight Systems and others): a range for each public call, in heddle's
// own domain, and the names of streams and threads. NVTX consists of headers only. While no tool is
// attached, each NVTX call only tests a pointer.
#include "core/operation/start.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <heddle/operation/observer.hpp>

#include "core/base/format.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail::cu {

namespace {

class NvtxNames final : public Observer {
public:
    NvtxNames() : domain_(nvtxDomainCreateA("heddle")) {}

    void on_call_begin(const CallInfo& call) noexcept override {
        name_this_thread();
        nvtxEventAttributes_t attributes{};
        attributes.version = NVTX_VERSION;
        attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        if (const nvtxStringHandle_t text = text_of(call)) {
            attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
            attributes.message.registered = text;
        } else {
            attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
            attributes.message.ascii = call.name;
        }
        nvtxDomainRangePushEx(domain_, &attributes);
    }
    void on_call_end() noexcept override { nvtxDomainRangePop(domain_); }

    void on_op(const OpInfo& op) noexcept override {
        if (!op.stream || !op.stream.device().is_cuda()) return;
        constinit static thread_local std::uint64_t last_named = 0;
        if (op.stream.id() == last_named) return;
        last_named = op.stream.id();
        const auto native = static_cast<CUstream>(Access::state(op.stream).native);
        try {
            nvtxNameCuStreamA(native, op.stream.name().c_str());
        } catch (...) {  // out of memory: the stream gets no name
        }
    }

private:
    static void name_this_thread() noexcept {
        constinit static thread_local bool is_named = false;
        if (std::exchange(is_named, true)) return;
        const long id = syscall(SYS_gettid);
        char name[64] = "main";
        if (id != getpid()) (void)pthread_getname_np(pthread_self(), name, sizeof name);
        nvtxNameOsThreadA(static_cast<std::uint32_t>(id), name);
    }

    /// Returns the call's registered text, or null if out of memory.
    nvtxStringHandle_t text_of(const CallInfo& call) noexcept try {
        const std::tuple site(std::string_view(call.name), std::string_view(call.where.file),
                              call.where.line);
        const std::lock_guard lock(mutex_);
        if (const auto found = texts_.find(site); found != texts_.end()) return found->second;
        const std::string_view file = std::get<1>(site);
        std::string text(call.name);
        if (call.where.line != 0)
            text += formatted(" {}:{}", file.substr(file.find_last_of('/') + 1), call.where.line);
        const nvtxStringHandle_t handle = nvtxDomainRegisterStringA(domain_, text.c_str());
        texts_.emplace(std::tuple(std::string(call.name), std::string(file), call.where.line),
                       handle);
        return handle;
    } catch (...) {
        return nullptr;
    }

    const nvtxDomainHandle_t domain_;
    std::mutex mutex_;
    /// The key is the name of the call, file and line.
    std::map<std::tuple<std::string, std::string, unsigned>, nvtxStringHandle_t, std::less<>>
        texts_;
};

}  // namespace

}  // namespace heddle::detail::cu

namespace heddle::detail {

void start_nvtx() {
    // Never destroyed, because calls may occur during static destruction.
    auto* const names = new cu::NvtxNames;
    add_observer(*names, {.calls = true});
}

}  // namespace heddle::detail

#else

#include "core/base/errors.hpp"

namespace heddle::detail {

void start_nvtx() {
    coded_error(
        ErrorCode::unsupported, {"HEDDLE_NVTX", {}},
        "the CUDA toolkit that heddle was built with has no NVTX headers: build heddle with NVTX");
}

}  // namespace heddle::detail

#endif
