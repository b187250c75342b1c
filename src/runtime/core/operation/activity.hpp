// The activities of threads inside heddle: waiting, or running a stream's work. Recorded while the
// process is watched (docs/adr/0051).
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <heddle/location.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/host_op.hpp>
#include <heddle/stream/detail/stream_state.hpp>

namespace heddle::detail {

/// One wait of a thread.
struct ActivityWait {
    const char* call = "";
    SourceLocation where = {};
    /// StreamState::key of the stream, or 0.
    std::uint64_t stream = 0;
    /// The event, for waits for an event.
    EventPoint event = {};
    /// The device, for waits for a whole device or for an event.
    Device device = Access::device(DeviceKind::cpu, 0);
    std::int64_t since_ns = 0;  ///< as decision_ns()
};

/// Work that a thread runs.
struct ActivityWork {
    std::uint64_t stream = 0;  ///< StreamState::key
    const OpType* type = nullptr;
    SourceLocation where = {};
    bool is_node = false;  ///< a node of a graph
};

/// The activity of one thread. Only that thread writes it; other threads may read it at any time.
/// Lock-free.
class ThreadActivity {
public:
    /// Returns the calling thread's activity, or null if memory is exhausted.
    static ThreadActivity* mine() noexcept;
    /// Assigns a number to the calling thread.
    static void number_mine() noexcept;
    /// Sets the public call's name for `where`. Waits of this thread in nested calls with the same
    /// `where` are reported under this name.
    static void name_call(const char* call, const SourceLocation& where) noexcept;

    void begin_wait(const ActivityWait& wait) noexcept;
    bool waits() const noexcept { return wait_.serial.load(std::memory_order_relaxed) % 2 != 0; }
    void end_wait() noexcept { step(wait_.serial); }
    void begin_work(std::uint64_t stream, const OpType& type, const SourceLocation& where,
                    bool is_node) noexcept {
        store(work_.stream, stream);
        store(work_.type, &type);
        store(work_.file, where.file);
        store(work_.line, where.line << 1 | (is_node ? 1u : 0u));
        step(work_.serial);
    }
    void end_work() noexcept { step(work_.serial); }

    /// A copy of a thread's activity.
    struct Seen {
        /// The thread's number, from 1, in the order in which threads first waited or recorded. 0
        /// if the thread has done neither.
        unsigned number = 0;
        int thread = 0;  ///< the result of gettid()
        std::thread::id id;
        /// Odd while the thread waits or runs work. A changed value shows progress.
        std::uint64_t wait_serial = 0, work_serial = 0;
        ActivityWait wait;
        ActivityWork work;  ///< the newest work, even after its end
        bool waits() const noexcept { return wait_serial % 2 != 0; }
        bool works() const noexcept { return work_serial % 2 != 0; }
    };
    /// Returns the activity of all threads that were active while the process was watched.
    static std::vector<Seen> all();
    /// Removes all threads except the calling one. For the child of a fork.
    static void forget_others() noexcept;
    /// Returns the number of the thread, or 0 if it has none.
    static unsigned number_of(std::thread::id id) noexcept;

private:
    friend struct ActivityOfThread;
    template <class T> static void store(std::atomic<T>& word, T value) noexcept {
        word.store(value, std::memory_order_release);
    }
    /// Begins or ends an activity. The members after the serial are written only while the serial
    /// is even.
    static void step(std::atomic<std::uint64_t>& serial) noexcept {
        serial.store(serial.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    bool read(Seen& to) const noexcept;

    struct Wait {
        std::atomic<std::uint64_t> serial{0};
        std::atomic<const char*> call{nullptr}, file{nullptr};
        std::atomic<unsigned> line{0};
        std::atomic<std::uint64_t> stream{0}, event{0}, record{0};
        std::atomic<int> device{0};  ///< not a Device: some compilers cannot make that lock-free
        std::atomic<std::int64_t> since_ns{0};
    };
    struct Work {
        std::atomic<std::uint64_t> serial{0}, stream{0};
        std::atomic<const OpType*> type{nullptr};
        std::atomic<const char*> file{nullptr};
        std::atomic<unsigned> line{0};
    };
    alignas(64) Work work_;
    Wait wait_;
    std::atomic<unsigned> number_{0};
    std::atomic<int> thread_{0};
    std::atomic<std::thread::id> id_{};
    std::atomic<bool> is_taken_{true};
    ThreadActivity* next_ = nullptr;
};

/// Marks this thread as running work of a stream. Costs one load unless the process is watched.
/// Marks do not nest.
class WorkMark {
public:
    enum class Of : std::uint8_t { stream, graph, none };
    WorkMark(const StreamState& stream, const OpType& type, const SourceLocation& where,
             Of what) noexcept {
        if (!has_watch()) [[likely]]
            return;
        if (what == Of::none) return;
        activity_ = ThreadActivity::mine();
        if (activity_ != nullptr)
            activity_->begin_work(stream.key.load(std::memory_order_relaxed), type, where,
                                  what == Of::graph);
    }
    ~WorkMark() {
        if (activity_ != nullptr) [[unlikely]]
            activity_->end_work();
    }
    WorkMark(const WorkMark&) = delete;
    WorkMark& operator=(const WorkMark&) = delete;

private:
    ThreadActivity* activity_ = nullptr;
};

/// Marks this thread as waiting, from begin() to end() or the destruction.
class WaitMark {
public:
    WaitMark() noexcept = default;
    ~WaitMark() { end(); }
    WaitMark(const WaitMark&) = delete;
    WaitMark& operator=(const WaitMark&) = delete;
    /// Begins a wait. Call it only while the process is watched. Has no effect if the thread waits
    /// already, because the outer call is more informative.
    void begin(const ActivityWait& wait) noexcept;
    void end() noexcept {
        if (activity_ != nullptr) [[unlikely]]
            std::exchange(activity_, nullptr)->end_wait();
    }

private:
    ThreadActivity* activity_ = nullptr;
};

}  // namespace heddle::detail
