// A tool that NVTX loads (NVTX_INJECTION64_PATH). It prints the ranges and names that it receives.
#include <cstdint>
#include <cstdio>

#include <nvtx3/nvToolsExt.h>

namespace {

nvtxDomainHandle_t domain(const char* name) {
    std::printf("domain %s\n", name);
    return reinterpret_cast<nvtxDomainHandle_t>(std::uintptr_t{1});
}

nvtxStringHandle_t text(nvtxDomainHandle_t, const char* string) {
    return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(string));
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
    const bool is_registered = attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
    std::printf("push %s\n", is_registered
                                 ? reinterpret_cast<const char*>(attributes->message.registered)
                                 : attributes->message.ascii);
    return 0;
}

int pop(nvtxDomainHandle_t) {
    std::printf("pop\n");
    return 0;
}

void name_thread(std::uint32_t, const char* name) { std::printf("thread %s\n", name); }

/// Copies the string, because the texts that heddle registers are valid only during the call.
nvtxStringHandle_t keep(nvtxDomainHandle_t handle, const char* string) {
    static char kept[100][100];
    static int count = 0;
    char* const to = kept[count++ % 100];
    std::snprintf(to, sizeof kept[0], "%s", string);
    return text(handle, to);
}

template <class F> void set(NvtxFunctionTable table, unsigned int size, int index, F* function) {
    if (static_cast<unsigned int>(index) < size && table[index] != nullptr)
        *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const auto* const callbacks =
        static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks == nullptr) return 0;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) != 0) {
        set(table, size, NVTX_CBID_CORE2_DomainCreateA, &domain);
        set(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, &keep);
        set(table, size, NVTX_CBID_CORE2_DomainRangePushEx, &push);
        set(table, size, NVTX_CBID_CORE2_DomainRangePop, &pop);
    }
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) != 0)
        set(table, size, NVTX_CBID_CORE_NameOsThreadA, &name_thread);
    return 1;
}
