// Counters of operations, implemented by an observer.
#include <heddle/operation/stats.hpp>

#include <atomic>

#include "core/operation/observers.hpp"
#include <heddle/error.hpp>
#include <heddle/operation/observer.hpp>

namespace heddle {

namespace {

class Counters final : public Observer {
public:
    void on_op(const OpInfo& op) noexcept override {
        switch (op.kind) {
        case OpKind::launch: add(launches_); break;
        case OpKind::graph_launch: add(graph_launches_); break;
        case OpKind::host_function: add(host_functions_); break;
        case OpKind::copy: add(copies_), add(bytes_copied_, op.bytes); break;
        case OpKind::fill: add(fills_); break;
        case OpKind::allocate: add(allocations_), add(bytes_allocated_, op.bytes); break;
        case OpKind::free: add(frees_); break;
        case OpKind::record: add(events_recorded_); break;
        case OpKind::wait: add(waits_inserted_); break;
        case OpKind::wait_elided: add(waits_elided_); break;
        case OpKind::dropped: add(dropped_); break;
        case OpKind::synchronize:
            if (op.reason == WaitReason::user) add(synchronizations_);
            break;
        case OpKind::collective: add(launches_); break;
        default: break;
        }
    }

    OpStats read() const {
        return {launches_,     graph_launches_,  host_functions_, copies_,
                bytes_copied_, fills_,           allocations_,    bytes_allocated_,
                frees_,        events_recorded_, waits_inserted_, waits_elided_,
                dropped_,      synchronizations_};
    }

private:
    using Counter = std::atomic<std::uint64_t>;
    static void add(Counter& counter, std::uint64_t n = 1) noexcept {
        counter.fetch_add(n, std::memory_order_relaxed);
    }
    Counter launches_{0}, graph_launches_{0}, host_functions_{0}, copies_{0}, bytes_copied_{0},
        fills_{0}, allocations_{0}, bytes_allocated_{0}, frees_{0}, events_recorded_{0},
        waits_inserted_{0}, waits_elided_{0}, dropped_{0}, synchronizations_{0};
};

}  // namespace

namespace {
constinit Counters counters;
constinit std::atomic<bool> are_counting{false};
}  // namespace

OpCounter::OpCounter() try {
    if (!are_counting.load(std::memory_order_acquire)) [[unlikely]] {
        detail::ensure_observer(counters);
        are_counting.store(true, std::memory_order_release);
    }
    before_ = counters.read();
} catch (...) {
    detail::rethrow_as_error("OpCounter", {});
}
OpStats OpCounter::stats() const { return counters.read() - before_; }

OpStats stats() {
    (void)OpCounter();
    return counters.read();
}

OpStats operator-(OpStats a, const OpStats& b) {
    a.launches -= b.launches;
    a.graph_launches -= b.graph_launches;
    a.host_functions -= b.host_functions;
    a.copies -= b.copies;
    a.bytes_copied -= b.bytes_copied;
    a.fills -= b.fills;
    a.allocations -= b.allocations;
    a.bytes_allocated -= b.bytes_allocated;
    a.frees -= b.frees;
    a.events_recorded -= b.events_recorded;
    a.waits_inserted -= b.waits_inserted;
    a.waits_elided -= b.waits_elided;
    a.dropped -= b.dropped;
    a.synchronizations -= b.synchronizations;
    return a;
}

}  // namespace heddle
