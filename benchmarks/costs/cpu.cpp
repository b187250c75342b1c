// bench_costs on CPU devices: implementations without heddle, for comparison.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "costs/parts.hpp"
#include "plain_queue.hpp"

namespace bench {

Peers cpu_peers() {
    Peers peers;
    // The queue's single thread serves all rows. It stops when the last function that owns the
    // queue is destroyed.
    const auto queue = std::make_shared<PlainQueue>();
    const auto finish = [queue] { queue->synchronize(); };
    const auto push = repeat([queue] { queue->push([] {}); });
    for (const char* name : {row::launch_empty, row::host_function})
        peers[name] = {PlainQueue::name, {push, finish}};
    // Pushes one function that loops over the indices, as users do, and not one function for each
    // index.
    const auto numbers = std::make_shared<std::vector<float>>(64);
    float *const x = numbers->data(), *const y = x + 32;
    peers[row::launch_saxpy] = {PlainQueue::name,
                                {repeat([queue, numbers, x, y, a = 2.0f] {
                                     queue->push([a, x, y] {
                                         for (int i = 0; i < 32; ++i) y[i] += a * x[i];
                                     });
                                 }),
                                 finish}};
    peers[row::launch_five] = {PlainQueue::name,
                               {repeat([queue, numbers, x, y, n = 32, a = 2.0f, b = 3.0] {
                                    queue->push([n, a, b, x, y] {
                                        for (int i = 0; i < 32; ++i)
                                            if (i < n) y[i] = a * x[i] + static_cast<float>(b);
                                    });
                                }),
                                finish}};
    peers[row::launch_synchronize] = {PlainQueue::name,
                                      {repeat([queue] {
                                           queue->push([] {});
                                           queue->synchronize();
                                       }),
                                       finish}};
    const auto buffers = std::make_shared<std::vector<char>>(2 * small_bytes);
    const Side memory_copy{repeat([buffers] {
        std::memcpy(buffers->data(), buffers->data() + small_bytes, small_bytes);
        keep(*buffers->data());
    })};
    const Side memory_set{repeat([buffers] {
        std::memset(buffers->data(), 1, small_bytes);
        keep(*buffers->data());
    })};
    for (const char* name : {row::copy_to_device, row::copy_to_host, row::copy_on_device})
        peers[name] = {"memcpy, at once", memory_copy};
    for (const char* name : {row::fill_float, row::fill_zero})
        peers[name] = {"memset, at once", memory_set};
    const auto allocate = [](std::size_t bytes) {
        return Side{repeat([bytes] {
            void* data = std::aligned_alloc(64, bytes);
            keep(data);
            std::free(data);
        })};
    };
    peers[row::array_small] = {"aligned_alloc, free", allocate(small_bytes)};
    peers[row::array_large] = {"aligned_alloc, free", allocate(1 << 20)};
    return peers;
}

}  // namespace bench
