// NCCL, loaded at run time, so that a program that does not use NCCL runs without it.
#pragma once

#include <nccl.h>

#include <heddle/location.hpp>

namespace heddle::detail {

/// The NCCL functions that heddle calls.
struct Nccl {
    decltype(&ncclGetVersion) version;
    decltype(&ncclGetErrorString) error_text;
    decltype(&ncclGetLastError) last_error;
    decltype(&ncclGetUniqueId) unique_id;
    decltype(&ncclCommInitRank) init_rank;
    decltype(&ncclCommInitAll) init_all;
    decltype(&ncclCommDestroy) destroy;
    decltype(&ncclCommAbort) abort;
    decltype(&ncclCommGetAsyncError) async_error;
    decltype(&ncclGroupStart) group_start;
    decltype(&ncclGroupEnd) group_end;
    decltype(&ncclBroadcast) broadcast;
    decltype(&ncclReduce) reduce;
    decltype(&ncclAllReduce) all_reduce;
    decltype(&ncclAllGather) all_gather;
    decltype(&ncclReduceScatter) reduce_scatter;
    decltype(&ncclSend) send;
    decltype(&ncclRecv) receive;
};

/// Returns the library. The first call loads it. The environment variable HEDDLE_NCCL may name the
/// file; otherwise, the folders of the linker and of CUDA's installer are searched. If no library
/// is found, each call throws Unsupported.
const Nccl& nccl(const char* call, const SourceLocation& where);

}  // namespace heddle::detail
