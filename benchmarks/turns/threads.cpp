// bench_turns: one thread for each stream. All have the same priority.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "spin.hpp"
#include "turns/parts.hpp"

namespace bench {

namespace {

class BusyThreads final : public Busy {
public:
    BusyThreads(int streams, std::uint64_t ns) : ns_(ns), streams_(streams) {}
    ~BusyThreads() override { end(); }

    void begin() override {
        stop_ = false;
        begun_ = 0;
        for (int i = 0; i < streams_; ++i)
            threads_.emplace_back([this] {
                begun_.fetch_add(1);
                begun_.notify_all();
                while (!stop_) spin_for(ns_);
            });
        asked_ = served_ = 0;
        threads_.emplace_back([this] {
            for (int served = 0; !stop_; served_ = ++served, served_.notify_all())
                asked_.wait(served);
        });
        for (int now = begun_; now != streams_; now = begun_) begun_.wait(now);
    }
    void request() override {
        const int mine = asked_.fetch_add(1);
        asked_.notify_all();
        served_.wait(mine);
    }
    void end() override {
        stop_ = true;
        asked_.fetch_add(1);
        asked_.notify_all();
        for (std::thread& one : threads_) one.join();
        threads_.clear();
    }

private:
    std::uint64_t ns_;
    int streams_;
    std::atomic<bool> stop_{false};
    std::atomic<int> begun_{0}, asked_{0}, served_{0};
    std::vector<std::thread> threads_;
};

}  // namespace

Side side_of(const std::function<Busy*()>& make) {
    const std::shared_ptr<Busy> busy(make());
    return {.run = repeat([busy] { busy->request(); }),
            .finish = [busy] { busy->end(); },
            .prepare = [busy] { busy->begin(); }};
}

Peer busy_threads(int streams, std::uint64_t ns) {
    return {"threads", side_of([=] { return new BusyThreads(streams, ns); })};
}

}  // namespace bench
