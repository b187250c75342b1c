// A CPU stream: a queue of operations, drained in batches by whoever has taken it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>

#include "core/backend.hpp"
#include "cpu/executor.hpp"
#include "cpu/spread.hpp"

namespace heddle::detail::cpu {

/// Memory for operations, linked into a queue.
struct Chunk {
    static constexpr std::size_t standard = 4096;
    Chunk* next = nullptr;
    std::size_t size = 0;  ///< bytes of data
    std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(Chunk) == 16);

enum class Step : std::uint8_t {
    work,     ///< run it
    signal,   ///< complete a Completion
    wait,     ///< go on when a Completion is done
    recover,  ///< forget the failure, here and in the stream's record
    next_chunk,
};

/// What stands before every operation in a chunk; the count, if it is not 1, and the closure follow. Small, because a trivial
/// operation costs mostly the transfer of its cache lines from the thread that pushes to the one that runs it.
class Operation {
public:
    Operation(Step step, std::size_t bytes, const OpType& type, std::size_t count,
              const SourceLocation& where) noexcept
        : type_(&type), file_(where.file), bytes_(static_cast<std::uint32_t>(bytes)),
          tag_(where.line << 8 | static_cast<std::uint32_t>(step) << 1 | std::uint32_t{count != 1}) {
        if (is_counted()) __builtin_memcpy(after(), &count, sizeof count);
    }
    /// Bytes of header, count and closure together, padding included.
    static std::size_t size_for(const OpType& type, std::size_t count) noexcept {
        const std::size_t head = sizeof(Operation) + (count != 1 ? sizeof count : 0);
        // A closure that wants more alignment than the chunk gives finds it in padding of its own.
        return head + type.size + (type.align > sizeof(void*) ? type.align : 0);
    }

    Step step() const noexcept { return static_cast<Step>(tag_ >> 1 & 0x7f); }
    std::size_t bytes() const noexcept { return bytes_; }  ///< as given to the constructor
    const OpType& type() const noexcept { return *type_; }
    SourceLocation where() const noexcept { return {file_, tag_ >> 8}; }
    std::size_t count() noexcept {
        std::size_t count = 1;
        if (is_counted()) __builtin_memcpy(&count, after(), sizeof count);
        return count;
    }
    void* closure() noexcept {
        const auto first =
            reinterpret_cast<std::uintptr_t>(after()) + (is_counted() ? sizeof(std::size_t) : 0);
        return reinterpret_cast<void*>((first + type_->align - 1) / type_->align * type_->align);
    }

private:
    bool is_counted() const noexcept { return (tag_ & 1) != 0; }
    void* after() noexcept { return this + 1; }

    const OpType* type_;
    const char* file_;
    std::uint32_t bytes_;
    std::uint32_t tag_;  ///< 24 bits of the line, 7 of the step, and whether a count follows
};
static_assert(sizeof(Operation) == 24);

class Queue final : public Runnable {
public:
    Queue(StreamRecord& stream, int level);
    ~Queue();

    /// Adds an operation. Any thread.
    void push(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
              bool counts);
    /// Adds work, unless the stream has the flag `joined`: returns false then.
    bool push_unless_joined(const OpType& type, void* self, std::size_t count, const SourceLocation& where);
    /// Returns when pushes that have begun have ended.
    void finish_pushes() noexcept { const std::lock_guard lock(lock_); }
    void push_signal(CompletionRef done, bool timing);
    void push_wait(CompletionRef done, const SourceLocation& where);
    /// The same for callers with locks: true if the queue was idle, and nothing happens before the caller, without locks, calls advance(). Until then
    /// the queue does not go.
    [[nodiscard]] bool add_signal(CompletionRef done);
    /// `done` happens with the failure that was forgotten.
    [[nodiscard]] bool add_recover(CompletionRef done);
    /// What has to be given together: all of it, or where that throws, nothing. Counts.
    struct Entry {
        Step step;
        const OpType& type;
        void* self;  ///< moved from
        SourceLocation where;
    };
    void push_all(std::initializer_list<Entry> entries);
    /// The same, unless the stream has the flag `joined`: returns false then.
    bool push_all_unless_joined(std::initializer_list<Entry> entries);
    /// The owner is gone, and nothing follows. When everything before is done, final() happens and the queue deletes itself. Takes no memory.
    void retire() noexcept;
    CompletionRef& final() noexcept { return final_; }

