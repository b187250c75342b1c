#include "core/memory/ends.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/background.hpp"
#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/base/report.hpp"
#include "core/memory/end_streams.hpp"
#include "core/memory/users.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {

/// The thread that calls end functions, and the endings of released blocks whose function has not
/// been called yet. Never destroyed. The child of a fork makes its own.
class Ends {
public:
    const int forks_before = forks();

    Ends() : thread_([this] { work(); }) {}

    void note(MemoryEnding& one, StreamRecord* recorded_by) noexcept {
        const std::lock_guard lock(mutex_);
        one.recorded_by = recorded_by;
        if (one.number != 0) return;
        one.number = ++released_;
        one.previous = newest_;
        (newest_ != nullptr ? newest_->next : oldest_) = &one;
        newest_ = &one;
    }

    /// Queues the ending, so that the thread calls its function. After exit() has begun, leaves it
    /// in the list instead.
    void give(MemoryEnding& one) noexcept {
        const std::lock_guard lock(mutex_);
        if (is_over_) return;
        one.next_ready = nullptr;
        (last_ready_ != nullptr ? last_ready_->next_ready : ready_) = &one;
        last_ready_ = &one;
        changed_.notify_one();
    }

    /// Calls the end function on this thread. If the function takes a stream, passes one that is
    /// ordered after the users. If call() throws, the function has not been called.
    void call(MemoryEnding& one, std::span<const StreamUse> users) {
        if (is_over()) return;
        if (one.end->order == MemoryEnd::Order::host) return run(one, nullptr);
        const EndStream stream(streams_, one.device);
        stream.put_behind(users);
        const StreamRef after = Access::stream(stream.record());
        run(one, &after);
    }
    void trim(Device device) noexcept { streams_.trim(device); }

    /// Removes an ending whose function was called, or will never be called, from the list.
    void forget(MemoryEnding& one) noexcept {
        const std::lock_guard lock(mutex_);
        (one.previous != nullptr ? one.previous->next : oldest_) = one.next;
        (one.next != nullptr ? one.next->previous : newest_) = one.previous;
        std::erase_if(wanted_, [&](const Wanted& wanted) {
            if (oldest_ != nullptr && oldest_->number <= wanted.number) return false;
            wanted.done->complete();
            return true;
        });
    }

    bool is_own_thread() const noexcept { return thread_.get_id() == std::this_thread::get_id(); }

    /// Returns the streams whose batches may keep blocks of endings in the list.
    std::vector<StreamRecord*> recording_streams() const {
        std::vector<StreamRecord*> found;
        const std::lock_guard lock(mutex_);
        for (const MemoryEnding* one = oldest_; one != nullptr; one = one->next)
            if (one->recorded_by != nullptr) found.push_back(one->recorded_by);
        return found;
    }
    /// Returns an object that completes once all endings that are in the list now have left it.
    /// Returns null if the list is empty or exit() has begun.
    CompletionRef all_called() {
        CompletionRef done = make_completion();
        const std::lock_guard lock(mutex_);
        if (is_over_ || oldest_ == nullptr) return {};
        wanted_.push_back({released_, done});
        return done;
    }

    void stop() noexcept {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
            for (const Wanted& one : wanted_) one.done->complete();
            wanted_.clear();
        }
        changed_.notify_all();
        if (!thread_.joinable()) return;
        if (is_own_thread()) thread_.detach();  // an end called exit()
        else thread_.join();
    }

private:
    struct Wanted {
        std::uint64_t number;
        CompletionRef done;
    };

    bool is_over() const noexcept {
        const std::lock_guard lock(mutex_);
        return is_over_;
    }

    void run(MemoryEnding& one, const StreamRef* after) noexcept {
        try {
            one.end->run(after);
        } catch (...) {
            report(std::current_exception());
        }
        one.end = nullptr;  // its captures may own the memory
        forget(one);
        delete &one;
    }

    void work() noexcept {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return is_over_ || ready_ != nullptr; });
            if (is_over_) return;
            MemoryEnding& one = *ready_;
            ready_ = one.next_ready;
            if (ready_ == nullptr) last_ready_ = nullptr;
            lock.unlock();
            if (one.gathering != nullptr) one.gathering->see();
            try {
                call(one, one.users);
            } catch (...) {
                try_again_or_drop(one);
            }
            lock.lock();
        }
    }
    /// Call it in a catch handler, on thread_.
    void try_again_or_drop(MemoryEnding& one) noexcept {
        using namespace std::chrono_literals;
        if (is_want_of_memory()) {
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, 1ms, [&] { return is_over_; });
            lock.unlock();
            return give(one);
        }
        report(std::current_exception());
        forget(one);  // the memory stays allocated, because it may be in use
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t released_ = 0;
    MemoryEnding* oldest_ = nullptr;
    MemoryEnding* newest_ = nullptr;
    MemoryEnding* ready_ = nullptr;
    MemoryEnding* last_ready_ = nullptr;
    std::vector<Wanted> wanted_;
    EndStreams streams_;
    bool is_over_ = false;
    std::thread thread_;
};

