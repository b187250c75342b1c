#include "cpu/device/shared_event.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/process.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail::cpu {

namespace {

Failure failure_elsewhere(const char* message) {
    return make_failure({.code = ErrorCode::work_failed, .message = message, .call = "wait_event"});
}

/// Identifies a record by its number and its slot.
struct RecordId {
    std::uint64_t number = 0;  ///< counted from 1; 0 if there is no record
    std::uint32_t slot = 0;
};

/// The records of one stream, which are reached in the order of their numbers. Once the newest one
/// is reached, any stream of any process may claim the slot.
struct alignas(64) Slot {
    std::atomic<std::uint64_t> recorded;  ///< the newest record
    /// The newest record that has been reached.
    std::atomic<std::uint64_t> reached;
    /// The first and last of the newest run of consecutive failed records, and the last failed
    /// record before that run. 0 if there is none.
    std::atomic<std::uint64_t> first_failed, last_failed, failed_before;
    std::atomic<std::uint64_t> owner_began;  ///< Process::began
    std::atomic<std::int32_t> owner;         ///< id of the process that makes these records

    Process process() const noexcept { return {owner.load(), owner_began.load()}; }
    /// Makes `number` the newest record if `newest` is still the newest one. Returns whether it did
    /// so.
    bool claim(std::uint64_t newest, std::uint64_t number, const Process& mine) noexcept {
        if (!recorded.compare_exchange_strong(newest, number)) return false;
        owner_began.store(mine.began);
        owner.store(mine.id);
        return true;
    }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace

/// The shared page. It begins as zeros and cannot grow, so it is large. Parts that were never
/// written use no memory.
struct SharedEvent::Page {
    static constexpr int slot_bits = 10;

    std::atomic<std::uint64_t> last_number;  ///< number of the last record made
    /// The newest record: its number in the upper bits, its slot in the lower bits.
    std::atomic<std::uint64_t> newest;
    /// Counts changes of any slot. Waiting threads sleep on it (a futex).
    std::atomic<std::uint32_t> changes;
    std::array<Slot, (1 << slot_bits) - 1> slots;

    RecordId newest_record() const noexcept {
        const std::uint64_t both = newest.load();
        return {both >> slot_bits, static_cast<std::uint32_t>(both & ((1 << slot_bits) - 1))};
    }
    void publish(const RecordId& record) noexcept {
        const std::uint64_t both = record.number << slot_bits | record.slot;
        std::uint64_t seen = newest.load();
        while (seen < both && !newest.compare_exchange_weak(seen, both)) {}
    }
    /// Sleeps until `changes` differs from `seen`, for at most a second.
    void sleep(std::uint32_t seen) noexcept {
        const timespec limit{1, 0};
        syscall(SYS_futex, &changes, FUTEX_WAIT, seen, &limit, nullptr, 0);
    }
    void wake() noexcept {
        changes.fetch_add(1);
        syscall(SYS_futex, &changes, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    }
    void reach(const RecordId& record, bool has_failed) noexcept {
        Slot& slot = slots[record.slot];
        if (has_failed) {
            const std::uint64_t last = slot.last_failed.load();
            if (last == 0 || last != slot.reached.load()) {
                slot.failed_before.store(last);
                slot.first_failed.store(record.number);
            }
            slot.last_failed.store(record.number);
        }
        std::uint64_t reached = slot.reached.load();
        while (reached < record.number &&
               !slot.reached.compare_exchange_weak(reached, record.number)) {}
        wake();
    }
    Process process_of(const RecordId& record) const noexcept {
        return slots[record.slot].process();
    }
    bool is_reached(const RecordId& record) const noexcept {
        return slots[record.slot].reached.load() >= record.number;
    }
    /// Returns whether the record has been reached, or never will be.
    bool is_over(const RecordId& record) const {
        if (record.number == 0) return true;
        const Slot& slot = slots[record.slot];
        const bool gone = !is_reached(record) && is_gone(slot.process());
        // Called again, because the process may have written reached records before it ended.
        return gone || is_reached(record);
    }
    /// Returns the failure of a record that is over, or null.
    Failure failure_of(const RecordId& record) const {
        if (record.number == 0) return nullptr;
        const Slot& slot = slots[record.slot];
        if (!is_reached(record))
            return failure_elsewhere("the process that recorded this event ended before the work "
                                     "that precedes the event was complete");
        // Only the newest run of consecutive failures is stored exactly. A query about an older
        // record may report a failure that did not happen, but never misses one.
        const std::uint64_t last = slot.last_failed.load();  // read in the reverse order of reach()
        const bool failed = (slot.first_failed.load() <= record.number && record.number <= last) ||
                            record.number <= slot.failed_before.load();
        return failed ? failure_elsewhere(
                            "work before this event failed in the process that recorded it")
                      : nullptr;
    }
};

namespace {
/// Guards the waiters and recordings of all shared events of this process. One lock is enough,
/// because such events are rare. The child of a fork can use it as well.
constinit std::mutex mutex;
const ForkRegistration shared_events_registered{ForkOrder::shared_events, mutex};
}  // namespace

/// The head of the list of all Watches. Guarded by the mutex.
constinit SharedEvent::Watch* SharedEvent::watches = nullptr;

/// The page, and this process's waiters. A thread polls the page while there are waiters.
struct SharedEvent::Watch : std::enable_shared_from_this<Watch> {
    struct Waiting {
        RecordId record;
        CompletionRef done;
    };
    struct Recording {
        std::uint64_t stream_id;
        RecordId record;  ///< the stream's newest record
    };
    /// A claimed record, and the number of the record that was the slot's newest before.
    struct Claim {
        RecordId record;
        std::uint64_t before = 0;
    };
    SharedFile file;
    // Guarded by the mutex:
    std::list<Waiting> waiting;
    std::vector<Recording> recordings;  ///< newest records of this process's streams
    Process owner;                      ///< this process, once it has recorded the event
    /// The id of the process whose thread polls the page, or 0. In the child of a fork, it is still
    /// the id of the parent.
    pid_t poller = 0;
    bool is_looking = false;  ///< the polling thread has moved the waiters to its own list

