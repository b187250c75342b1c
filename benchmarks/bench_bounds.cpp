// The cost of checking the indices of views: compares the same kernels, compiled with
// HEDDLE_BOUNDS=1 and with 0. Figures are for one kernel, until it ends, or for one launch.

#include <string>

#include <heddle/heddle.hpp>

#include "bounds/parts.hpp"
#include "devices.hpp"
#include "measure.hpp"
#include "report.hpp"

using namespace heddle;

namespace {

class Rows {
public:
    Rows(bench::Report& report, Device device) : report_(report), device_(device), s_(device) {}

    void add_all() {
        const bool is_cpu = device_.is_cpu();
        const std::size_t side = is_cpu ? 1024 : 8192, n = side * side;
        const Array<float> x = zeros<float>(s_, n);
        Array<float> y = zeros<float>(s_, n);
        const View2D<const float> from(x, side, side);
        const View2D<float> to(y, side, side);
        const std::string size = std::to_string(side);
        to_end(
            "saxpy of " + size + " x " + size, [&] { bench::checked::saxpy(s_, n, x, y); },
            [&] { bench::unchecked::saxpy(s_, n, x, y); });
        to_end(
            "stencil of " + size + " x " + size, [&] { bench::checked::stencil(s_, from, to); },
            [&] { bench::unchecked::stencil(s_, from, to); });
        const View<const float> few = x.view().first(32);
        const View<float> few_of_y = y.view().first(32);
        report_.compare(
            "launch of 32 indices", device_.name(),
            side_of([&] { bench::checked::saxpy(s_, 32, few, few_of_y); }),
            {"unchecked", side_of([&] { bench::unchecked::saxpy(s_, 32, few, few_of_y); })},
            {.calls = 100, .pairs = 4000, .seconds = 1.0});
    }

private:
    bench::Side side_of(const std::function<void()>& enqueue) {
        return {.run = bench::repeat(enqueue), .finish = [this] { s_.synchronize(); }};
    }
    void to_end(const std::string& name, const std::function<void()>& checked,
                const std::function<void()>& unchecked) {
        const auto run = [this](const std::function<void()>& enqueue) {
            return bench::Side{.run = [this, enqueue](int calls) {
                for (int i = 0; i < calls; ++i) enqueue();
                s_.synchronize();
            }};
        };
        report_.compare(name, device_.name(), run(checked), {"unchecked", run(unchecked)},
                        {.calls = 20, .pairs = 200, .seconds = 2.0, .quick_calls = 1},
                        bench::in_us);
    }

    bench::Report& report_;
    Device device_;
    Stream s_;
};

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_bounds", argc, argv);
    for (const Device device : bench::chosen_devices(report))
        report.attempt(device.name(), [&] { Rows(report, device).add_all(); });
    return report.finish();
}
