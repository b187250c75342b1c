// bench_costs on CPU devices: arrays in memory that other code owns.
#include <functional>
#include <memory>
#include <vector>

#include <heddle/heddle.hpp>

#include "costs/parts.hpp"
#include "plain_queue.hpp"

using namespace heddle;

namespace bench {

namespace {
constexpr Batches host_only{.calls = 2000, .pairs = 1000, .seconds = 0.5};
constexpr Batches enqueuing{.calls = 100, .pairs = 4000, .seconds = 1.0};

struct Touch {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] = 1; }
};
}  // namespace

void add_adopted_rows(Report& report, Device device) {
    if (!device.is_cpu()) return;  // costs/adopted.cu has the rows of GPUs
    std::vector<float> memory(32);
    float* const data = memory.data();
    const Stream s{device};
    const std::function<void()> finish = [device] {
        finish_adopted();
        synchronize_device(device);
    };
    const auto add = [&](const char* name, std::function<void(int)> run, const Peer& peer,
                         const Batches& batches) {
        report.compare(name, device.name(), {std::move(run), finish}, peer, batches);
    };
    add(row::adopt_unused, repeat([&] { keep(adopt(device, data, memory.size(), [](float*) {})); }),
        {}, host_only);
    add("memory lent, and the loan's end", repeat([&] {
            Loan loan;
            keep(loan.lend(device, memory));
        }),
        {}, host_only);

    const auto queue = std::make_shared<PlainQueue>();
    const Peer by_hand{PlainQueue::name,
                       {repeat([queue, data] {
                            queue->push([data] {
                                for (int i = 0; i < 32; ++i) data[i] = 1;
                            });
                            queue->push([] {});  // stands for the adopted memory's end function
                        }),
                        [queue] { queue->synchronize(); }}};
    add(row::adopt_host_end, repeat([&] {
            Array<float> x = adopt(device, data, memory.size(), [](float*) {});
            launch(s, Touch{}, dim(x.size()), x);
        }),
        by_hand, enqueuing);
    add(row::adopt_stream_end, repeat([&] {
            Array<float> x = adopt(device, data, memory.size(),
                                   [](float*, StreamRef after) { launch_host(after, [] {}); });
            launch(s, Touch{}, dim(x.size()), x);
        }),
        by_hand, enqueuing);
    finish();
}

}  // namespace bench
