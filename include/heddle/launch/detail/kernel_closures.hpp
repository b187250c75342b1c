// Closures of kernels, which a launch copies into a stream, a recording or a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <type_traits>

#include <heddle/detail/elements.hpp>
#include <heddle/detail/owner_word.hpp>
#include <heddle/detail/spans.hpp>
#include <heddle/launch/detail/bounds_argument.hpp>
#include <heddle/launch/detail/held_views.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/memory/view.hpp>

namespace heddle::detail {

template <class K, int N, class... P> struct PortableOp;
/// Portable kernels and their arguments are copied as bytes, although nvcc's lambda wrappers are
/// not declared noexcept.
template <class K, int N, class... P>
inline constexpr bool moves_without_fail<PortableOp<K, N, P...>> = true;

/// Whether the kernel, or an argument, can hold a pointer other than a view's.
template <class P> inline constexpr bool may_hold_pointer = !holds_no_pointer<P>();
template <class T> inline constexpr bool may_hold_pointer<View<T>> = false;
template <HoldsViews P> inline constexpr bool may_hold_pointer<P> = false;

template <class T> inline constexpr bool may_hold_pointer<View2D<T>> = false;
template <AnySpan S> inline constexpr bool may_hold_pointer<S> = false;

/// The number of an object's bytes that belong to its value. nvcc's class around a __host__
/// __device__ lambda ends with the address of a copy of the lambda on the heap.
template <class P> inline constexpr std::size_t own_bytes = sizeof(P);
#ifdef __CUDACC_EXTENDED_LAMBDA__
template <class P>
    requires(__nv_is_extended_host_device_lambda_closure_type(P) && alignof(P) == alignof(void*))
inline constexpr std::size_t own_bytes<P> = sizeof(P) - sizeof(void*);
#endif

/// The number of parts of a closure that may hold pointers.
template <class... P>
inline constexpr std::uint16_t opaque_parts =
    (std::uint16_t{0} + ... + (may_hold_pointer<P> ? 1 : 0));
/// Appends `part` to the list at `to` if it may hold a pointer.
template <class P>
void add_opaque_part([[maybe_unused]] const P& part, [[maybe_unused]] std::int8_t argument,
                     [[maybe_unused]] OpaquePart*& to) noexcept {
    if constexpr (may_hold_pointer<P>) *to++ = {&part, own_bytes<P>, argument};
}

/// A portable kernel with its extents and arguments.
template <class K, int N, class... P> struct PortableOp {
    K kernel;
    std::size_t extent[N];
    std::tuple<P...> args;

    PortableOp(const K& k, const std::size_t* n, const P&... p) : kernel(k), args(p...) {
        for (int i = 0; i < N; ++i) extent[i] = n[i];
    }

    static constexpr const char* pretty() noexcept { return __PRETTY_FUNCTION__; }

    // Copies everything to locals first, which the kernel's writes cannot alias. So the compiler
    // can vectorise the loop over the fastest index. One nest of loops for all dimensions:
    // NOLINTNEXTLINE(readability-function-cognitive-complexity)
    HEDDLE_BOUNDS_TAG static void run(void* self, std::size_t begin, std::size_t end) {
        const PortableOp& op = *static_cast<const PortableOp*>(self);
        detail::with_elements(op.args, [&, kernel = op.kernel](P... p) mutable {
            if constexpr (N == 1) {
                for (std::size_t x = begin; x < end; ++x) kernel(x, p...);
            } else {
                const std::size_t nx = op.extent[0];
                while (begin < end) {
                    const std::size_t row = begin / nx, first = begin % nx;
                    const std::size_t last = end - begin < nx - first ? first + (end - begin) : nx;
                    if constexpr (N == 2) {
                        for (std::size_t x = first; x < last; ++x) kernel(x, row, p...);
                    } else {
                        const std::size_t y = row % op.extent[1], z = row / op.extent[1];
                        for (std::size_t x = first; x < last; ++x) kernel(x, y, z, p...);
                    }
                    begin += last - first;
                }
            }
        });
        if constexpr (HEDDLE_BOUNDS) detail::name_argument(op.kernel, op.args);
    }
    static void addresses(void* self, void** to) {
        PortableOp& op = *static_cast<PortableOp*>(self);
        *to++ = &op.kernel;
        for (std::size_t& n : op.extent) *to++ = &n;
        detail::with_elements(op.args, [&](P&... p) { ((*to++ = &p), ...); });
    }
    static void copy(const void* from, void* to) {
        const PortableOp& op = *static_cast<const PortableOp*>(from);
        if constexpr (std::is_trivially_copyable_v<K>) {
            copy_part(to, op, op.kernel);
            copy_part(to, op, op.extent);
            detail::with_elements(op.args, [&](const P&... p) { (copy_part(to, op, p), ...); });
        } else {
            ::new (to) PortableOp(op);
        }
    }

    static void opaque(const void* self, OpaquePart* to) {
        const PortableOp& op = *static_cast<const PortableOp*>(self);
        std::size_t i = 0;
        detail::with_elements(op.args, [&](const P&... p) {
            (detail::add_opaque_part(p, argument_index(i++), to), ...);
        });
        detail::add_opaque_part(op.kernel, -1, to);
    }

    HEDDLE_BOUNDS_TAG static constexpr OpType type =
        op_type<PortableOp>(&run, std::is_trivially_copyable_v<K>, "launch", pretty());
};

/// Whether other threads may read these views' elements while the kernel writes them.
template <class P> inline constexpr bool are_watched = false;
template <class T> inline constexpr bool are_watched<View<T>> = is_watched<T>;
template <AnySpan S> inline constexpr bool are_watched<S> = is_watched<typename S::element_type>;
template <class... V>
inline constexpr bool are_watched<std::tuple<V...>> = (are_watched<std::remove_cvref_t<V>> || ...);
template <HoldsViews P> inline constexpr bool are_watched<P> = are_watched<HeldViews<P>>;
/// Whether a portable kernel may signal the host, or other work, while it runs.
template <class K, class... P>
inline constexpr Signals kernel_signals =
    are_watched<K> || (are_watched<P> || ...)             ? Signals::yes
    : may_hold_pointer<K> || (may_hold_pointer<P> || ...) ? Signals::on_host
                                                          : Signals::no;

/// The address of this variable identifies a kernel with N indices, independent of the arguments.
template <class K, int N> inline constexpr char kernel_tag = 0;
/// The kernel that a node is expected to have.
struct AskedKernel {
    const void* tag;  ///< the address of its kernel_tag
    int dimensions;
    const char* pretty;  ///< kernel_name() extracts the name
};

/// A kernel that is launched with a grid, and that grid.
struct GridHead {
    void* kernel;  ///< the symbol of a __global__ function, or a ModuleKernelData
    Extents grid, block;
    std::size_t shared_bytes;
};

/// A GridHead with the arguments, converted to the kernel's parameter types.
template <class... P> struct GridOp {
    GridHead head;
    std::tuple<P...> args;

    static constexpr const char* pretty() noexcept { return "kernel of a grid"; }
    // Never called: grids run on CUDA devices only.
    static void run(void*, std::size_t, std::size_t) {}
    static void addresses(void* self, void** to) {
        GridOp& op = *static_cast<GridOp*>(self);
        *to++ = &op.head;
        detail::with_elements(op.args, [&](P&... p) { ((*to++ = &p), ...); });
    }
    static void copy(const void* from, void* to) {
        const GridOp& op = *static_cast<const GridOp*>(from);
        copy_part(to, op, op.head);
        detail::with_elements(op.args, [&](const P&... p) { (copy_part(to, op, p), ...); });
    }

    static constexpr OpType type = op_type<GridOp>(&run, true, "launch", pretty());
    static void opaque(const void* self, OpaquePart* to) {
        const GridOp& op = *static_cast<const GridOp*>(self);
        std::size_t i = 0;
        detail::with_elements(op.args, [&](const P&... p) {
            (detail::add_opaque_part(p, argument_index(i++), to), ...);
        });
    }
    template <KernelKind kind>
    HEDDLE_BOUNDS_TAG static constexpr WorkType work_type{.op = &type,
                                                          .kernel = kind,
                                                          .has_bounds = HEDDLE_BOUNDS &&
                                                                        kind == KernelKind::global,
                                                          .parameters = sizeof...(P),
                                                          .addresses = &addresses,
                                                          .copy = &copy,
                                                          .opaque_parts = opaque_parts<P...>,
                                                          .opaque = &opaque};
};

}  // namespace heddle::detail
