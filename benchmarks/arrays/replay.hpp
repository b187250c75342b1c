// bench_arrays: the sequence of allocations, which is the same for heddle and for the raw calls.
//
// A Memory must have a type Buffer and these functions. Streams have numbers from 0 to 7:
//     Buffer make(std::size_t bytes, int stream);    void free(Buffer& buffer, int stream);
//     void use(Buffer& buffer, int stream);           void wait(int waiter, int other);
//     void enter();  once on each thread            void finish();  waits for all streams
//     void trim();  frees unused memory
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "measure.hpp"
#include "team.hpp"

namespace bench {

/// Allocates `bytes` bytes for the slot, or frees the slot's memory.
struct Step {
    std::size_t slot;
    std::size_t bytes;  ///< 0 to free
};

/// Returns the allocations in a training step of a network with 12 equal layers. Each layer keeps
/// its activations for the backward pass, and needs temporary memory in both directions. PyTorch
/// makes these allocations for a transformer with 12 heads and batches of 8 x 512 tokens of 768
/// floats.
inline std::vector<Step> training_step(std::size_t scale = 1) {
    const std::size_t tokens = 8 * 512 / scale, token = 768 * 4, scores = tokens * 512 * 12 * 4;
    const std::array<std::size_t, 6> kept{tokens * token, 3 * tokens * token, scores,
                                          tokens * token, 4 * tokens * token, tokens * 8};
    const std::array<std::size_t, 5> temporary{scores, tokens * token, 4 * tokens * token,
                                               tokens * 12 * 4, tokens * token};
    constexpr std::size_t layers = 12;
    std::vector<Step> steps;
    const std::size_t first_temporary = layers * kept.size();
    const auto temporaries = [&](bool backward) {
        for (std::size_t i = 0; i < temporary.size(); ++i) {
            steps.push_back(
                {first_temporary + i, temporary[backward ? temporary.size() - 1 - i : i]});
            if (i != 0)
                steps.push_back({first_temporary + i - 1, 0});  // freed now: the next one needed it
        }
        steps.push_back({first_temporary + temporary.size() - 1, 0});
    };
    for (std::size_t layer = 0; layer < layers; ++layer) {
        for (std::size_t i = 0; i < kept.size(); ++i)
            steps.push_back({layer * kept.size() + i, kept[i]});
        temporaries(false);
    }
    for (std::size_t layer = layers; layer-- > 0;) {
        temporaries(true);
        for (std::size_t i = kept.size(); i-- > 0;) steps.push_back({layer * kept.size() + i, 0});
    }
    return steps;
}

/// Returns 256 allocations in 16 slots, from 1 byte to 4 MB. The sequence is always the same.
inline std::vector<Step> mixed_sizes() {
    std::vector<Step> steps;
    std::array<bool, 16> made{};
    std::uint32_t number = 1;
    for (int i = 0; i < 256; ++i) {
        number = number * 1664525u + 1013904223u;
        const std::size_t slot = number >> 28;
        if (std::exchange(made[slot], true)) steps.push_back({slot, 0});
        steps.push_back(
            {slot, 1 + (number >> 4 & 0xfffu) * (std::size_t{1} << (number >> 16) % 11)});
    }
    for (std::size_t slot = 0; slot < made.size(); ++slot)
        if (made[slot]) steps.push_back({slot, 0});
    return steps;
}

/// Returns the largest number of bytes that are in use at the same time.
inline std::size_t peak_of(const std::vector<Step>& steps) {
    std::map<std::size_t, std::size_t> sizes;
    std::size_t now = 0, most = 0;
    for (const Step& step : steps) {
        now += step.bytes;
        now -= step.bytes == 0 ? sizes[step.slot] : 0;
        sizes[step.slot] = step.bytes;
        most = std::max(most, now);
    }
    return most;
}

template <class Memory> class Replay {
public:
    Replay(std::shared_ptr<Memory> memory, std::vector<Step> steps)
        : memory_(std::move(memory)), steps_(std::move(steps)), slots_(128) {}
    void operator()() {
        for (const Step& step : steps_)
            if (step.bytes != 0) slots_[step.slot] = memory_->make(step.bytes, 0);
            else memory_->free(slots_[step.slot], 0);
    }

private:
    std::shared_ptr<Memory> memory_;
    std::vector<Step> steps_;
    std::vector<typename Memory::Buffer> slots_;
};

namespace row {
inline constexpr const char* same_4k = "array of 4 KB made and freed";
inline constexpr const char* same_1m = "array of 1 MB made and freed";
inline constexpr const char* same_64m = "array of 64 MB made and freed";
inline constexpr const char* used = "array of 4 KB made, filled and freed";
inline constexpr const char* training = "the arrays of a training step (192), made and freed";
inline constexpr const char* mixed = "arrays of 256 sizes up to 4 MB, made and freed";
inline constexpr const char* exchange = "array of 4 KB made on one stream, freed on another";
inline constexpr const char* threads = "array of 4 KB made and freed, 8 threads with a stream each";
inline constexpr const char* pressure = "the training step where memory is 5 % more than it needs";
}  // namespace row

/// Returns the different uses of a Memory, by row name.
template <class Memory> Peers sides_of(std::shared_ptr<Memory> memory, const std::string& name) {
    Peers sides;
    const auto finish = [memory] { memory->finish(); };
    const auto add = [&](const char* of, std::function<void(int)> run) {
        sides[of] = {name, {std::move(run), finish}};
    };
    for (const auto& [of, bytes] : {std::pair{row::same_4k, std::size_t{4} << 10},
                                    {row::same_1m, std::size_t{1} << 20},
                                    {row::same_64m, std::size_t{64} << 20}})
        add(of, repeat([memory, size = bytes] {
                auto buffer = memory->make(size, 0);
                keep(buffer);
                memory->free(buffer, 0);
            }));
    add(row::used, repeat([memory] {
            auto buffer = memory->make(4096, 0);
            memory->use(buffer, 0);
            memory->free(buffer, 0);
        }));
    const auto replay = [&](const char* of, std::vector<Step> steps) {
        const auto all = std::make_shared<Replay<Memory>>(memory, std::move(steps));
        add(of, repeat([all] { (*all)(); }));
    };
    replay(row::training, training_step());
    replay(row::mixed, mixed_sizes());
    add(row::exchange, repeat([memory] {
            auto buffer = memory->make(4096, 0);
            memory->use(buffer, 0);
            memory->wait(1, 0);
            memory->use(buffer, 1);
            memory->free(buffer, 1);
            memory->wait(0, 1);
        }));
    const auto team = std::make_shared<Team>(8u);
    add(row::threads, [memory, team](int calls) {
        team->run([&](std::ptrdiff_t index, std::ptrdiff_t) {
            memory->enter();
            for (int i = 0; i < calls; ++i) {
                auto buffer = memory->make(4096, static_cast<int>(index));
                keep(buffer);
                memory->free(buffer, static_cast<int>(index));
            }
        });
    });
    return sides;
}

}  // namespace bench
