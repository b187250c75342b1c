#include "core/seam/records.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/seam/debugger.hpp"
#include <heddle/detail/block.hpp>

namespace heddle::detail {

template class BasicWaitedFor<std::atomic>;

// Fates -------------------------------------------------------------------------------------------

void Fate::fail(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ != nullptr) return;
    reason->note_taken();
    failure_ = reason;
    failed_at_ = at;
    clean_.store(false, std::memory_order_release);
}

Failure Fate::own_failure_up_to(std::uint64_t up_to) noexcept {
    const std::lock_guard lock(failure_mutex_);
    return failure_ != nullptr && failed_at_ <= up_to ? failure_ : nullptr;
}

void Fate::note_clean() noexcept {
    const std::lock_guard lock(failure_mutex_);
    clean_.store(failure_ == nullptr && dependencies_.empty(), std::memory_order_release);
}

Failure Fate::failure_up_to(std::uint64_t up_to) noexcept {
    if (is_clean()) return nullptr;
    Failure first = own_failure_up_to(up_to);
    if (first != nullptr) return first;
    std::uint64_t at = up_to;
    {
        const std::lock_guard lock(mutex_);
        for (const Dependency& other : dependencies_) {
            if (other.at > at || (first != nullptr && other.at == at)) continue;
            Failure theirs = other.on->own_failure_up_to(other.submissions);
            if (theirs == nullptr) continue;
            first = std::move(theirs);
            at = other.at;
        }
    }
    if (first != nullptr) fail(first, at);
    return first;
}

void Fate::note_done(std::uint64_t submissions) noexcept {
    std::uint64_t known = done_.load(std::memory_order_relaxed);
    while (known < submissions &&
           !done_.compare_exchange_weak(known, submissions, std::memory_order_release,
                                        std::memory_order_relaxed)) {}
}

// What this stream waited for has completed too.
void Fate::forget_dependencies(std::uint64_t up_to) noexcept {
    note_done(up_to);
    std::list<Dependency> forgotten;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->at > up_to) continue;
        here->on->note_done(here->submissions);
        forgotten.splice(forgotten.end(), dependencies_, here);
    }
    note_clean();
}

void Fate::forget_done(std::list<Dependency>& to) noexcept {
    for (auto one = dependencies_.begin(); one != dependencies_.end();) {
        const auto here = one++;
        if (here->submissions > here->on->done_.load(std::memory_order_acquire)) continue;
        if (here->on->own_failure_up_to(here->submissions) == nullptr)
            to.splice(to.end(), dependencies_, here);
    }
}

void Fate::depend_on(const std::shared_ptr<Fate>& other, std::uint64_t upto, std::uint64_t now) {
    if (other.get() == this) return;
    std::list<Dependency> added;
    {
        const std::lock_guard lock(other->mutex_);
        for (const Dependency& one : other->dependencies_)
            if (one.at <= upto && one.on.get() != this) added.push_back(one);
    }
    added.push_back({other, upto, 0});
    std::list<Dependency> merged;
    const std::lock_guard lock(mutex_);
    // Nothing below throws.
    constexpr std::size_t many = 64;
    if (dependencies_.size() >= many) forget_done(merged);
    while (!added.empty()) {
        Dependency& one = added.front();
        one.at = now;
        // Waits in a loop must not grow the list without bound. Beyond 16 for one stream, the
        // oldest two are merged, which may blame a failure on too much work, never on too little.
        constexpr std::ptrdiff_t exact = 16;
        const auto same = [&](const Dependency& d) { return d.on == one.on; };
        if (std::ranges::count_if(dependencies_, same) >= exact) {
            const auto oldest = std::ranges::find_if(dependencies_, same);
            const auto next = std::find_if(std::next(oldest), dependencies_.end(), same);
            next->at = oldest->at;
            merged.splice(merged.end(), dependencies_, oldest);
        }
        dependencies_.splice(dependencies_.end(), added, added.begin());
    }
    clean_.store(false, std::memory_order_release);
}

void Fate::end(Fate* next, std::uint64_t submissions) noexcept {
    if (is_clean()) return;
    std::list<Dependency> left;
    {
        const std::lock_guard lock(mutex_);
        // Breaks cycles: fates that depend on each other would never be freed.
        left.swap(dependencies_);
        note_clean();
    }
    if (next == nullptr) return;
    std::erase_if(left, [&](const Dependency& d) { return d.at <= submissions; });
    const std::lock_guard lock(next->mutex_);
    next->dependencies_.splice(next->dependencies_.begin(), left);
    next->note_clean();
}

// Failures of streams -----------------------------------------------------------------------------

std::shared_ptr<Fate> StreamRecord::current_fate() noexcept {
    const std::lock_guard lock(failure_mutex);
    return fate;
}

std::shared_ptr<Fate> StreamRecord::fallible_fate() noexcept {
    if (device.is_cuda() && !has(stream_flag::poisoned | stream_flag::fallible)) return nullptr;
    return current_fate();
}

