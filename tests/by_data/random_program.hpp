// Random programs that are ordered by data: lists of calls, and their results in sequence. Some
// calls only need a DataOrder and its arrays. Tests must include kernels.hpp, too: CMake
// recognises files with kernels by that include.
#pragma once

#include "random.hpp"
#include "random_programs/kernels.hpp"
#include "random_programs/words.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle_test::by_data {

using programs::HostWork;
using programs::Mix;
using programs::Scale;
using programs::Word;

enum class Call : std::uint8_t {
    scale,
    mix,
    lambda,  ///< a kernel that captures its views
    fill,
    copy,
    copy_2d,  ///< copies the first half of each row of four
    host,
    task,  ///< a task that declares all that it uses
    temporary,
    pageable,         ///< copies from the host and back
    read,             ///< to_host(); the result is compared immediately
    outside,          ///< work on a stream outside the order
    prepared,         ///< a launch, prepared once and changed for each use
    at_addresses,     ///< a kernel that holds addresses
    prepared_at,      ///< as at_addresses, by a prepared launch
    task_makes,       ///< a task that replaces an array by a new one
    task_makes_side,  ///< as task_makes, on a stream that the task creates
    task_forks,
    task_captures,  ///< a task that captures a graph and launches it
    task_launches,  ///< a task that launches a graph, always the same one
    task_batches,
    made_anew,       ///< memory that is freed while its work is pending
    on_host,         ///< the host changes the array
    look,            ///< to_host() without the order as an argument
    pageable_array,  ///< a copy from a pageable array, which is written by a copy first
    outside_ending,  ///< work on an outside stream, which then ends
    thread,          ///< another thread uses its own order; this order waits until that one ends
    reborn,          ///< replaces the order; the current stream remains
    joined,
    waited,          ///< calls order.synchronize()
    waited_all,      ///< calls synchronize_device()
    batch_begins,    ///< another thread batches the default stream, and flushes
    capture_begins,  ///< as batch_begins, with a capture
    recording_ends,
    fails,          ///< a failure, which is cleared; then all arrays are set again
    task_fails,     ///< same as `fails`, in a task
    outside_fails,  ///< same as `fails`, on an outside stream
    calls,          ///< number of calls
};
/// The number of calls from `scale` to `outside`. These use no other threads, graphs or failures.
inline constexpr std::size_t plain_calls = static_cast<std::size_t>(Call::outside) + 1;
inline constexpr std::size_t all_calls = static_cast<std::size_t>(Call::calls);

inline std::string name_of(Call call) {
    static constexpr std::string_view names =
        "scale mix lambda fill copy copy_2d host task temporary pageable read outside prepared "
        "at_addresses prepared_at task_makes task_makes_side task_forks task_captures "
        "task_launches task_batches made_anew on_host look pageable_array outside_ending thread "
        "reborn joined waited waited_all batch_begins capture_begins recording_ends fails "
        "task_fails outside_fails";
    static_assert(programs::count_words(names) == all_calls);
    return programs::word_of(names, call);
}

struct Statement {
    Call call;
    std::size_t to, from;  ///< two different arrays
    Word a, b;
    int slow;
};

struct Program {
    std::uint64_t seed = 0;
    std::size_t size = 0, arrays = 0;
    DataOrderOptions options;
    std::vector<Statement> statements;
};

