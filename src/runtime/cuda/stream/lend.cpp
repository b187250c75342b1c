// Lends native handles, as declared in <heddle/with/native.hpp>.
#include "core/stream/lend.hpp"

#include <exception>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "core/stream/usable.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/stream/wrapped.hpp"
#include "cuda/timing/timing.hpp"
#include <heddle/cuda.hpp>
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle {

namespace detail {

namespace {

/// Begins a loan, as begin_lend() does. Throws UsageError if no handle can be lent.
bool begin_native(OpenLoan& loan, std::span<const MemoryArgument> memory) {
    StreamRecord& stream = loan.stream;
    check_usable(stream, loan.call, loan.where);
    if (!stream.device.is_cuda()) [[unlikely]]
        usage_error({loan.call, loan.where, stream},
                    "a stream of a CPU device has no CUDA handle: enqueue host work on it with "
                    "launch_host()");
    if (thread_states.in_host_function) [[unlikely]]
        usage_error({loan.call, loan.where, stream},
                    "a host function cannot enqueue on a CUDA stream: enqueue the work on the "
                    "stream after the host function");
    cu::refuse_forked(loan.call, loan.where);
    // CUDA refuses a query of the stream's id during a native capture. A later loan then queries
    // it.
    if (!stream.has(stream_flag::lent) && cu::capture_of(stream) == 0) [[unlikely]] {
        cu::remember_handle(stream, loan.where);
        stream.set(stream_flag::lent);
    }
    return begin_lend(loan, memory);
}

void end_native(const OpenLoan& loan, std::span<const MemoryArgument> memory) {
    if (is_observed() && loan.recorded.recording == 0) [[unlikely]]
        cu::time_end(loan.stream);
    end_lend(loan, memory);
}

}  // namespace

void lend_native(StreamRef stream, cudaError_t (*call)(void* function, cudaStream_t native),
                 void* function, std::span<const MemoryArgument> memory, const char* public_call,
                 const SourceLocation& where) {
    const CallMark mark(public_call, where);
    OpenLoan loan{record_of(stream), public_call, where};
    try {
        if (!begin_native(loan, memory)) return;
    } catch (...) {
        rethrow_as_error(public_call, where);
    }
    cudaError_t code = cudaSuccess;
    try {
        const cu::InContext in(cu::gpu_of(loan.stream));
        code = call(function, static_cast<cudaStream_t>(native_of(loan)));
    } catch (...) {
        try {
            end_native(loan, memory);
        } catch (...) {
            report(std::current_exception());
        }
        throw;
    }
    end_native(loan, memory);
    cu::check(code, public_call, loan.stream, where);
}

}  // namespace detail

using namespace detail;

void BorrowedStream::begin(StreamRef stream, std::span<const MemoryArgument> memory,
                           const char* call, const SourceLocation& where) try {
    OpenLoan loan{record_of(stream), call, where};
    if (!begin_native(loan, memory)) {
        throw_known_failure(loan.stream);
        usage_error({call, where, loan.stream}, "the stream has failed: call clear_error() first");
    }
    call_ = call;
    where_ = where;
    key_ = loan.key;
    recording_ = loan.recorded.recording;
    loan_ = loan.recorded.number;
    state_ = &loan.stream;
    try {
        native_ = static_cast<cudaStream_t>(native_of(loan));
        if (!is_noted()) [[likely]]
            return;
        memory_.assign(memory.begin(), memory.end());
    } catch (...) {
        end(cudaSuccess);
        throw;
    }
} catch (...) {
    rethrow_as_error(call, where);
}

void BorrowedStream::end(cudaError_t code) noexcept {
    StreamRecord& stream = record_of(*state_);
    try {
        const CallMark mark(call_, where_);
        const OpenLoan loan{stream, call_, where_, key_, {recording_, loan_, native_}};
        end_native(loan, memory_);
    } catch (...) {
        report(std::current_exception());
    }
    if (code == cudaSuccess) return;
    report_error(ErrorCode::native,
                 ErrorSite(call_, where_, stream).with_native(code, cudaGetErrorName(code)), "{}",
                 cudaGetErrorString(code));
}

}  // namespace heddle