constinit std::atomic<Ends*> current{nullptr};
/// Endings of the parent process. They stay reachable, for leak checkers.
constinit std::atomic<MemoryEnding*> of_parent{nullptr};

/// Returns this process's instance, or null if there is none yet.
Ends* ends_or_null() noexcept {
    Ends* const seen = current.load(std::memory_order_acquire);
    return seen != nullptr && seen->forks_before == forks() ? seen : nullptr;
}

const TrimStep end_streams{[](Device device) noexcept {
    if (Ends* const one = ends_or_null()) one->trim(device);
}};

void stop_ends() noexcept {
    if (Ends* const one = ends_or_null()) one->stop();
}

void make_ends() {
    Ends* seen = current.load(std::memory_order_acquire);
    if (seen != nullptr && seen->forks_before == forks()) return;
    auto fresh = std::make_unique<Ends>();
    if (current.compare_exchange_strong(seen, fresh.get(), std::memory_order_acq_rel)) {
        (void)fresh.release();
        end_with_background(stop_ends);
    } else fresh->stop();  // another thread was faster
}

/// Returns whether a stream has ever used the memory.
bool was_used(const Block& block) noexcept {
    return block.users[0].load(std::memory_order_acquire) != 0 ||
           block.writers.load(std::memory_order_relaxed) != 0;
}

/// Returns whether a stream may be made: not in a host function, nor while a user is being
/// captured.
bool may_make_stream(std::span<const StreamUse> users) noexcept {
    return !thread_states.in_host_function && std::ranges::none_of(users, [](const StreamUse& use) {
        return use.stream->has(stream_flag::capturing);
    });
}

void end_memory(Ends& all, MemoryEnding& one, bool was_used, std::span<const StreamUse> users) {
    if (one.end->order == MemoryEnd::Order::host) {
        if (!was_used && !thread_states.in_host_function) return all.call(one, {});
        one.gathering = std::make_unique<Gathering>(users);
        one.wake = [](Waiter& self, const Completion&) noexcept {
            if (Ends* const here = ends_or_null()) here->give(static_cast<MemoryEnding&>(self));
        };
        (void)one.gathering->all->add(one);  // not complete before begin()
        one.gathering->begin();
    } else if (may_make_stream(users)) {
        all.call(one, users);
    } else {
        one.users.assign(users.begin(), users.end());
        all.give(one);
    }
}

}  // namespace

MemoryEnding* make_ending(std::unique_ptr<MemoryEnd> end, Device device) {
    make_ends();
    auto* const made = new MemoryEnding(std::move(end), device);
    made->forks = forks();
    return made;
}

void note_released(const Block& block, std::span<const StreamUse> users) noexcept {
    MemoryEnding& one = *block.ending;
    if (one.forks != forks()) return;
    const auto recorded = std::ranges::find_if(
        users, [](const StreamUse& use) { return use.stream->has(stream_flag::recording); });
    ends_or_null()->note(one, recorded != users.end() ? recorded->stream : nullptr);
}

bool end_memory(const Block& block, std::span<const StreamUse> users) noexcept {
    MemoryEnding& one = *block.ending;
    if (one.forks != forks()) {  // the parent calls the end
        one.next = of_parent.load(std::memory_order_relaxed);
        while (!of_parent.compare_exchange_weak(one.next, &one, std::memory_order_release,
                                                std::memory_order_relaxed)) {}
        return true;
    }
    Ends& all = *ends_or_null();
    try {
        end_memory(all, one, was_used(block), users);
    } catch (...) {
        if (is_want_of_memory()) return false;
        report(std::current_exception());
        all.forget(one);  // the memory stays allocated, because it may be in use
    }
    return true;
}

void finish_ends(const char* call, Where where) try {
    check_may_wait(call, where);
    Ends* const all = ends_or_null();
    if (all == nullptr) return;
    if (all->is_own_thread())
        usage_error({call, where},
                    "the function that ends an adopted array must not wait for "
                    "other such functions: call finish_adopted() outside that function");
    free_unfreed_blocks();
    for (StreamRecord* const stream : all->recording_streams()) send_batch_of(*stream, where);
    if (const CompletionRef done = all->all_called()) block_until(*done);
} catch (...) {
    rethrow_as_error(call, where);
}

}  // namespace heddle::detail
