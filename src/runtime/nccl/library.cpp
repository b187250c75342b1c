#include "nccl/library.hpp"

#include "collective/nccl.hpp"
#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/base/shared_library.hpp"
#include "core/seam/runtime_parts.hpp"
#include <heddle/error.hpp>

namespace heddle::detail {

namespace {

constexpr int oldest = NCCL_VERSION(2, 13, 0);  // the oldest version with ncclGetLastError

struct Found {
    Nccl functions{};
    int version = 0;
    std::string problem;  ///< why the library could not be loaded; empty after a success
};

Found look() {
    Found found;
    if (const std::string reason = cuda_unavailable_reason(); !reason.empty()) {
        found.problem = formatted("no CUDA device is available: {}", reason);
        return found;
    }
    SharedLibrary library(Variable::nccl, {"libnccl.so.2"});
    if (library.handle() == nullptr) {
        found.problem = formatted(
            "NCCL cannot be loaded: {}. Install libnccl2, or set HEDDLE_NCCL to the library's path",
            library.problem());
        return found;
    }

    Nccl& f = found.functions;
    const auto need = [&](auto& function, const char* name) { library.find(function, name); };
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
    if (!library.missing().empty()) {
        found.problem = formatted("NCCL is too old, because it lacks {}: install a newer version",
                                  library.missing());
        return found;
    }
    if (f.version(&found.version) != ncclSuccess || found.version < oldest)
        found.problem = detail::formatted(
            "NCCL has version code {}, but at least 2.13 ({}) is needed: install a newer version",
            found.version, oldest);
    return found;
}

const Found& found() {
    static constinit MadeOnce<Found> once;
    return once.get([] { return new Found(look()); });
}

}  // namespace

RuntimePart nccl_part() {
    const int v = found().version;  // 22705 for 2.27.5
    return {.name = "NCCL",
            .found = v == 0 ? "" : formatted("{}.{}.{}", v / 10000, v / 100 % 100, v % 100),
            .problem = found().problem};
}

std::string nccl_missing() { return found().problem; }

const Nccl& nccl(const char* call, const SourceLocation& where) {
    if (found().problem.empty()) return found().functions;
    unsupported_error({call, where}, "{}", found().problem);
}

}  // namespace heddle::detail
