// Mistakes with launches, except for a kernel's arguments. They must not compile; see check.sh.
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
struct OfInteger {
    HEDDLE_FN void operator()(std::size_t i, int by, View<float> x) const {
        x[i] += static_cast<float>(by);
    }
};
struct NotConst {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) { x[i] += 1; }
};
struct NamesNumbers {
    int n = 0;
    auto views() const { return std::tuple(n); }
};
struct Waits {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
void a_function(std::size_t, View<float>) {}

void shapes(Stream& s, Device device, std::size_t n, Array<float>& x, ModuleKernel compiled,
            CUstream_st* native) {
    launch(s, AddOne{}, n, x);                  // says: write dim(n)
    launch(NotConst{}, n, x);                   // says: write dim(n)
    launch(s, AddOne{}, dim3{4}, dim3{32}, x);  // says: grid(blocks, threads)
    launch(s, AddOne{}, {n}, x);                // says: is missing after the kernel
    launch(s, AddOne{});                        // says: is missing after the kernel
    launch(s, dim(n), AddOne{}, x);             // says: the kernel must precede dim()
    launch(AddOne{}, dim(n), x, s);             // says: the stream must be the first argument
    launch(Saxpy{}, s, dim(n), x);              // says: the stream must be the first argument
    launch(device, Saxpy{}, n, x);              // says: write dim(n)
    launch(device, Saxpy{});                    // says: is missing after the kernel
    launch(native, AddOne{}, dim(n), x);        // says: wrap_stream(native)
    launch(&s, AddOne{}, dim(n), x);            // says: pass the Stream itself
    launch("add", AddOne{}, dim(n), x);         // says: launches have no label
    launch(s, AddOne{}, dim(x), x);             // says: the_number_of_indices_is_dim_of_x_size
    launch(s, AddOne{}, grid(1, 32), x);        // says: a portable kernel is launched with dim()
    launch(s, a_function, grid(1, 32), n, x);   // says: include heddle/cuda.hpp
    launch(s, a_function, dim(n), x);           // says: a function is not a portable kernel
    launch(s, compiled, grid(1, 32), x, NamesNumbers{});  // says: a std::tuple of views only
    launch_dependent(s, AddOne{}, dim(n), x);             // says: and declare `static constexpr
    launch_dependent(s, Waits{}, n, x);                   // says: is_dim_of_n
    (void)kernel_node(AddOne{}, dim(n), 4.0f);            // says: argument<1>::is<float>
    (void)prepare(AddOne{}, dim(n), 3.0);                 // says: argument<1>::is<double>
    auto prepared = prepare(OfInteger{}, dim(n), 1, x);
    prepared.set<0>(2.75);                     // says: argument<1>::is<double>::truncated
    prepared.set<0>(x);                        // says: but_it_was_prepared_with<int
    prepared.set<1>(2);                        // says: argument<2>::is<int>::but_it_was
    prepared.set<2>(x);                        // says: set<0> sets the first argument
    (void)kernel_node(AddOne{}, n, x);         // says: is_dim_of_n
    (void)prepare(AddOne{}, n, x);             // says: is_dim_of_n
    (void)kernel_node(a_function, dim(n), x);  // notes: KernelObject
}

}  // namespace
