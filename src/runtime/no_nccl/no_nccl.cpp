// Replaces NCCL in a build without NCCL. Each call throws Unsupported.
#include "collective/nccl.hpp"

#include <heddle/error.hpp>

#include "core/base/errors.hpp"
#include "core/seam/runtime_parts.hpp"

namespace heddle::detail {

namespace {
[[noreturn]] void none(const char* call, const SourceLocation& where) {
    unsupported_error({call, where}, "{}", nccl_missing());
}
}  // namespace

std::string nccl_missing() {
    return "heddle was built without NCCL: configure it with HEDDLE_CUDA=ON and HEDDLE_NCCL=ON, "
           "which reports missing parts";
}
RuntimePart nccl_part() { return {.name = "NCCL", .found = {}, .problem = nccl_missing()}; }
CommunicatorId nccl_id(const SourceLocation& where) { none("CommunicatorId::make", where); }
std::unique_ptr<NcclRank> nccl_join(const CommunicatorId&, std::unique_ptr<RollMember>, Device,
                                    std::chrono::milliseconds, const SourceLocation& where) {
    none("Communicator", where);
}
std::vector<std::unique_ptr<NcclRank>> nccl_join_all(const std::vector<Device>&,
                                                     const SourceLocation& where) {
    none("DeviceGroup", where);
}
void nccl_enqueue(const NcclShare*, std::size_t) {}  // never called, because there are no ranks

}  // namespace heddle::detail
