// bench_concurrency on CPU devices: queues, each with its own thread.
#include <memory>
#include <vector>

#include "concurrency/parts.hpp"
#include "plain_queue.hpp"

namespace bench {

Peer plain_throughput(const std::shared_ptr<Team>& team, int streams) {
    const auto queues = std::make_shared<std::vector<std::unique_ptr<PlainQueue>>>();
    for (int i = 0; i < streams; ++i) queues->push_back(std::make_unique<PlainQueue>());
    return {streams == 1 ? PlainQueue::name : "a thread with a queue for each",
            {.run =
                 [=](int calls) {
                     team->run([&](std::ptrdiff_t index, std::ptrdiff_t) {
                         PlainQueue& queue =
                             *(*queues)[static_cast<std::size_t>(index) % queues->size()];
                         for (int i = 0; i < calls; ++i) queue.push([] {});
                     });
                 },
             .finish =
                 [=] {
                     for (const auto& queue : *queues) queue->synchronize();
                 }}};
}

}  // namespace bench
