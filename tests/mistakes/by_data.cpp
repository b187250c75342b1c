// Calls of a DataOrder that hide which memory they use. They must not compile; see check.sh.
#include <heddle/by_data.hpp>

using namespace heddle;

namespace {

struct OfAddress {
    HEDDLE_FN void operator()(std::size_t i, float* x) const { x[i] = 1; }
};
struct OfView {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] = 1; }
};

void hidden(DataOrder& order, std::size_t n, Array<float>& x, const Array<float>& fixed) {
    float* const address = x.data();
    // clang-format off
    launch(order, [&x] HEDDLE_FN(std::size_t i) { x[i] = 1; }, dim(n));  // notes: this kernel contains references or addresses
    launch(order, [address] HEDDLE_FN(std::size_t i) { address[i] = 1; }, dim(n));  // notes: this kernel contains references or addresses
    launch(order, OfAddress{}, dim(n), address);  // notes: an address does not state
    launch_host(order, [&x] { x[0] = 1; });  // notes: this function contains references
    launch(order, OfView{}, dim(n), fixed);  // notes: read_only_but_the_kernel_takes<heddle::View<float>
    launch(order, OfView{});  // notes: ShapeIsMissing
    copy(order, fixed, x);  // notes: copy
    order.task(reads(x), writes(x), [](StreamRef) {});  // says: declare_in_braces_as_task
    DataOrder copied = order;  // says: DataOrder
    // clang-format on
}

}  // namespace
