#include "nccl/nccl_error.hpp"

namespace heddle::detail {

namespace {

const char* to_string(ncclResult_t code) {
    switch (code) {
    case ncclSuccess: return "ncclSuccess";
    case ncclUnhandledCudaError: return "ncclUnhandledCudaError";
    case ncclSystemError: return "ncclSystemError";
    case ncclInternalError: return "ncclInternalError";
    case ncclInvalidArgument: return "ncclInvalidArgument";
    case ncclInvalidUsage: return "ncclInvalidUsage";
    case ncclRemoteError: return "ncclRemoteError";
    case ncclInProgress: return "ncclInProgress";
    default: return "unknown";
    }
}

}  // namespace

ErrorInfo nccl_error(const Nccl& f, ncclResult_t code, const char* call, Device device,
                     const SourceLocation& where) {
    const char* const text = f.last_error(nullptr);
    const std::string more = text != nullptr && *text != '\0' ? formatted(" ({})", text) : "";
    return error_info(ErrorCode::native,
                      ErrorSite(call, where, device).with_native(code, to_string(code)),
                      "{}{}. Set NCCL_DEBUG=INFO for details", f.error_text(code), more);
}

void check_nccl(const Nccl& f, ncclResult_t code, const char* call, Device device,
                const SourceLocation& where) {
    if (code != ncclSuccess) throw_error(nccl_error(f, code, call, device, where));
}

}  // namespace heddle::detail