    Watch* next_watch = nullptr;  ///< in the list of all watches of this process
    Watch* watch_before = nullptr;

    explicit Watch(SharedFile mapped) : file(std::move(mapped)) {
        const std::lock_guard lock(mutex);
        next_watch = std::exchange(SharedEvent::watches, this);
        if (next_watch != nullptr) next_watch->watch_before = this;
    }
    ~Watch() {
        const std::lock_guard lock(mutex);
        if (next_watch != nullptr) next_watch->watch_before = watch_before;
        (watch_before != nullptr ? watch_before->next_watch : SharedEvent::watches) = next_watch;
    }
    Watch(const Watch&) = delete;
    Page& page() const noexcept { return *static_cast<Page*>(file.data()); }

    CompletionRef wait_for(const RecordId& record) {
        CompletionRef done = make_completion();
        const std::lock_guard lock(mutex);
        if (poller != getpid()) {
            waiting.clear();  // the parent's waiters: the parent's thread wakes them
            std::thread([self = shared_from_this()] { self->look(); }).detach();
            poller = getpid();
        }
        waiting.push_back({record, done});
        // The thread may have checked the page before this waiter was added.
        if (page().is_reached(record)) page().wake();
        return done;
    }

    /// Completes waiters. Runs on a separate thread, where no caller would catch an exception.
    void look() noexcept {
        for (bool is_last = false; !is_last;) {
            const std::uint32_t seen = page().changes.load();
            std::list<Waiting> looked_at, over;
            {
                const std::lock_guard lock(mutex);
                looked_at.swap(waiting);
                is_looking = true;
            }
            Process asked;
            // Whether `asked` has ended. Queried once for adjacent waiters of one process, because
            // the query is slow.
            bool gone = false;
            for (auto one = looked_at.begin(); one != looked_at.end();) {
                const auto next = std::next(one);
                const Process whose = page().process_of(one->record);
                if (!page().is_reached(one->record) &&
                    (whose.id != asked.id || whose.began != asked.began))
                    gone = is_surely_gone(asked = whose);
                if (page().is_reached(one->record) || gone) over.splice(over.end(), looked_at, one);
                one = next;
            }
            {
                const std::lock_guard lock(mutex);
                waiting.splice(waiting.begin(), looked_at);
                is_looking = false;
                is_last = waiting.empty();
                if (is_last) poller = 0;
            }
            for (const Waiting& one : over) one.done->complete(failure_to_tell(one.record));
            if (!is_last) page().sleep(seen);
        }
    }
    /// Returns whether the process has ended. If out of memory, returns false: the next poll
    /// repeats the query.
    static bool is_surely_gone(const Process& process) noexcept {
        try {
            return is_gone(process);
        } catch (...) {
            return false;
        }
    }
    Failure failure_to_tell(const RecordId& record) noexcept {
        try {
            return page().failure_of(record);
        } catch (...) {
            return no_memory_failure();
        }
    }

