// The ordering checker: finds accesses to common memory that nothing orders.
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

/// Takes operations one by one, in the order in which they were enqueued, and says which of them
/// access memory that an earlier one accesses too, without an order between the two. A function of
/// the operations alone: it asks no device and no clock. Not for use by several threads at once.
class CheckEngine {
public:
    /// Appends what the operation shows to findings().
    void add(const CheckOp& op);
    /// What is right about a use by the host: bytes around it that nothing is pending on that it
    /// conflicts with. None of them if findings() tells of a race of it.
    struct HostLook {
        std::uint64_t begin = 0, end = 0;
        bool is_race = false, is_certain = false;
    };
    /// Compares a use of [use.data, use.end()) by the host, of an array that is `all`, with what is
    /// pending. Remembers nothing. `op` has its reach; make_site() says where it is.
    template <class F>
    HostLook look(CheckOp& op, const CheckAccess& use, const CheckAccess& all, F&& make_site) {
        HostLook answer;
        if (compare_by_host(op, use, all, answer)) return answer;
        op.site = make_site();
        tell_by_host(op, use, answer);
        return answer;
    }
    /// A batch was abandoned: what it had recorded since it was last sent will not run.
    void abandon(std::uint64_t recording);
    /// The program says what cannot be seen: that a host function, by its id, tells by this key
    /// that it runs; that the host has learnt what was told by the key; that the host has waited.
    void released(std::uint64_t key, std::uint64_t function);
    void acquired(std::uint64_t key, SiteId site);
    void synchronized_stream(std::uint64_t stream, SiteId site);
    void synchronized_device(std::uint32_t device, SiteId site);
    /// There will be no further operations: appends what had to wait for them.
    void finish();

    /// Returns whether an operation that runs host functions, by its id, was added, and is not
    /// forgotten.
    bool knows_function(std::uint64_t id) const { return functions_.has(id); }

    /// The caller may clear them.
    std::vector<Finding>& findings() noexcept { return findings_; }
    /// Returns where an event was recorded behind an operation of a stream, or 0.
    SiteId record_behind(std::uint64_t stream, std::uint64_t position);
    /// Returns where the array was made that has this address; 0 if there is none, or it was made
    /// before the first operation.
    SiteId made_at(std::uint64_t address) {
        const AllocationTrack* const found = memory_.at_address(address);
        return found != nullptr && !found->is_freed ? found->made : 0;
    }
    /// Returns the position of a stream's newest operation; 0 if it is not known any more.
    std::uint64_t newest(std::uint64_t stream);

    struct Sizes {
        std::size_t streams, slots, events, allocations, freed;
    };
    Sizes sizes() const noexcept {
        return {streams_.size(), streams_.slots(), events_.size(), memory_.size(), memory_.freed()};
    }

private:
    /// An operation while it is added.
    struct Step {
        const CheckOp& op;
        StreamTrack* stream;  ///< null: the host
        Epoch epoch;
    };
    /// What a graph, or a host function, did last.
    struct Past {
        Moment moment;
        SiteId site = 0;
        template <class F> void each_moment(F&& f) const { f(moment); }
    };
    /// What is known of a launched graph's shape.
    struct KnownShape {
        ShapeUse use;
        std::vector<std::uint64_t> streams;  ///< numbers of the parts, as if they were streams
        template <class F> void each_moment(F&&) const {}
    };
    struct Share {
        std::uint64_t stream;
        Epoch epoch;
    };
    /// A collective of which not all shares are known.
    struct Collective {
        std::vector<Share> shares;
        Clock entered;  ///< what precedes its shares
        std::vector<Finding> held;
    };
    struct Copy {
        Moment moment;
        template <class F> void each_moment(F&&) const {}
    };
    /// What was told by a key.
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
    /// Returns what a wait or query covers, as a clock.
    Clock target_of(const CheckOp& op);
    void join_target(Clock& to, const CheckOp& op);
    void join_all(Clock& to);
    void join_moment(Clock& to, std::uint64_t stream, std::uint64_t position);
    Clock device_clock(std::uint32_t device);
    void begin_host_wait(const CheckOp& op);
    void end_host_wait(const CheckOp& op);
    void raise_floor(const Clock& reaches, SiteId site);
    void tie_event(const CheckOp& op);

    // engine_accesses.cpp: what operations access, and what that conflicts with
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
    std::uint32_t thread_ = 0;  ///< the first one
    bool has_threads_ = false;  ///< there were others
    EventTable events_;
    MemoryTable memory_;
    Leaks leaks_;
    Clock exported_;  ///< what precedes the records of exported events
    /// What streams were told to come after once it had completed: no wait brings it, and none that
    /// is elided has to.
    Clock completed_;
    Recent<Past> functions_{1024};
    Recent<Past> graphs_{256};
    Recent<KnownShape> shapes_{64};
    std::unordered_map<std::uint64_t, Collective> collectives_;      ///< open ones
    std::unordered_map<std::uint64_t, std::vector<Epoch>> batched_;  ///< by recording, not sent yet
    std::unordered_set<std::uint64_t> abandoned_;                    ///< words of epochs
    std::unordered_map<std::uint32_t, HostWait> host_waits_;         ///< begun, by thread
    Recent<Copy> copies_{1024};                                      ///< each thread's newest
    Recent<Released> released_{1024};                                ///< by key
    std::vector<SiteId> host_wait_sites_;                            ///< by slot, the newest
    std::vector<Conflict> conflicts_;
    std::vector<std::unique_ptr<AllocationTrack>> former_;
    std::vector<Finding> findings_;
};

}  // namespace heddle::detail
