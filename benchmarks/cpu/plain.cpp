// bench_cpu: queues, each with its own thread.
#include <memory>

#include "cpu/parts.hpp"
#include "plain_queue.hpp"

namespace bench {

std::vector<Peer> plain_chains() {
    const auto queue = std::make_shared<PlainQueue>();
    const auto counter = std::make_shared<Counter>();
    return {{PlainQueue::name, {[queue, counter](int calls) {
                 for (int i = 0; i < calls; ++i)
                     queue->push([c = counter.get()] { c->operate(0); });
                 queue->synchronize();
             }}}};
}

std::vector<Peer> plain_queues(int queues, std::uint64_t ns) {
    const auto all = std::make_shared<std::vector<std::unique_ptr<PlainQueue>>>();
    for (int i = 0; i < queues; ++i) all->push_back(std::make_unique<PlainQueue>());
    const auto counters = std::make_shared<std::vector<Counter>>(all->size());
    return {{"a thread with a queue for each", {[=](int calls) {
                 for (std::size_t i = 0; i < static_cast<std::size_t>(calls); ++i)
                     (*all)[i % all->size()]->push(
                         [c = &(*counters)[i % counters->size()], ns] { c->operate(ns); });
                 for (const auto& queue : *all) queue->synchronize();
             }}}};
}

std::vector<Peer> plain_fork_joins(int branches, std::uint64_t ns) {
    const auto all = std::make_shared<std::vector<std::unique_ptr<PlainQueue>>>();
    for (int i = 0; i < branches; ++i) all->push_back(std::make_unique<PlainQueue>());
    const auto counters = std::make_shared<std::vector<Counter>>(all->size());
    return {{"a thread with a queue for each", {repeat([=] {
                 for (std::size_t i = 0; i < all->size(); ++i)
                     (*all)[i]->push([c = &(*counters)[i], ns] { c->operate(ns); });
                 for (const auto& queue : *all) queue->synchronize();
             })}}};
}

std::vector<Peer> plain_wakes() {
    const auto queue = std::make_shared<PlainQueue>();
    const auto begun = std::make_shared<std::atomic<bool>>(false);
    return {{PlainQueue::name, {repeat([=] {
                 *begun = false;
                 queue->push([flag = begun.get()] { *flag = true; });
                 while (!*begun) std::this_thread::yield();
             })}}};
}

std::vector<Peer> plain_round_trips() {
    const auto queue = std::make_shared<PlainQueue>();
    const auto counter = std::make_shared<Counter>();
    return {{PlainQueue::name, {repeat([=] {
                 queue->push([c = counter.get()] { c->operate(0); });
                 queue->synchronize();
             })}}};
}

}  // namespace bench
