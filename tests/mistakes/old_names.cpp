// Old names of heddle, deprecated until 0.2. Each line must compile with a warning that has the new
// name. See old_names.sh.
#include <heddle/by_data.hpp>
#include <heddle/check.hpp>
#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

struct Nothing {
    HEDDLE_FN void operator()(std::size_t) const {}
};

[[maybe_unused]] void old_names(Stream& s, Stream& other, Device device, Event& event, Batch& batch,
                                ScopedBatch& scope, BatchResult result,
                                const PendingStream& pending) {
    (void)StreamIs::running;                             // says: use StreamStatus
    (void)StreamStatus::between;                         // says: use in_flight
    (void)pending.is;                                    // says: use status
    (void)BatchResult::How::eager;                       // says: use BatchOutcome
    (void)result.how;                                    // says: use outcome
    scope.send();                                        // says: write flush()
    batch([] {});                                        // says: write run(body)
    batch(s, [] {});                                     // says: write run(stream, body)
    (void)RunResult::done;                               // says: use succeeded
    (void)OpKind::synchronize_begins;                    // says: use synchronize_begin
    (void)OpKind::host_function_runs;                    // says: use host_function_begin
    (void)OpKind::hand_out;                              // says: use expose
    (void)OpKind::after_users;                           // says: use wait_for_users
    (void)WaitReason::wait_reasons;                      // says: use heddle::wait_reasons
    (void)CauseKind::process_is_gone;                    // says: use other_process
    (void)CauseKind::rank_has_not_come;                  // says: use rank_missing
    (void)GraphNodeInfo::no_node;                        // says: use OpNode
    [[maybe_unused]] const PendingPlace pending_place;   // says: use SourcePlace
    [[maybe_unused]] const check::Place check_place;     // says: use SourcePlace
    (void)stats();                                       // says: make an OpCounter
    const MemoryStatistics arrays = statistics(device);  // says: use MemoryStats
    (void)statistics(device).held;                       // says: write memory_stats(device)
    (void)pool_usage(device).used;                       // says: write memory_stats(device)
    reset_pool_high_water(device);                 // says: write reset_peak_memory_stats(device)
    wait_stream(s, other);                         // says: write waiter.wait_stream(other)
    wait_event(s, event);                          // says: write waiter.wait_event(event)
    (void)record_event(s);                         // says: write stream.record_event(options)
    record_event(s, event);                        // says: write stream.record_event(event)
    (void)is_capturing(s);                         // says: write stream.is_capturing()
    (void)elapsed_time(event, event);              // says: write elapsed(start, end).count()
    fork_join_each(3, [](std::size_t) {});         // says: write fork_join_n(count, f
    launch_host(s, quiet([] {}));                  // says: write signals_nothing(function)
    order_by_data order;                           // says: use DataOrder
    [[maybe_unused]] const ByDataOptions options;  // says: use DataOrderOptions
    [[maybe_unused]] const ByDataStats stats_of_order;  // says: use DataOrderStats
    (void)Device();                                     // says: write current_device()
    // The next line is added above.
    (void)s, (void)other, (void)device, (void)event, (void)batch, (void)scope, (void)result;
    (void)pending;
}

}  // namespace
