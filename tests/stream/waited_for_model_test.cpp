// Tests WaitedFor for machines with weak memory order, without such a machine. It uses a model of
// such memory instead of std::atomic. The model tries all values that each load may return.
//
// The model represents release and acquire by views. A location keeps all values that it ever had.
// A thread may load any of them, except those older than the newest value that it knows. An acquire
// load of a value stored with release adds the storing thread's knowledge to the loading thread's.
#include "core/seam/waited_for.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using namespace heddle_test;

namespace {

/// For each location: index of the oldest value that may still be loaded.
using View = std::vector<std::size_t>;

void join(View& to, const View& more) {
    to.resize(std::max(to.size(), more.size()), 0);
    for (std::size_t i = 0; i < more.size(); ++i) to[i] = std::max(to[i], more[i]);
}

/// One execution, in which threads run one after the other. Earlier threads observe nothing of
/// later threads. Later threads observe any part of the effects of earlier threads.
class Execution {
public:
    /// Begins the next thread. It has no knowledge yet.
    void begin_thread() { known_.clear(); }
    View& known() { return known_; }
    std::size_t add_location() { return locations_++; }

    /// Returns a number below `options`. Together, the executions try every combination of choices.
    std::size_t choose(std::size_t options) {
        if (depth_ == path_.size()) path_.push_back({0, options});
        return path_[depth_++].first;
    }
    /// Begins the next execution. Returns false if all were run.
    bool next() {
        depth_ = locations_ = 0;
        known_.clear();
        while (!path_.empty() && ++path_.back().first == path_.back().second) path_.pop_back();
        return !path_.empty();
    }

private:
    View known_;
    std::size_t locations_ = 0, depth_ = 0;
    std::vector<std::pair<std::size_t, std::size_t>> path_;
};
Execution* execution = nullptr;

template <class T> class ModelAtomic {
public:
    ModelAtomic(T value) : values_{{value, {}}}, place_(execution->add_location()) {}

    T load(std::memory_order order) const {
        const std::size_t oldest = known();
        return read(oldest + execution->choose(values_.size() - oldest), order);
    }
    void store(T value, std::memory_order order) { write(value, order, {}); }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
        const T newest = read(values_.size() - 1, order);
        if (newest != std::exchange(expected, newest)) return false;
        write(desired, order, View(values_.back().second));
        return true;
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order order) {
        return compare_exchange_strong(expected, desired, order);
    }

private:
    std::size_t& known() const {
        View& all = execution->known();
        all.resize(std::max(all.size(), place_ + 1), 0);
        return all[place_];
    }
    T read(std::size_t index, std::memory_order order) const {
        known() = index;
        if (order == std::memory_order_acquire || order == std::memory_order_acq_rel)
            join(execution->known(), values_[index].second);
        return values_[index].first;
    }
    /// Stores a value. For a read-modify-write, `inherited` is the knowledge attached to the
    /// replaced value.
    void write(T value, std::memory_order order, View inherited) {
        known() = values_.size();
        if (order == std::memory_order_release || order == std::memory_order_acq_rel)
            join(inherited, execution->known());
        values_.emplace_back(value, std::move(inherited));
    }

    std::vector<std::pair<T, View>> values_;  ///< with the knowledge that acquiring it adds
    std::size_t place_;
};

using Waited = detail::BasicWaitedFor<ModelAtomic>;

struct Outcomes {
    std::size_t all = 0, covered = 0;
};

/// In all executions, runs `write`, which selects threads for its writes, and queries on another
/// thread.
template <class Write>
Outcomes outcomes(Write&& write, std::uint64_t stream_id, std::uint64_t submissions) {
    Execution all;
    execution = &all;
    Outcomes seen;
    do {
        Waited waited;
        write(waited);
        execution->begin_thread();
        seen.covered += waited.covers(stream_id, submissions);
        ++seen.all;
    } while (all.next());
    return seen;
}

// Both ids use the same slot of the table.
constexpr std::uint64_t one = 1, other = 9, most = 1'000'000;

}  // namespace

TEST_CASE("the model of weakly ordered memory lets a thread see what is old, and orders by release "
          "and acquire") {
    Execution all;
    execution = &all;
    bool old_data = false, wrong = false;
    do {
        for (const auto order : {std::memory_order_relaxed, std::memory_order_release}) {
            execution->begin_thread();
            ModelAtomic<int> data(0), ready(0);
            data.store(1, std::memory_order_relaxed);
            ready.store(1, order);
            execution->begin_thread();
            if (ready.load(std::memory_order_acquire) == 0) continue;
            const bool is_old = data.load(std::memory_order_relaxed) == 0;
            (order == std::memory_order_release ? wrong : old_data) |= is_old;
        }
    } while (all.next());
    CHECK(old_data);
    CHECK_FALSE(wrong);
}

TEST_CASE("a note is seen or not by a thread that asks, however weakly memory is ordered") {
    const auto write = [](Waited& waited) { waited.note(one, 1); };
    const Outcomes seen = outcomes(write, one, 1);
    CHECK(seen.covered != 0);
    CHECK(seen.covered < seen.all);
    CHECK(outcomes(write, one, 2).covered == 0);
}

TEST_CASE("a stream's count is never taken for another's, however weakly memory is ordered") {
    const auto by_one_thread = [](Waited& waited) {
        waited.note(one, 1);
        waited.forget();
        waited.note(other, most);
        waited.forget();
        waited.note(one, 1);
    };
    CHECK(outcomes(by_one_thread, one, 1).covered != 0);
    CHECK(outcomes(by_one_thread, one, 2).covered == 0);
    CHECK(outcomes(by_one_thread, other, most + 1).covered == 0);
    const auto by_two_threads = [](Waited& waited) {
        waited.note(one, 1);
        waited.forget();
        execution->begin_thread();
        waited.note(other, most);
    };
    CHECK(outcomes(by_two_threads, other, most).covered != 0);
    CHECK(outcomes(by_two_threads, one, 2).covered == 0);
    CHECK(outcomes(by_two_threads, other, most + 1).covered == 0);
}

TEST_CASE("of two threads that note one stream none covers more than both, however weakly memory "
          "is ordered") {
    const auto write = [](Waited& waited) {
        waited.note(one, 7);
        execution->begin_thread();
        waited.note(one, 5);
    };
    CHECK(outcomes(write, one, 7).covered != 0);
    CHECK(outcomes(write, one, 8).covered == 0);
}