    /// Whether everything pushed has been done.
    bool is_idle() const noexcept {
        return done_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
    }
    /// Runs the queue on the calling thread as far as it goes, but not beyond `until`; returns at once if a worker has it.
    void help(const Completion& until) noexcept;

    /// Takes the queue from the executor's lists: the caller has to drain() it. False: it is not there.
    bool take() noexcept { return executor().unschedule(*this); }

    void run() noexcept override;  ///< on a worker
    void resume() noexcept;        ///< the awaited Completion is done
    void drain(const Completion* until) noexcept;
    /// Goes through signals and waits on the calling thread, whoever it is; work is left to a worker. Waking one costs far
    /// more than such a step.
    void advance() noexcept;
    void finish_spread() noexcept;  ///< by the last thread of a spread kernel

    Failure failure() const;  ///< what poisoned it so far, for those that find it idle

    StreamRecord& stream() noexcept { return stream_; }

private:
    friend class Spread;
    struct Waiting : Waiter {
        Queue* queue;
    };

    bool is_joined() const noexcept {
        return (stream_.flags.load(std::memory_order_relaxed) & stream_flag::joined) != 0;
    }
    bool add(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
             bool counts);
    std::byte* reserve(std::size_t bytes);
    // These with the lock held:
    bool append(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
                bool counts);
    bool append_all(std::initializer_list<Entry> entries);
    bool note_pushed(std::size_t count, bool counts) noexcept;
    void put(Operation& op, void* self) noexcept;
    void recover(Operation& op) noexcept;
    void end() noexcept;  ///< deletes it
    /// For whoever drains: whether something is there to be done.
    bool has_more() noexcept {
        const std::uint64_t done = done_.load(std::memory_order_relaxed);
        if (done == seen_) seen_ = pushed_.load(std::memory_order_acquire);
        return done != seen_;
    }
    bool has_caught_up() const noexcept { return done_.load(std::memory_order_relaxed) == seen_; }
    /// Nothing is left, and from then on the queue is not the caller's any more. False: more has come.
    bool is_done() noexcept;
    enum class Next : std::uint8_t { more, idle, suspended, work };
    /// One step that is no work, or none: `work` says that a worker has to go on; after `idle` and `suspended` the queue is
    /// not the caller's any more.
    Next step() noexcept;
    bool run_work(Operation& op) noexcept;  ///< false: suspended
    bool run_many(Operation& op);
    void learn_cost() noexcept;
    void finish_work(Operation& op, Failure failure) noexcept;
    void step_over(Operation& op) noexcept;
    void fail(Failure failure) noexcept;

    // Written by those who push, under lock_.
    alignas(64) SpinLock lock_;
    bool scheduled_ = false;  ///< someone has it or will: in the executor's lists, being drained, or waiting
    Chunk* tail_ = nullptr;
    std::size_t tail_offset_ = 0;
    bool retired_ = false;
    std::atomic<std::uint64_t> pushed_{0};
    std::atomic<Chunk*> spare_{nullptr};

    // Written by whoever drains.
    alignas(64) std::atomic<std::uint64_t> done_{0};
    std::uint64_t seen_ = 0;  ///< pushed_ when it was last looked at: its cache line is the pushers'
    Chunk* head_ = nullptr;
    std::size_t head_offset_ = 0;
    std::uint64_t worked_ = 0;  ///< work and waits gone through: counts as StreamState::submissions does
    bool failed_ = false;       ///< as the record says: only whoever drains changes either, in stream order
    Waiting waiting_;
    Spread spread_;
    IndexCost cost_;  ///< of the kernel that was spread last

    CompletionRef final_ = make_completion();  ///< made now, because closing a stream cannot fail
    StreamRecord& stream_;
};

/// What waits: a closure of a Step::wait.
extern const OpType wait_type;

/// Nanoseconds of the steady clock.
std::int64_t now_ns() noexcept;

/// What an exception that left a kernel or host function means; `node`: the name of a graph's node, if it has one.
Failure failure_from_exception(StreamRecord& stream, const OpType& type, const SourceLocation& where,
                               const std::string* node = nullptr) noexcept;
/// Memory was missing where nothing could be thrown to anybody.
Failure failure_for_want_of_memory(StreamRecord& stream, const char* call,
                                   const SourceLocation& where) noexcept;

}  // namespace heddle::detail::cpu