    /// Claims a slot for this stream's next record, and makes that record the slot's newest. Throws
    /// Unsupported if no slot is free.
    Claim claim(std::uint64_t stream_id) {
        const std::lock_guard lock(mutex);
        if (owner.id != getpid()) {
            owner = this_process();
            recordings.clear();
        }
        Claim made{{page().last_number.fetch_add(1) + 1, 0}, 0};
        RecordId& record = made.record;
        for (Recording& one : recordings) {
            if (one.stream_id != stream_id) continue;
            record.slot = one.record.slot;
            made.before = one.record.number;
            if (page().slots[record.slot].claim(made.before, record.number, owner)) {
                one.record = record;
                return made;
            }
        }
        std::erase_if(recordings,
                      [&](const Recording& one) { return page().is_reached(one.record); });
        recordings.reserve(recordings.size() + 1);
        for (record.slot = 0; record.slot < page().slots.size(); ++record.slot) {
            Slot& slot = page().slots[record.slot];
            made.before = slot.recorded.load();
            if (slot.reached.load() != made.before ||
                !slot.claim(made.before, record.number, owner))
                continue;
            recordings.push_back({stream_id, record});
            return made;
        }
        unsupported_error({"record_event", {}},
                          "records of this event are already pending on {} streams: wait for one "
                          "of the records, or use another event",
                          page().slots.size());
    }

    /// Withdraws a claim whose record has not been made. The claim must be the newest of its slot.
    void take_back(const Claim& claim) noexcept {
        const std::lock_guard lock(mutex);
        std::uint64_t newest = claim.record.number;
        page().slots[claim.record.slot].recorded.compare_exchange_strong(newest, claim.before);
        for (Recording& one : recordings)
            if (one.record.number == claim.record.number) one.record.number = claim.before;
    }
};

struct SharedRecord::Reached : Waiter {
    std::shared_ptr<SharedEvent::Watch> watch;
    SharedEvent::Watch::Claim claim;
};

SharedRecord::SharedRecord() noexcept = default;
SharedRecord::SharedRecord(SharedRecord&&) noexcept = default;
SharedRecord::SharedRecord(std::unique_ptr<Reached> reached) noexcept
    : reached_(std::move(reached)) {}

SharedRecord::~SharedRecord() {
    if (reached_ != nullptr) reached_->watch->take_back(reached_->claim);
}

void SharedRecord::make(const CompletionRef& done) noexcept {
    reached_->watch->page().publish(reached_->claim.record);
    Reached& reached = *reached_.release();
    if (!done->add(reached)) reached.wake(reached, *done);
}

SharedEvent::SharedEvent(const SourceLocation& where)
    : watch_(std::make_shared<Watch>(SharedFile(sizeof(Page), "Event", where))) {}

SharedEvent::SharedEvent(const SharedFileName& name, const SourceLocation& where)
    : watch_(std::make_shared<Watch>(
          SharedFile(name, sizeof(Page), "the event", "import_event", where))) {}

SharedFileName SharedEvent::name(const SourceLocation& where) const {
    return watch_->file.name("export_event", where);
}

SharedRecord SharedEvent::prepare(std::uint64_t stream_id) {
    auto reached = std::make_unique<SharedRecord::Reached>();
    reached->watch = watch_;
    reached->wake = [](Waiter& self, const Completion& completion) noexcept {
        const std::unique_ptr<SharedRecord::Reached> mine(
            static_cast<SharedRecord::Reached*>(&self));
        completion.see();
        mine->watch->page().reach(mine->claim.record, completion.failure() != nullptr);
    };
    reached->claim = watch_->claim(stream_id);
    return SharedRecord(std::move(reached));
}

CompletionRef SharedEvent::newest() {
    const Page& page = watch_->page();
    const RecordId record = page.newest_record();
    if (record.number == 0 || (page.is_reached(record) && page.failure_of(record) == nullptr))
        return {};
    return watch_->wait_for(record);
}

bool SharedEvent::list_waits(std::vector<SharedWait>& to) {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    for (const Watch* watch = watches; watch != nullptr; watch = watch->next_watch) {
        if (watch->poller != getpid()) continue;
        if (watch->is_looking) return false;
        for (const Watch::Waiting& one : watch->waiting) {
            const Process process = watch->page().process_of(one.record);
            SharedWait wait{one.done.get(), process.id, Watch::is_surely_gone(process), 0};
            for (const Watch::Recording& mine : watch->recordings)
                if (process.id == getpid() && mine.record.slot == one.record.slot)
                    wait.stream_id = mine.stream_id;
            to.push_back(wait);
        }
    }
    return true;
}

bool SharedEvent::is_over() const { return watch_->page().is_over(watch_->page().newest_record()); }

Failure SharedEvent::failure() const {
    const RecordId record = watch_->page().newest_record();
    return watch_->page().is_over(record) ? watch_->page().failure_of(record) : nullptr;
}

}  // namespace heddle::detail::cpu
