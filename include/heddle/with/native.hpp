// Lends a stream's native handle to other code, for the duration of a call. Included by
// <heddle/cuda.hpp>.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include <cuda_runtime_api.h>

#include <heddle/operation/host_access.hpp>

namespace heddle HEDDLE_VISIBLE {

class DataOrder;

namespace detail {
/// Functions that may be lent a handle.
template <class F>
concept TakesHandle = std::invocable<F&, cudaStream_t> &&
                      (std::is_void_v<std::invoke_result_t<F&, cudaStream_t>> ||
                       std::same_as<std::invoke_result_t<F&, cudaStream_t>, cudaError_t>);

/// Returns the thread's last error if it differs from `before`, and clears it. Otherwise returns
/// success.
inline cudaError_t take_new_error(cudaError_t before) noexcept {
    const cudaError_t after = cudaPeekAtLastError();
    if (after == before) return cudaSuccess;
    return cudaGetLastError();
}

/// Calls a function of type F. Returns the function's error, or the error that the function has
/// left as the thread's last error.
template <class F> cudaError_t call_with_handle(void* function, cudaStream_t native) {
    F& f = *static_cast<F*>(function);
    const cudaError_t before = cudaPeekAtLastError();
    cudaError_t code = cudaSuccess;
    if constexpr (std::is_void_v<std::invoke_result_t<F&, cudaStream_t>>) std::invoke(f, native);
    else code = std::invoke(f, native);
    const cudaError_t left = take_new_error(before);
    return code != cudaSuccess ? code : left;
}

/// Implements with_native(), with the function behind `call`. Errors and observers name
/// `public_call`.
void lend_native(StreamRef stream, cudaError_t (*call)(void* function, cudaStream_t native),
                 void* function, std::span<const MemoryArgument> memory, const char* public_call,
                 const SourceLocation& where);

template <class F>
void lend_to(StreamRef stream, F& function, std::span<const MemoryArgument> memory,
             const SourceLocation& where, const char* public_call = "with_native") {
    const void* const address = std::addressof(function);
    lend_native(stream, &call_with_handle<F>, const_cast<void*>(address), memory, public_call,
                where);
}
}  // namespace detail

/// Calls function(native) immediately, with the stream's native handle. Until it returns, the
/// function may enqueue work on the handle through any library:
///
///     with_native(stream, [&](cudaStream_t native) {
///         scale<<<4, 256, 0, native>>>(x.data(), n, 2.0f);
///     }, writes(x));
///
/// The work is one operation, as a launch is. Unlike after native_handle(), later waits for the
/// stream can be elided, and the checker sees the operation. reads() and writes() declare its
/// arrays and views. The function may call heddle, and may lend this stream again.
///
/// Order: the work takes its place in the stream when the function enqueues it. Observers see the
/// operation when the function has returned. The function must end each native capture that it
/// begins. A batch is flushed first. In a capture the work is recorded, as one node between
/// heddle's own calls. The handle is then that of an internal stream with the same priority and
/// attributes. So other threads can still wait for the stream's earlier work.
///
/// Lifetime: the handle is valid during the call. Code that keeps it needs native_handle().
///
/// Errors: the function returns nothing, or a cudaError_t, which is checked. An error that the
/// function leaves as the thread's last error is thrown too; an older error stays. Exceptions of
/// the function propagate; work enqueued before an exception counts. If the stream has failed, the
/// function is not called. Throws UsageError for a stream of a CPU device, in host functions, and
/// for memory that the stream cannot access. Throws Unsupported in the body of a conditional node
/// (capture_if(), capture_while()).
///
/// Thread-safe: several threads may lend one stream at the same time. If the stream is captured,
/// this needs CaptureMode::relaxed.
template <detail::TakesHandle F>
void with_native(StreamRef stream, F&& function, Where where = {}) {
    detail::lend_to(stream, function, {}, where);
}
template <detail::TakesHandle F, std::derived_from<DeclaredAccess>... A>
void with_native(StreamRef stream, F&& function, const DeclaredAccess& first, const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    detail::lend_to(stream, function, memory, first.where());
}
/// Does the same for an operation that is ordered by the declared data, like DataOrder::task()
/// (heddle/by_data.hpp).
template <std::same_as<DataOrder> Order, detail::TakesHandle F,
          std::derived_from<DeclaredAccess>... A>
void with_native(Order& order, F&& function, const DeclaredAccess& first, const A&... more) {
    const auto lend = [&](StreamRef stream) { with_native(stream, function, first, more...); };
    order.task(std::initializer_list<DeclaredAccess>{first, more...}, lend, first.where());
}
/// Deleted: the function returns nothing or a cudaError_t. Check other results in it.
template <class Why = mistake::the_function_returns_nothing_or_a_cudaError_t, class F, class... A>
    requires(std::invocable<F&, cudaStream_t> && !detail::TakesHandle<F>)
Why with_native(StreamRef, F&&, const A&...) = delete;

/// A native handle, lent until the end of the full expression. Made by borrow(), which has an
/// example, and describes order, errors and threads.
class BorrowedStream {
public:
    /// Returns the handle. Works only on temporaries, because the loan of a named object would end
    /// late.
    operator cudaStream_t() && noexcept { return native_; }

    /// Called by borrow().
    BorrowedStream(StreamRef stream, std::span<const detail::MemoryArgument> memory,
                   const char* call, const SourceLocation& where)
        : before_(cudaPeekAtLastError()) {
        begin(stream, memory, call, where);
    }
    /// Ends the loan. Passes errors to the report hook. Leaves the thread's last error as it is.
    ~BorrowedStream() {
        const cudaError_t after = cudaPeekAtLastError();
        end(after == before_ ? cudaSuccess : after);
    }
    BorrowedStream(const BorrowedStream&) = delete;
    BorrowedStream& operator=(const BorrowedStream&) = delete;

protected:
    cudaStream_t native_ = nullptr;  ///< for classes that lend the handle longer than one call

private:
    void begin(StreamRef stream, std::span<const detail::MemoryArgument> memory, const char* call,
               const SourceLocation& where);
    void end(cudaError_t code) noexcept;

    cudaError_t before_;
    detail::StreamState* state_ = nullptr;
    const char* call_ = "";
    SourceLocation where_;
    std::uint64_t key_ = 0, recording_ = 0, loan_ = 0;
    std::vector<detail::MemoryArgument> memory_;  ///< for observers
};

/// Lends the native handle for one expression, such as a launch or the call of a library:
///
///     scale<<<4, 256, 0, borrow(stream, writes(x))>>>(x.data(), n, 2.0f);
///
/// Works like with_native(). But if the stream has failed, throws the stream's failure, because the
/// expression cannot be left out. A new error of the expression is passed to the report hook, and
/// stays the thread's last error. Do not keep the object.
[[nodiscard]] inline BorrowedStream borrow(StreamRef stream, Where where = {}) {
    return {stream, {}, "borrow", where};
}
template <std::derived_from<DeclaredAccess>... A>
[[nodiscard]] BorrowedStream borrow(StreamRef stream, const DeclaredAccess& first,
                                    const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    return {stream, memory, "borrow", first.where()};
}

}  // namespace heddle
