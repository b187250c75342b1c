#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "core/base/background.hpp"
#include "core/base/format.hpp"
#include "core/base/shared_library.hpp"
#include "cuda/cupti/api.hpp"
#include "cuda/device/versions.hpp"

namespace heddle::detail::cu {

namespace {

/// Returns the path of the library beside a CUDA runtime that the process has loaded, or "". Python
/// packages install the two in one folder, which the linker does not search.
std::string beside_runtime() {
    void* const runtime = dlopen(cudart_name, RTLD_NOW | RTLD_NOLOAD);
    if (runtime == nullptr) return "";
    link_map* map = nullptr;
    std::string file;
    if (dlinfo(runtime, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr)
        file = map->l_name;
    dlclose(runtime);
    const std::size_t slash = file.rfind('/');
    return slash == std::string::npos ? "" : file.substr(0, slash + 1) + cupti_name;
}

std::vector<std::string> names() {
    std::vector<std::string> all{cupti_name, "libcupti.so"};
    if (const std::string beside = beside_runtime(); !beside.empty()) all.push_back(beside);
#ifdef HEDDLE_CUPTI_FOLDER  // the folder in the toolkit that heddle was built with
    all.push_back(std::string(HEDDLE_CUPTI_FOLDER "/") + cupti_name);
#endif
    return all;
}

/// Returns a problem with the library's version, or "". Other major versions lay out records
/// differently.
std::string version_problem(const CuptiApi& functions) {
    constexpr unsigned built = cuda_of_cupti(CUPTI_API_VERSION);
    std::uint32_t version = 0;
    if (functions.version(&version) != CUPTI_SUCCESS) return "the library's version cannot be read";
    if (cuda_of_cupti(version) == built) return "";
    return formatted("the library has version {}, but heddle needs a version of CUDA {}", version,
                     built);
}

}  // namespace

LoadedCupti load_cupti() {
    LoadedCupti loaded;
    SharedLibrary library(Variable::cupti, names());
    loaded.problem = library.problem();
    if (library.handle() == nullptr) return loaded;
    loaded.problem.clear();
    end_background_at_exit();  // the threads end before the library's exit handlers run

    CuptiApi& f = loaded.functions;
    const auto need = [&](auto& function, const char* symbol) { library.find(function, symbol); };
    need(f.version, "cuptiGetVersion"), need(f.result_text, "cuptiGetResultString");
    need(f.timestamp, "cuptiGetTimestamp");
    need(f.subscribe, "cuptiSubscribe"), need(f.unsubscribe, "cuptiUnsubscribe");
    need(f.enable_callback, "cuptiEnableCallback");
    need(f.graph_node_id, "cuptiGetGraphNodeId");
    need(f.register_buffers, "cuptiActivityRegisterCallbacks");
    need(f.enable, "cuptiActivityEnable"), need(f.disable, "cuptiActivityDisable");
    need(f.flush, "cuptiActivityFlushAll"), need(f.next_record, "cuptiActivityGetNextRecord");
    need(f.dropped, "cuptiActivityGetNumDroppedRecords");
    need(f.push_id, "cuptiActivityPushExternalCorrelationId");
    need(f.pop_id, "cuptiActivityPopExternalCorrelationId");
    if (!library.missing().empty())
        loaded.problem =
            formatted("the library lacks {}, so it is not CUPTI, or is too old", library.missing());
    else loaded.problem = version_problem(f);
    return loaded;
}

}  // namespace heddle::detail::cu
