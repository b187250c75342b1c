// bench_bandwidth: what a program without heddle does on the CPU.
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "bandwidth/parts.hpp"

namespace bench {

namespace {

/// A thread for each processor; run() has each work on its share, the caller on the first.
class Team {
public:
    Team() : begin_(size()), end_(size()) {
        for (std::ptrdiff_t i = 1; i < size(); ++i)
            threads_.emplace_back([this, i] {
                for (;;) {
                    begin_.arrive_and_wait();
                    if (!work_) return;
                    work_(i, size());
                    end_.arrive_and_wait();
                }
            });
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        work_ = nullptr;
        begin_.arrive_and_wait();
        for (std::thread& thread : threads_) thread.join();
    }
    void run(const std::function<void(std::ptrdiff_t index, std::ptrdiff_t of)>& work) {
        work_ = work;
        begin_.arrive_and_wait();
        work_(0, size());
        end_.arrive_and_wait();
    }

private:
    static std::ptrdiff_t size() {
        return static_cast<std::ptrdiff_t>(std::max(1u, std::thread::hardware_concurrency()));
    }
    std::function<void(std::ptrdiff_t, std::ptrdiff_t)> work_;
    std::barrier<> begin_, end_;
    std::vector<std::thread> threads_;
};

}  // namespace

Peer plain_copy(void* to, const void* from, std::size_t bytes) {
    return {"memcpy, one thread", {repeat([=] {
                std::memcpy(to, from, bytes);
                keep(*static_cast<char*>(to));
            })}};
}

Peer plain_triad(std::size_t count, const float* x, const float* y, float* z) {
    const auto team = std::make_shared<Team>();
    return {"threads with a share each", {repeat([=] {
                team->run([=](std::ptrdiff_t index, std::ptrdiff_t of) {
                    const auto part = [&](std::ptrdiff_t i) {
                        return count / static_cast<std::size_t>(of) * static_cast<std::size_t>(i);
                    };
                    const std::size_t end = index + 1 == of ? count : part(index + 1);
                    for (std::size_t i = part(index); i < end; ++i) z[i] = x[i] + 3.0f * y[i];
                });
            })}};
}

}  // namespace bench
