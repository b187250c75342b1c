// Operations on host threads (CPU kernels and host functions), without their types.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <heddle/stream/detail/stream_state.hpp>
#include <heddle/stream/signals_nothing.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Describes a type of operation; one constant for each type of closure. The closure itself is
/// copied into the stream.
struct OpType {
    /// Runs the indices [begin, end). May throw.
    void (*run)(void* self, std::size_t begin, std::size_t end);
    void (*move)(void* from, void* to) noexcept;  ///< move-constructs; null: copy the bytes
    void (*destroy)(void* self) noexcept;         ///< null if there is nothing to do
    std::uint32_t size;
    std::uint32_t align;
    const char* call;    ///< the public function: "launch", "launch_host", "copy", ...
    const char* pretty;  ///< __PRETTY_FUNCTION__ of the type; kernel_name() extracts the name
    bool is_cleanup;     ///< whether it runs on poisoned streams too
    /// If not null, called in place of run() with the failure of earlier work, or with null if none
    /// failed (heddle/stream/failures.hpp). May throw.
    void (*complete)(void* self, std::exception_ptr failure) = nullptr;

    /// Returns whether it is a user's function that runs once on a host thread.
    bool is_host_function() const noexcept {
        return complete != nullptr || std::string_view(call) == "launch_host";
    }
};

/// Enqueues an operation of `count` indices on `stream`: a kernel or host function on CPU devices,
/// a host function on CUDA devices. Moves the closure out of `self`, which the caller still has to
/// destroy.
void enqueue(StreamState& stream, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where);

/// Whether a T can be moved without exceptions.
template <class T>
inline constexpr bool moves_without_fail = std::is_nothrow_move_constructible_v<T>;

template <class T>
constexpr OpType op_type(void (*run)(void*, std::size_t, std::size_t), bool trivial,
                         const char* call, const char* pretty, bool is_cleanup = false) {
    static_assert(moves_without_fail<T>, "heddle: closures are moved where exceptions are not "
                                         "allowed: make the move constructor noexcept");
    return {run,
            trivial ? nullptr
                    : +[](void* from,
                          void* to) noexcept { ::new (to) T(std::move(*static_cast<T*>(from))); },
            std::is_trivially_destructible_v<T>
                ? nullptr
                : +[](void* self) noexcept { static_cast<T*>(self)->~T(); },
            static_cast<std::uint32_t>(sizeof(T)),
            static_cast<std::uint32_t>(alignof(T)),
            call,
            pretty,
            is_cleanup};
}

/// Holds a function whose move may throw, in its own allocation, so that the function is never
/// moved. (Moving a lambda copies its const captures.)
template <class F> class Boxed {
public:
    template <class G>
        requires(!std::is_same_v<std::remove_cvref_t<G>, Boxed>)
    Boxed(G&& function) : function_(std::make_unique<F>(std::forward<G>(function))) {}
    const F& get() const noexcept { return *function_; }
    template <class... A> void operator()(A&&... args) { (*function_)(std::forward<A>(args)...); }

private:
    std::unique_ptr<F> function_;
};

/// The form in which a closure stores a function.
template <class F>
using Kept = std::conditional_t<std::is_nothrow_move_constructible_v<F>, F, Boxed<F>>;

/// A function, or other callable, that is called without arguments.
template <class F>
concept HostCallable = std::invocable<std::decay_t<F>&>;

/// A part of a closure that may hold pointers: the kernel (argument -1), an argument, or a host
/// function.
struct OpaquePart {
    const void* object;
    std::size_t bytes;
    std::int8_t argument;
};

/// Whether objects of type F are aligned like a pointer, and so may hold one.
template <class F>
inline constexpr bool may_hold_words = !std::is_empty_v<F> && alignof(F) >= alignof(void*);

/// Appends a function as an opaque part.
template <class F>
void add_opaque_function([[maybe_unused]] const F& function, [[maybe_unused]] OpaquePart* to) {
    if constexpr (may_hold_words<F>) *to = {&function, sizeof function, -1};
}
template <class F> void add_opaque_function(const Boxed<F>& function, OpaquePart* to) {
    detail::add_opaque_function(function.get(), to);
}

/// A function that is called once.
template <class F> struct HostFunction {
    Kept<F> function;

    static constexpr const char* pretty() noexcept {
        if constexpr (signals_no_thread<F>) return HostFunction<typename F::Function>::pretty();
        else return __PRETTY_FUNCTION__;
    }
    static void run(void* self, std::size_t, std::size_t) {
        static_cast<HostFunction*>(self)->function();
    }
    static void opaque(const void* self, OpaquePart* to) {
        detail::add_opaque_function(static_cast<const HostFunction*>(self)->function, to);
    }
    static constexpr OpType type =
        op_type<HostFunction>(&run, std::is_trivially_copyable_v<Kept<F>>, "launch_host", pretty());
};

}  // namespace detail
}  // namespace heddle
