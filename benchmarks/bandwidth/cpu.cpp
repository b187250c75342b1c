// bench_bandwidth: what a program without heddle does on the CPU.
#include <cstring>
#include <memory>

#include "bandwidth/parts.hpp"
#include "team.hpp"

namespace bench {

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
