// Mistakes with kernels and their arguments. They must not compile; see check.sh. Also for nvcc.
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

struct AddOne {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};
struct Saxpy {
    HEDDLE_FN void operator()(std::size_t i, float a, View<const float> x, View<float> y) const {
        y[i] += a * x[i];
    }
};
struct OfRectangle {
    HEDDLE_FN void operator()(std::size_t i, View2D<float> x) const { x(0, i) += 1; }
};
struct AddCount {
    HEDDLE_FN int operator()(std::size_t i, View<int> x, int by) const { return x[i] += by; }
};
struct NotConst {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) { x[i] += 1; }
};
struct OfArray {
    HEDDLE_FN void operator()(std::size_t i, Array<float>& x) const { x[i] += 1; }
};
struct OfPointer {
    HEDDLE_FN void operator()(std::size_t i, float* x) const { x[i] += 1; }
};
struct OfReference {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, float& sum) const { sum += x[i]; }
};
struct OfNoIndex {
    HEDDLE_FN void operator()(View<float> x) const { x[0] += 1; }
};
struct OfTwoIndices {
    HEDDLE_FN void operator()(std::size_t i, std::size_t j, View<float> x) const { x[i + j] = 1; }
};
struct Generic {
    template <class V>
        requires requires(V v) { v[0]; }
    HEDDLE_FN void operator()(std::size_t i, V x) const {
        x[i] += 1;
    }
};
class Private {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};
struct HoldsString {
    std::string text;
    HEDDLE_FN void operator()(std::size_t, View<float>) const {}
};
struct NamesTooMuch {
    View<float> x;
    int n = 0;
    auto views() const { return std::tuple(x, n); }
    HEDDLE_FN void operator()(std::size_t) const {}
};
void arguments(StreamRef s, std::size_t n, Array<float>& x, const Array<float>& fixed,
               Array<int>& ints, std::vector<float>& host) {
    // clang-format off
    launch(s, AddOne{}, dim(n), 3);  // says: argument<1>::is<int>::but_the_kernel_takes<heddle::View<float>
    launch(s, Saxpy{}, dim(n), 2, ints, x);  // says: argument<2>::is<heddle::Array<int>
    launch(s, Saxpy{}, dim(n), x, 2, x);  // says: argument<1>::is<heddle::Array<float>
    launch(s, Saxpy{}, dim(n), 2, x, fixed);  // says: argument<3>::is<const heddle::Array<float>
    launch(s, AddOne{}, dim(n), fixed);  // says: read_only_but_the_kernel_takes<heddle::View<float>
    launch(s, OfRectangle{}, dim(n), View2D<const float>(fixed, 1, 1));  // says: read_only_but_the_kernel_takes<heddle::View2D<float>
    launch(s, AddOne{}, dim(n), &x);  // says: argument<1>::is<heddle::Array<float>
    launch(s, AddOne{}, dim(n));  // says: the_kernel_takes<2>::parameters_but_the_launch_has_indices<1>::and_arguments<0>
    launch(s, AddOne{}, dim(n), x, fixed);  // says: indices<1>::and_arguments<2>
    launch(s, AddOne{}, dim(n, n), x);  // says: indices<2>::and_arguments<1>
    launch(s, OfTwoIndices{}, dim(n), x);  // says: the_kernel_takes<3>
    launch(s, OfNoIndex{}, dim(n), x);  // says: index<1>::is<
    launch(s, OfArray{}, dim(n), x);  // says: parameter<1>::must_be_a_View_and_not_an_Array<heddle::Array<float>
    launch(s, OfPointer{}, dim(n), x);  // says: passed_as_a_View_but_the_kernel_takes<float
    launch(s, OfReference{}, dim(n), x, 1.0f);  // says: argument<2>::is<float>::passed_as_a_copy_but_the_kernel_takes_a_reference<float
    launch(s, AddCount{}, dim(n), ints, 2.5);  // says: argument<2>::is<double>::truncated_to_an_integer_by_a_kernel_that_takes<
    launch(s, AddOne{}, dim(n), host);  // says: argument<1>::is<std::vector<float
    launch(s, AddOne{}, dim(n), HoldsString{});  // says: not_trivially_copyable
    launch(s, Generic{}, dim(n), 3);  // says: has_no_public_const_operator_that_takes<
    launch(s, Private{}, dim(n), x);  // says: has_no_public_const_operator_that_takes<
    // clang-format on
    launch(s, NotConst{}, dim(n), x);     // says: operator() is not const
    launch(s, HoldsString{}, dim(n), x);  // says: must be trivially copyable
    launch(s, NamesTooMuch{x}, dim(n));   // says: a std::tuple of views only
}

}  // namespace
