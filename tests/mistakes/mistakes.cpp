// Mistakes of users that must not compile. The comment on each names words that the compiler's
// output has to hold, besides the line: check.sh compiles this file and compares.
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

struct AddOne {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};
struct NotConst {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) { x[i] += 1; }
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
struct NamesNumbers {
    int n = 0;
    auto views() const { return std::tuple(n); }
};
void a_function(std::size_t, View<float>) {}

void launches(StreamRef s, std::size_t n, Array<float>& x, const Array<float>& fixed,
              ModuleKernel compiled) {
    std::vector<float> host(n);
    launch(s, AddOne{}, dim(n), 3);            // says: the kernel cannot be called
    launch(s, AddOne{}, dim(n));               // says: the kernel cannot be called
    launch(s, AddOne{}, dim(n, n), x);         // says: the kernel cannot be called
    launch(s, AddOne{}, dim(n), fixed);        // says: View<const T> where the array is const
    launch(s, NotConst{}, dim(n), x);          // says: is its operator() const?
    launch(s, HoldsString{}, dim(n), x);       // says: must be trivially copyable
    launch(s, AddOne{}, dim(n), host);         // says: wrap host memory in a View
    launch(s, AddOne{}, n, x);                 // says: write dim(n)
    launch(NotConst{}, n, x);                  // says: write dim(n)
    launch(s, AddOne{}, grid(1, 32), x);       // says: a portable kernel is launched with dim()
    launch(s, a_function, grid(1, 32), n, x);  // says: include heddle/cuda.hpp
    launch(s, a_function, dim(n), x);          // says: a portable kernel is an object
    launch_dependent(s, AddOne{}, dim(n), x);  // says: WaitsForPrimary
    launch_host(s, 3);                         // says: HostCallable
    launch_host(s, [](int) {});                // says: HostCallable
    launch(s, NamesTooMuch{x}, dim(n));        // says: a std::tuple of views alone
    launch(s, compiled, grid(1, 32), x, NamesNumbers{});  // says: a std::tuple of views alone
    on_completion(s, [] {});                              // says: CompletionCallable
    (void)kernel_node(AddOne{}, dim(n), 3.0f);            // says: the kernel cannot be called
    (void)kernel_node(a_function, dim(n), x);             // says: KernelObject
    (void)prepare(AddOne{}, dim(n), 3.0);                 // says: the kernel cannot be called
    (void)host_node(3);                                   // says: HostCallable
}

void memory(StreamRef s, Array<float>& x, const Array<float>& fixed, Array<int>& integers) {
    (void)zeros<std::string>(10);              // says: copied as bytes between devices
    copy(s, x, integers);                      // says: both sides must have the same element type
    copy(s, fixed, x);                         // says: Destination
    copy(s, x, 3);                             // says: Source
    fill(s, fixed, 1.0f);                      // says: Destination
    View<float> view = std::vector<float>(3);  // says: std::vector<float>
    copy_2d(s, View2D<float>(x, 1, 1), View2D<int>(integers, 1, 1));  // says: SameElement
}

void streams(Batch& batch, StreamPool& pool) {
    ScopedStream scope{Stream()};                 // says: deleted
    ScopedStream leased{pool.lease()};            // says: deleted
    ScopedCapture capturing{Stream()};            // says: deleted
    ScopedBatch recording{batch, Stream()};       // says: deleted
    ScopedBatch lent{batch, pool.lease()};        // says: deleted
    set_stream(Stream());                         // says: deleted
    fork_join(StreamRef(), 3);                    // says: BranchFunction
    (void)capture(StreamRef(), [](int) {});       // says: invocable
    Pipeline<float>(Device(), [](StreamRef) {});  // says: PieceWork
}

}  // namespace
