#include "nccl/library.hpp"

#include <cstdlib>
#include <type_traits>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "collective/nccl.hpp"
#include <heddle/error.hpp>

namespace heddle::detail {

namespace {

constexpr int oldest = NCCL_VERSION(2, 13, 0);  // ncclGetLastError

struct Found {
    Nccl functions{};
    std::string problem;  ///< empty: it is there
};

std::vector<std::string> candidates() {
    if (const char* named = std::getenv("HEDDLE_NCCL"); named != nullptr && *named != '\0') return {named};
    std::vector<std::string> all{"libnccl.so.2"};
    for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
        if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0')
            all.push_back(std::string(folder) + "/lib64/libnccl.so.2");
    all.emplace_back("/usr/local/cuda/lib64/libnccl.so.2");
    return all;
}

Found look() {
    Found found;
    if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) {
        found.problem = "there are no CUDA devices: " + reason;
        return found;
    }
    void* library = nullptr;
    for (const std::string& name : candidates()) {
        library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) break;
        if (const char* why = dlerror(); found.problem.empty()) found.problem = why != nullptr ? why : name;
    }
    if (library == nullptr) {
        found.problem = "there is no NCCL: " + found.problem +
                        ". Install libnccl2, or name the library in the environment's HEDDLE_NCCL";
        return found;
    }
    found.problem.clear();

    Nccl& f = found.functions;
    const auto need = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        if (function == nullptr && found.problem.empty())
            found.problem = std::string("the NCCL found has no ") + name + ": it is too old";
    };
    need(f.version, "ncclGetVersion"), need(f.error_text, "ncclGetErrorString");
    need(f.last_error, "ncclGetLastError");
    need(f.unique_id, "ncclGetUniqueId");
    need(f.init_rank, "ncclCommInitRank"), need(f.init_all, "ncclCommInitAll");
    need(f.destroy, "ncclCommDestroy"), need(f.abort, "ncclCommAbort");
    need(f.async_error, "ncclCommGetAsyncError");
    need(f.group_start, "ncclGroupStart"), need(f.group_end, "ncclGroupEnd");
    need(f.broadcast, "ncclBroadcast"), need(f.reduce, "ncclReduce");
    need(f.all_reduce, "ncclAllReduce"), need(f.all_gather, "ncclAllGather");
    need(f.reduce_scatter, "ncclReduceScatter");
    need(f.send, "ncclSend"), need(f.receive, "ncclRecv");
    if (!found.problem.empty()) return found;
    int version = 0;
    if (f.version(&version) != ncclSuccess || version < oldest)
        found.problem =
            fmt::format("the NCCL found is of version code {}, and 2.13 ({}) is needed", version, oldest);
    return found;
}

const Found& found() {
    static const Found* once = new Found(look());
    return *once;
}

}  // namespace

std::string nccl_missing() { return found().problem; }

const Nccl& nccl(const char* call, const SourceLocation& where) {
    if (found().problem.empty()) return found().functions;
    throw_error({.code = ErrorCode::unsupported, .message = found().problem, .call = call, .where = where});
}

}  // namespace heddle::detail
