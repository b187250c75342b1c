#include "core/operation/activity.hpp"

#include <new>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fork.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {
constinit std::atomic<ThreadActivity*> activities{nullptr};  ///< never freed, but reused
constinit std::atomic<unsigned> threads{0};
constinit thread_local ThreadActivity* this_activity = nullptr;
constinit thread_local bool is_over = false;  ///< whether the thread is ending
/// See name_call().
struct NamedCall {
    const char* call = nullptr;
    SourceLocation where = {};
};
constinit thread_local NamedCall named_call;
template <class T> T load(const std::atomic<T>& word) noexcept {
    return word.load(std::memory_order_acquire);
}
int word_of(Device device) noexcept {
    return device.index() + max_devices * static_cast<int>(device.kind());
}
Device device_of(int word) noexcept {
    return Access::device(static_cast<DeviceKind>(word / max_devices), word % max_devices);
}
}  // namespace

struct ActivityOfThread {
    bool is_made = false;
    ~ActivityOfThread() {
        is_over = true;
        if (ThreadActivity* const mine = std::exchange(this_activity, nullptr)) {
            mine->number_.store(0);
            mine->is_taken_.store(false);
        }
    }
    static ThreadActivity* take() noexcept {
        for (ThreadActivity* one = activities.load(); one != nullptr; one = one->next_)
            if (bool taken = false; one->is_taken_.compare_exchange_strong(taken, true)) return one;
        auto* const made = new (std::nothrow) ThreadActivity;
        if (made == nullptr) return nullptr;
        made->next_ = activities.load();
        while (!activities.compare_exchange_weak(made->next_, made)) {}
        return made;
    }
};

namespace {
thread_local ActivityOfThread at_end_of_thread;
}

ThreadActivity* ThreadActivity::mine() noexcept {
    if (this_activity != nullptr) [[likely]]
        return this_activity;
    if (is_over) return nullptr;
    ThreadActivity* const made = ActivityOfThread::take();
    if (made == nullptr) return nullptr;
    at_end_of_thread.is_made = true;
    made->thread_.store(static_cast<int>(syscall(SYS_gettid)));
    made->id_.store(std::this_thread::get_id());
    return this_activity = made;
}

void ThreadActivity::number_mine() noexcept {
    ThreadActivity* const own = mine();
    if (own != nullptr && own->number_.load(std::memory_order_relaxed) == 0)
        own->number_.store(threads.fetch_add(1) + 1);
}

void ThreadActivity::name_call(const char* call, const SourceLocation& where) noexcept {
    named_call = {call, where};
}

void ThreadActivity::begin_wait(const ActivityWait& wait) noexcept {
    store(wait_.call, wait.call);
    store(wait_.file, wait.where.file);
    store(wait_.line, wait.where.line);
    store(wait_.stream, wait.stream);
    store(wait_.event, wait.event.event);
    store(wait_.record, wait.event.record);
    store(wait_.device, word_of(wait.device));
    store(wait_.since_ns, wait.since_ns);
    step(wait_.serial);
}

void WaitMark::begin(const ActivityWait& wait) noexcept {
    ThreadActivity* const mine = ThreadActivity::mine();
    if (mine == nullptr || mine->waits()) return;
    ThreadActivity::number_mine();
    activity_ = mine;
    ActivityWait named = wait;
    const SourceLocation& place = named_call.where;
    if (named_call.call != nullptr && place.file == wait.where.file &&
        place.line == wait.where.line && place.column == wait.where.column)
        named.call = named_call.call;
    mine->begin_wait(named);
}

bool ThreadActivity::read(Seen& to) const noexcept {
    to.number = load(number_);
    to.thread = load(thread_);
    to.id = load(id_);
    to.wait_serial = load(wait_.serial);
    to.wait = {load(wait_.call),
               {load(wait_.file), load(wait_.line)},
               load(wait_.stream),
               {load(wait_.event), load(wait_.record)},
               device_of(load(wait_.device)),
               load(wait_.since_ns)};
    to.work_serial = load(work_.serial);
    const unsigned line = load(work_.line);
    to.work = {
        load(work_.stream), load(work_.type), {load(work_.file), line >> 1}, (line & 1) != 0};
    return load(wait_.serial) == to.wait_serial && load(work_.serial) == to.work_serial;
}

std::vector<ThreadActivity::Seen> ThreadActivity::all() {
    std::vector<Seen> all;
    constexpr int tries = 8;  // a thread that changes during every try is not stuck
    for (const ThreadActivity* one = activities.load(); one != nullptr; one = one->next_) {
        Seen seen;
        bool is_whole = false;
        for (int i = 0; i < tries && !is_whole; ++i) is_whole = one->read(seen);
        if (!is_whole) seen.wait_serial &= ~std::uint64_t{1}, seen.work_serial &= ~std::uint64_t{1};
        if (load(one->is_taken_)) all.push_back(seen);
    }
    return all;
}

unsigned ThreadActivity::number_of(std::thread::id id) noexcept {
    for (const ThreadActivity* one = activities.load(); one != nullptr; one = one->next_)
        if (load(one->is_taken_) && load(one->id_) == id) return load(one->number_);
    return 0;
}

void ThreadActivity::forget_others() noexcept {
    for (ThreadActivity* one = activities.load(); one != nullptr; one = one->next_) {
        if (one == this_activity) continue;
        one->number_.store(0);
        one->wait_.serial.store((one->wait_.serial.load() + 1) / 2 * 2);
        one->work_.serial.store((one->work_.serial.load() + 1) / 2 * 2);
        one->is_taken_.store(false);
    }
    if (this_activity != nullptr)
        this_activity->thread_.store(static_cast<int>(syscall(SYS_gettid)));
}

namespace {
const ForkStepRegistration activities_in_children{ForkStep::activities,
                                                  &ThreadActivity::forget_others};
}

}  // namespace heddle::detail
