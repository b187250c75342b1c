// Errors of NCCL.
#pragma once

#include "core/base/errors.hpp"
#include "nccl/library.hpp"

namespace heddle::detail {

/// Returns the error for a result of NCCL. The message contains NCCL's own text.
ErrorInfo nccl_error(const Nccl& f, ncclResult_t code, const char* call, Device device,
                     const SourceLocation& where);
/// Throws NativeError unless `code` is ncclSuccess.
void check_nccl(const Nccl& f, ncclResult_t code, const char* call, Device device,
                const SourceLocation& where);

}  // namespace heddle::detail