void StreamRecord::poison(const Failure& reason, std::uint64_t at) noexcept {
    const std::lock_guard lock(failure_mutex);
    fate->fail(reason, at);
    // What waits for a CUDA stream inherits by its fate, which only fallible streams are asked for.
    set(device.is_cuda() ? stream_flag::poisoned | stream_flag::fallible : stream_flag::poisoned);
}

Failure StreamRecord::failure_up_to(std::uint64_t up_to) noexcept {
    std::shared_ptr<Fate> now;
    {
        const std::lock_guard lock(failure_mutex);
        if (fate->is_clean()) return nullptr;
        now = fate;
    }
    Failure failure = now->failure_up_to(up_to);
    if (failure != nullptr && !has(stream_flag::poisoned)) {
        const std::lock_guard lock(failure_mutex);
        if (fate == now) set(stream_flag::poisoned);
    }
    return failure;
}

void StreamRecord::forget_dependencies(std::uint64_t up_to) {
    current_fate()->forget_dependencies(up_to);
}

void StreamRecord::depend_on(StreamRecord& other, std::uint64_t other_id, std::uint64_t upto) {
    std::shared_ptr<Fate> theirs = other.current_fate();
    if (other.id.load(std::memory_order_acquire) != other_id)
        return;  // another stream by now: all work of `other` has completed
    depend_on(theirs, upto);
}

void StreamRecord::depend_on(const std::shared_ptr<Fate>& other, std::uint64_t upto) {
    if (device.is_cpu()) return;
    const std::uint64_t now = submissions.load();
    current_fate()->depend_on(other, upto, now);
    set(stream_flag::fallible);
}

Failure StreamRecord::take_failure(std::uint64_t done, std::shared_ptr<Fate> next) {
    Failure failure = known_failure();
    if (failure == nullptr) return nullptr;
    {
        const std::lock_guard lock(failure_mutex);
        fate.swap(next);
        clear(stream_flag::poisoned);  // `fallible` stays: host functions may be pending
    }
    next->end(current_fate().get(), done);  // after the swap, `next` is the old fate
    return failure;
}

void StreamRecord::prepare_fate() {
    if (next_fate == nullptr) next_fate = std::make_shared<Fate>();
}

bool StreamRecord::renew_fate() noexcept {
    std::shared_ptr<Fate> old;
    try {
        (void)known_failure();  // takes over a failure of its dependencies
        {
            const std::lock_guard lock(failure_mutex);
            if (fate->is_clean() && fate.use_count() == 1)
                return true;  // no other holder, and none can appear without the lock
        }
        prepare_fate();  // again, if another thread has taken hold of the one made before
        const std::lock_guard lock(failure_mutex);
        old = std::exchange(fate, std::move(next_fate));
        clear(stream_flag::poisoned | stream_flag::fallible);
    } catch (...) {
        return false;
    }
    old->end();
    return true;
}

}  // namespace heddle::detail

// For debuggers -----------------------------------------------------------------------------------

namespace {
using heddle::detail::Block;
using heddle::detail::EventState;
using heddle::detail::StreamRecord;
}  // namespace

HEDDLE_OFFSET(stream_native, offsetof(StreamRecord, native))
HEDDLE_OFFSET(stream_device, offsetof(StreamRecord, device))
HEDDLE_OFFSET(stream_flags, offsetof(StreamRecord, flags))
HEDDLE_OFFSET(stream_submissions, offsetof(StreamRecord, submissions))
HEDDLE_OFFSET(stream_id, offsetof(StreamRecord, id))
HEDDLE_OFFSET(stream_priority, offsetof(StreamRecord, priority))
HEDDLE_OFFSET(stream_name, offsetof(StreamRecord, name))
HEDDLE_OFFSET(stream_seen_complete, offsetof(StreamRecord, seen_complete))
HEDDLE_OFFSET(event_device, offsetof(EventState, device))
HEDDLE_OFFSET(event_recorded, offsetof(EventState, recorded))
HEDDLE_OFFSET(event_recorder, offsetof(EventState, recorder))
HEDDLE_OFFSET(event_stream, offsetof(EventState, stream))
HEDDLE_OFFSET(event_stream_id, offsetof(EventState, stream_id))
HEDDLE_OFFSET(event_submissions, offsetof(EventState, submissions))
HEDDLE_OFFSET(block_data, offsetof(Block, data))
HEDDLE_OFFSET(block_bytes, offsetof(Block, bytes))
HEDDLE_OFFSET(block_device, offsetof(Block, device))
HEDDLE_OFFSET(block_kind, offsetof(Block, kind))
HEDDLE_OFFSET(block_alive, offsetof(Block, alive))
#ifdef _LIBCPP_VERSION
extern "C" {
extern const char heddle_strings_are_of_libcxx;
[[gnu::used]] const char heddle_strings_are_of_libcxx = 1;
}
#endif
