// The ordering checker: finds unordered accesses to the same memory.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check/events.hpp"
#include "check/leaks.hpp"
#include "check/memory.hpp"
#include "check/shape.hpp"
#include "check/streams.hpp"

namespace heddle::detail {

/// Finds pairs of operations that access the same memory without an order between them. Receives
/// operations one by one, as they were enqueued. The result depends on the operations alone: the
/// engine queries no device and no clock. Not thread-safe.
class CheckEngine {
public:
    /// Adds an operation. Appends its conflicts to findings().
    void add(const CheckOp& op);
    /// The result of look(): the bytes around the use that conflict with no pending operation. If
    /// `is_race` is true, these are the bytes of the use instead, and findings() has the race.
    struct HostLook {
        std::uint64_t begin = 0, end = 0;
        bool is_race = false, is_certain = false;
    };
    /// Compares a use of [use.data, use.end()) by the host with pending operations. `all` is the
    /// whole array, and `op.reach` is the kind of use. Does not remember the use. If there is a
    /// conflict, calls make_site() for the place of the use.
    template <class F>
    HostLook look(CheckOp& op, const CheckAccess& use, const CheckAccess& all, F&& make_site) {
        HostLook answer;
        if (compare_by_host(op, use, all, answer)) return answer;
        op.site = make_site();
        tell_by_host(op, use, answer);
        return answer;
    }
    /// Drops the operations that a batch has recorded since its last submission. Call when the
    /// batch is abandoned: these operations will not run.
    void abandon(std::uint64_t recording);
    /// Records that a host function sends a notification with this key. `function` is the id of the
    /// host function. See check::released().
    void released(std::uint64_t key, std::uint64_t function);
    /// Records that the host received the notification with this key; see check::acquired().
    void acquired(std::uint64_t key, SiteId site);
    /// Ends the input. Appends the findings that were held for later operations.
    void finish();

    /// Returns whether this id belongs to a known operation that runs host functions. The engine
    /// forgets old operations.
    bool knows_function(std::uint64_t id) const { return functions_.has(id); }

    /// Returns the findings so far. The caller may clear them.
    std::vector<Finding>& findings() noexcept { return findings_; }
    /// Returns the place of the first known event record on the stream at `position` or later.
    /// Returns 0 if there is none.
    SiteId record_behind(std::uint64_t stream, std::uint64_t position);
    /// Returns the place where the array at this address was made. Returns 0 if no array is known
    /// there, or if it was made before the first operation.
    SiteId made_at(std::uint64_t address) {
        const AllocationTrack* const found = memory_.at_address(address);
        return found != nullptr && !found->is_freed ? found->made : 0;
    }
    /// Returns the position of a stream's newest operation. Returns 0 if the stream was forgotten.
    std::uint64_t newest(std::uint64_t stream);

    struct Sizes {
        std::size_t streams, slots, events, allocations, freed;
    };
    Sizes sizes() const noexcept {
        return {streams_.size(), streams_.slots(), events_.size(), memory_.size(), memory_.freed()};
    }

private:
    /// An operation that is being added.
    struct Step {
        const CheckOp& op;
        StreamTrack* stream;  ///< null for the host
        Epoch epoch;
    };
    /// A graph's newest launch, or a host function.
    struct Past {
        Moment moment;
        SiteId site = 0;
        template <class F> void each_moment(F&& f) const { f(moment); }
    };
    /// The accesses of a launched graph's shape, computed once.
    struct KnownShape {
        ShapeUse use;
        std::vector<std::uint64_t> streams;  ///< each part has an id, as if it were a stream
        template <class F> void each_moment(F&&) const {}
    };
    struct Share {
        std::uint64_t stream;
        Epoch epoch;
    };
    /// A collective with missing shares.
    struct Collective {
        std::vector<Share> shares;
        Clock entered;  ///< all work ordered before the shares
        std::vector<Finding> held;
    };
    struct Copy {
        Moment moment;
        template <class F> void each_moment(F&&) const {}
    };
    /// The state recorded by released(key).
    struct Released {
        Clock before;
        template <class F> void each_moment(F&& f) const { f(Moment{before, {}}); }
    };
    struct HostWait {
        Clock reaches;
        SiteId site = 0;
    };

    // engine.cpp
    void add_on_stream(const CheckOp& op);
    void add_on_host(const CheckOp& op);
    void add_work(const Step& step);
    void remember_work(const Step& step);
    bool runs_functions(const CheckOp& op);
    Step begin(const CheckOp& op);
    void come_from(StreamTrack& stream, const CheckOp& op);