/// Generates a program that uses only the first `calls` calls.
inline Program generate(std::uint64_t seed, std::size_t calls) {
    Random random(seed);
    Program p;
    p.seed = seed;
    p.size = 8 * (1 + random.below(4));
    p.arrays = 3 + random.below(5);
    p.options = {.streams = static_cast<int>(1 + random.below(5)),
                 .waits = static_cast<DataWaits>(random.below(3)),
                 .spread = random.below(2) == 0 ? DataSpread::automatic : DataSpread::always};
    const std::size_t count = 10 + random.below(calls == plain_calls ? 30 : 40);
    for (std::size_t i = 0; i < count; ++i) {
        Statement s{};
        s.call = static_cast<Call>(random.below(calls));
        s.to = random.below(p.arrays);
        s.from = (s.to + 1 + random.below(p.arrays - 1)) % p.arrays;
        s.a = static_cast<Word>(1 + 2 * random.below(5));
        s.b = static_cast<Word>(random.below(100));
        s.slow = random.below(4) == 0 ? static_cast<int>(random.below(20'000)) : 0;
        p.statements.push_back(s);
    }
    return p;
}

/// Computes the results of a program, one call after the other.
class Reference {
public:
    explicit Reference(const Program& p) : arrays(p.arrays, Ints(p.size)), counted(p.size) {
        for (std::size_t i = 0; i < arrays.size(); ++i)
            for (std::size_t k = 0; k < p.size; ++k) arrays[i][k] = static_cast<int>(100 * i + k);
    }
    void step(const Statement& s) {
        Ints& to = arrays[s.to];
        const Ints& from = arrays[s.from];
        const auto each = [&](auto f) {
            for (std::size_t i = 0; i < to.size(); ++i)
                to[i] = static_cast<int>(f(static_cast<Word>(to[i]), static_cast<Word>(from[i])));
        };
        switch (s.call) {
        case Call::scale:
        case Call::prepared:
        case Call::on_host:
        case Call::task_forks:
        case Call::outside:
        case Call::outside_ending:
        case Call::reborn: each([&](Word t, Word) { return t * s.a + s.b; }); break;
        case Call::mix:
        case Call::lambda:
        case Call::host:
        case Call::at_addresses:
        case Call::prepared_at:
        case Call::task:
        case Call::task_captures:
        case Call::task_batches:
        case Call::thread: each([&](Word t, Word f) { return t * s.a + f + s.b; }); break;
        case Call::fill:
        case Call::made_anew: each([&](Word, Word) { return s.b; }); break;
        case Call::copy:
        case Call::pageable:
        case Call::pageable_array: to = from; break;
        case Call::copy_2d:
            for (std::size_t i = 0; i < to.size(); ++i)
                if (i % 4 < 2) to[i] = from[i];
            break;
        case Call::task_makes:
        case Call::task_makes_side: each([&](Word, Word f) { return f * s.a + s.b; }); break;
        case Call::task_launches:
            for (int& one : counted) ++one;
            for (std::size_t i = 0; i < to.size(); ++i)
                to[i] = static_cast<int>(static_cast<Word>(to[i]) + static_cast<Word>(counted[i]));
            break;
        case Call::temporary: each([&](Word t, Word f) { return t + f * s.a + s.b; }); break;
        default: break;
        }
    }
    std::vector<Ints> arrays;
    Ints counted;  ///< counter in the graph of task_launches
};

/// nvcc needs the lambda in a separate function.
inline void launch_lambda(DataOrder& order, const programs::Captured& c) {
    launch(
        order, [c] HEDDLE_FN(std::size_t i) { Mix{}(i, c.from, c.to, c.a, c.b, c.slow); },
        dim(c.to.size()));
}

// A host function cannot access the arrays of a GPU.
inline void enqueue_host(DataOrder& order, const Statement& s, Array<int>& to,
                         const Array<int>& from) {
    if (test_device().is_cuda())
        return launch(order, Mix{}, dim(to.size()), from, to, s.a, s.b, s.slow);
    const HostWork work{to.view(), from.view(), to.size(), s.a, s.b, s.slow};
    if (s.b % 2 == 0) launch_host(order, work, reads(from), writes(to));
    else launch_host(order, work);  // the function holds the views
}

/// Makes the call if it is in the range from `scale` to `pageable`.
inline void enqueue_plain(DataOrder& order, const Statement& s, Array<int>& to,
                          const Array<int>& from) {
    const std::size_t size = to.size();
    switch (s.call) {
    case Call::scale: return launch(order, Scale{}, dim(size), to, s.a, s.b, s.slow);
    case Call::mix: return launch(order, Mix{}, dim(size), from, to, s.a, s.b, s.slow);
    case Call::lambda: return launch_lambda(order, {from.view(), to.view(), s.a, s.b, s.slow});
    case Call::fill: return fill(order, to, static_cast<int>(s.b));
    case Call::copy: return copy(order, to, from);
    case Call::copy_2d:
        return copy_2d(order, View2D<int>(to, size / 4, 2, 4),
                       View2D<const int>(from, size / 4, 2, 4));
    case Call::host: return enqueue_host(order, s, to, from);
    case Call::task:
        return order.task({reads(from), writes(to)}, [&](StreamRef stream) {
            launch(stream, Mix{}, dim(size), from, to, s.a, s.b, s.slow);
        });
    case Call::temporary: {
        Array<int> once = clone(order, from);
        launch(order, Scale{}, dim(size), once, s.a, s.b, s.slow);
        return launch(order, Mix{}, dim(size), once, to, Word{1}, Word{0}, 0);
    }
    case Call::pageable: return copy(order, to, to_host(order, from));
    default: return;
    }
}

}  // namespace heddle_test::by_data
