// bench_by_data: the patterns of Task Bench, and implementations without heddle that run them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "measure.hpp"
#include "spin.hpp"

namespace bench {

/// How tasks depend on each other. A program has steps of up to `width` tasks, and each task reads
/// the results of some tasks in the previous step. The patterns and their names are from Task Bench
/// (Slaughter et al., SC20).
enum class Pattern { trivial, stencil, fft, tree, random, sweep };
inline constexpr Pattern all_patterns[] = {Pattern::trivial, Pattern::stencil, Pattern::fft,
                                           Pattern::tree,    Pattern::random,  Pattern::sweep};
inline const char* name_of(Pattern pattern) {
    constexpr const char* names[] = {"trivial", "stencil", "fft", "tree", "random", "sweep"};
    return names[static_cast<std::size_t>(pattern)];
}

struct PatternTask {
    std::size_t step, point;
    std::vector<std::size_t> reads;  ///< indices in the previous step, at most three
};

/// The tasks, in the order in which a program calls them.
struct PatternProgram {
    std::size_t width, steps;
    std::vector<PatternTask> tasks;

    PatternProgram(Pattern pattern, std::size_t of_width, std::size_t of_steps)
        : width(of_width), steps(of_steps) {
        std::mt19937 random(1);
        std::size_t before = 0;
        for (std::size_t t = 0; t < steps; ++t) {
            std::size_t now = width;
            if (pattern == Pattern::tree && t < 16) now = std::min(width, std::size_t{1} << t);
            if (pattern == Pattern::sweep) now = std::min({width, t + 1, steps - t});
            for (std::size_t i = 0; i < now; ++i) {
                PatternTask task{t, i, {}};
                const auto read = [&](std::size_t point) {
                    if (t != 0 && point < before &&
                        std::find(task.reads.begin(), task.reads.end(), point) == task.reads.end())
                        task.reads.push_back(point);
                };
                const std::size_t apart = std::size_t{1} << (t % 4);
                switch (pattern) {
                case Pattern::trivial: break;
                case Pattern::stencil: read(i), read(i - 1), read(i + 1); break;
                case Pattern::fft: read(i), read(i - apart), read(i + apart); break;
                case Pattern::tree: read(i / 2); break;
                case Pattern::random:
                    for (int k = 0; k < 3; ++k) read(random() % width);
                    break;
                case Pattern::sweep: read(i), read(i - 1); break;
                }
                tasks.push_back(std::move(task));
            }
            before = now;
        }
    }
};

/// The data of a task. The task increases the value, and takes `ns`.
struct alignas(64) PatternValue {
    long value = 0;
};
HEDDLE_FN inline void run_task(long& to, long a, long b, long c, std::uint64_t ns) {
    to = a + b + c + 1;
    if (ns != 0) spin_for(ns);
}

/// One call builds the program's graph and runs it on `threads` threads. Each task has its own
/// memory, so only the pattern's edges order tasks. Returns an empty list if the library is
/// missing, and prints why.
std::vector<Peer> taskflow_patterns(const PatternProgram& program, int threads, std::uint64_t ns);
std::vector<Peer> tbb_patterns(const PatternProgram& program, int threads, std::uint64_t ns);
/// Return why a peer is missing, or an empty string if the peer is available.
std::string why_no_taskflow();
std::string why_no_tbb();

}  // namespace bench