    // engine_order.cpp: records, waits, host waits
    void record(const Step& step);
    void wait(const Step& step);
    void note_wait(const Step& step, const EventRecord* record);
    bool needs_wait(const Step& step, const StreamTrack& other) const;
    bool is_new_work(Epoch reached, const Order& order) const;
    void tell_elision_fault(const Step& step, const StreamTrack& other);
    void note_completed(const Clock& work, const StreamTrack& stream);
    /// Returns the work that a wait or query covers, as a clock.
    Clock target_of(const CheckOp& op);
    void join_target(Clock& to, const CheckOp& op);
    void join_all(Clock& to);
    void join_moment(Clock& to, std::uint64_t stream, std::uint64_t position);
    Clock device_clock(std::uint32_t device);
    void begin_host_wait(const CheckOp& op);
    void end_host_wait(const CheckOp& op);
    void raise_floor(const Clock& reaches, SiteId site);
    void tie_event(const CheckOp& op);

    // engine_accesses.cpp: accesses of operations, and their conflicts
    struct Access {
        const CheckOp& op;
        const CheckAccess& access;
        Mark mark;
        Order order;
        StreamTrack* stream;
    };
    void access_all(const Step& step);
    void access_by_host(const CheckOp& op);
    bool compare_by_host(const CheckOp& op, const CheckAccess& use, const CheckAccess& all,
                         HostLook& answer);
    void tell_by_host(const CheckOp& op, const CheckAccess& use, HostLook& answer);
    void find_by_host(const CheckOp& op, const CheckAccess& access);
    void access(const CheckOp& op, const CheckAccess& access, const Mark& mark, const Order& order,
                StreamTrack* stream);
    void tell(const Access& second, const AllocationTrack& memory);
    void tell_one(const Access& second, const AllocationTrack& memory, const Conflict& conflict,
                  std::size_t first_finding);
    bool is_expected(const Access& second, const AllocationTrack& memory,
                     const Conflict& conflict) const;
    SiteId leak_of(const Access& second, Epoch first) const;
    Doubt doubt_of(const Access& second, const AllocationTrack& memory, const Conflict& conflict,
                   SiteId leak) const;
    bool is_on_gpu(Epoch epoch) const;
    FindingSide side_of(const Mark& mark);
    void name_node(FindingSide& side, const CheckShape* shape, const Finding& finding,
                   AccessMode other) const;
    KnownOrder order_between(const FindingSide& first, const StreamTrack* second) const;
    SiteId fork_of(const StreamTrack* first, const StreamTrack* second) const;
    void allocate(const CheckOp& op, StreamTrack* stream, Epoch epoch);
    void free(const CheckOp& op, StreamTrack* stream, Epoch epoch);
    void become_host_access(const CheckOp& op, const CheckAccess& access);
    void come_after_users(const CheckOp& op, StreamTrack* stream);
    void become_known(const CheckOp& op, const StreamTrack& stream);

    // engine_graphs.cpp: graph launches, batches, collectives
    void launch_graph(const Step& step);
    void launch_parts(const Step& step, const KnownShape& shape);
    void join_events(Clock& clock, const Step& step, const ShapePart& part);
    void note_event_waits(const Step& step, const EventTrack& event, const EventWait& wait);
    KnownShape& known_shape(const CheckShape& shape);
    void access_part(const Step& step, const ShapePart& part, Epoch epoch, const Clock& before);
    void sent_batch(const CheckOp& op);
    void share(const Step& step);
    void end_collective(Collective& collective, bool is_complete);

    StreamTable streams_;
    HostFloor floor_;
    Position host_position_ = 0;
    std::uint32_t thread_ = 0;  ///< the thread that enqueued first
    bool has_threads_ = false;  ///< several threads have enqueued
    EventTable events_;
    MemoryTable memory_;
    Leaks leaks_;
    /// All work before the records of exported and imported events.
    Clock exported_;
    /// Work that was already complete when a stream was ordered after it. heddle enqueued no wait
    /// for such work, so an elided wait need not cover it either.
    Clock completed_;
    Recent<Past> functions_{1024};
    Recent<Past> graphs_{256};
    Recent<KnownShape> shapes_{64};
    /// Collectives with missing shares.
    std::unordered_map<std::uint64_t, Collective> collectives_;
    /// Operations of batches not yet submitted, by recording.
    std::unordered_map<std::uint64_t, std::vector<Epoch>> batched_;
    std::unordered_set<std::uint64_t> abandoned_;  ///< words of epochs
    /// Host waits that have begun but not ended, by thread.
    std::unordered_map<std::uint32_t, HostWait> host_waits_;
    /// The newest copy operation that each thread enqueued.
    Recent<Copy> copies_{1024};
    Recent<Released> released_{1024};  ///< by key
    /// By slot: the place of the newest host wait.
    std::vector<SiteId> host_wait_sites_;
    std::vector<Conflict> conflicts_;
    std::vector<std::unique_ptr<AllocationTrack>> former_;
    std::vector<Finding> findings_;
};

}  // namespace heddle::detail
