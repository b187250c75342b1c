// Mistakes with spans and mdspans. They must not compile; see check.sh.
#include <array>
#include <span>
#include <vector>

#include <heddle/with/mdspan.hpp>

#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

/// Has the members by which heddle recognises an mdspan. No compiler here has std::mdspan.
template <class T, std::size_t dimensions> struct Grid {
    using element_type = T;
    using data_handle_type = T*;
    using accessor_type = int;
    using index_type = int;
    struct extents_type {
        using index_type = int;
        using rank_type = std::size_t;
        template <class... E>
            requires(sizeof...(E) == dimensions)
        explicit extents_type(E...) {}
        static constexpr std::size_t rank() { return dimensions; }
        int extent(std::size_t) const { return 1; }
    };
    struct mapping_type {
        using extents_type = Grid::extents_type;
        explicit mapping_type(const extents_type&) {}
        extents_type extents() const;
        int required_span_size() const { return 1; }
    };
    Grid(T*, const mapping_type&) {}
    static constexpr std::size_t rank() { return dimensions; }
    static constexpr std::size_t rank_dynamic() { return dimensions; }
    static constexpr std::size_t static_extent(std::size_t) { return static_cast<std::size_t>(-1); }
    extents_type extents() const;
    mapping_type mapping() const;
    T* data_handle() const { return nullptr; }
    std::size_t size() const { return 1; }
};
using Matrix = Grid<float, 2>;
using ConstMatrix = Grid<const float, 2>;
using Four = Grid<float, 4>;
static_assert(detail::MdspanLike<Matrix> && detail::MdspanLike<Four>);

struct OfSpan {
    HEDDLE_FN void operator()(std::size_t, std::span<float>) const {}
};
struct OfThree {
    HEDDLE_FN void operator()(std::size_t, std::span<float, 3>) const {}
};
struct OfView {
    HEDDLE_FN void operator()(std::size_t, View<float>) const {}
};
struct OfMatrix {
    HEDDLE_FN void operator()(std::size_t, std::size_t, Matrix) const {}
};
struct OfFour {
    HEDDLE_FN void operator()(std::size_t, Four) const {}
};

void spans(StreamRef s, std::size_t n, Array<float>& x, const Array<float>& fixed,
           std::vector<float>& host) {
    // clang-format off
    launch(s, OfSpan{}, dim(n), fixed);  // says: read_only_but_the_kernel_takes<
    launch(s, OfSpan{}, dim(n), std::span<const float>());  // says: read_only_but_the_kernel
    launch(s, OfView{}, dim(n), std::span<const float>());  // says: read_only_but_the_kernel
    launch(s, OfSpan{}, dim(n), host);  // says: host_memory_so_pass_a_View_of_it
    launch(s, OfThree{}, dim(n), x);  // says: but_the_kernel_takes<
    // clang-format on
}

void mdspans(StreamRef s, Array<float>& x, const Array<float>& fixed, Array<int>& integers) {
    const auto fixed_matrix = spanning<ConstMatrix>(fixed, 3, 3);
    const auto four = spanning<Four>(x, 1, 2, 3, 4);
    // clang-format off
    launch(s, OfMatrix{}, dim(3, 3), x);  // says: without_extents_so_pass_spanning<
    launch(s, OfMatrix{}, dim(3, 3), fixed_matrix);  // says: but_the_kernel_takes<
    launch(s, OfFour{}, dim(four), four);  // says: above_3_dimensions
    (void)spanning<std::span<float>>(x, 3);  // says: M_is_not_an_mdspan_with_a_pointer
    (void)spanning<Matrix>(x, 3);  // says: pass_all_extents
    (void)spanning<Matrix>(x);  // says: pass_all_extents
    (void)spanning<Matrix>(fixed, 3, 3);  // says: the_memory_is_not_a_View_of
    (void)spanning<Matrix>(integers, 3, 3);  // says: the_memory_is_not_a_View_of
    // clang-format on
}

}  // namespace
