// Threads that exchange tensors of the same memory.
#include "memory/foreign_tensor.hpp"
#include "support.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace heddle_test;

namespace {
constexpr std::size_t n = Foreign::elements;
}

TEST_CASE("threads that take and give up one tensor end each of them once") {
    Foreign foreign;
    const int times = static_cast<int>(repetitions(300, 30));
    on_threads(3, [&] {
        const Stream s(cpu_device());
        for (int j = 0; j < times; ++j) {
            Array<int> x = from_dlpack<int>(s, foreign.tensor());
            const DlpackPtr out = to_dlpack(s, x);
        }
    });
    finish_adopted();
    CHECK(foreign.ended() == 3 * times);
}

TEST_CASE("memory that many threads pass on and give up is freed by the last one") {
    const int times = static_cast<int>(repetitions(200, 20));
    for (int round = 0; round < 5; ++round) {
        const Stream s(test_device());
        Array<int> x = zeros<int>(s, n);
        const View<int> there = x;
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t)
            threads.emplace_back([&, share = to_dlpack(s, x)]() mutable {
                const Stream own(test_device());
                own.wait_stream(s);
                for (int i = 0; i < times; ++i) {
                    Array<int> y = from_dlpack<int>(own, share.release());
                    share = to_dlpack(own, y);
                    y.reset();
                }
            });
        x.reset();
        for (std::thread& thread : threads) thread.join();
        threads.clear();
        CHECK_FALSE(is_there(s, there));
    }
}

TEST_CASE("threads take and give up neighbouring tensors, whole and as rows") {
    Foreign foreign;
    const int times = static_cast<int>(repetitions(200, 20));
    std::atomic<int> taken{0};
    on_threads(4, [&](int t) {
        const Stream s(cpu_device());
        for (int i = 0; i < times; ++i) {
            auto* const tensor = foreign.tensor();
            tensor->tensor.byte_offset = static_cast<std::uint64_t>(t % 2) * 12 * sizeof(int);
            ++taken;
            if (t < 2) from_dlpack<int>(s, tensor).reset();
            else (void)rows_from_dlpack<int>(s, tensor);
        }
    });
    finish_adopted();
    CHECK(foreign.ended() == taken);
}
