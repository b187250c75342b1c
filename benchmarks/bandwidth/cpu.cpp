// bench_bandwidth: the same work by a CPU program without heddle.
#include <cstring>
#include <memory>

#include "bandwidth/parts.hpp"
#include "team.hpp"

namespace bench {

namespace {

/// Divides `count` into `of` shares. Returns where the share of thread `index` begins.
std::size_t share(std::size_t count, std::ptrdiff_t index, std::ptrdiff_t of) {
    if (index == of) return count;
    return count / static_cast<std::size_t>(of) * static_cast<std::size_t>(index);
}

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
                    const std::size_t end = share(count, index + 1, of);
                    for (std::size_t i = share(count, index, of); i < end; ++i)
                        z[i] = x[i] + 3.0f * y[i];
                });
            })}};
}

Peer plain_transfers(const std::vector<Transfer>& transfers, std::size_t bytes) {
    const auto team = std::make_shared<Team>();
    return {"memcpy, threads with a share each", {repeat([=] {
                team->run([&transfers, bytes](std::ptrdiff_t index, std::ptrdiff_t of) {
                    const std::size_t first = share(bytes, index, of),
                                      end = share(bytes, index + 1, of);
                    for (const Transfer& transfer : transfers)
                        std::memcpy(static_cast<char*>(transfer.to) + first,
                                    static_cast<const char*>(transfer.from) + first, end - first);
                });
            })}};
}

}  // namespace bench
