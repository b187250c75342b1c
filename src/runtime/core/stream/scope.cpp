// Each thread's current device and streams, default streams, and scopes, which may end in any
// order.
#include <heddle/stream/scope.hpp>

#include <algorithm>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/stream/order.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/scope_owner.hpp"
#include "core/stream/scopes.hpp"

namespace heddle {

using detail::SavedState;
using detail::ThreadState;

namespace {

std::atomic<detail::StreamRecord*> default_streams[2][detail::max_devices];
constinit std::mutex default_streams_mutex;
const detail::ForkRegistration default_streams_registered{detail::ForkOrder::default_streams,
                                                          default_streams_mutex};

void check_depth(const ThreadState& thread, const SourceLocation& where) {
    if (thread.depth == detail::max_scopes) [[unlikely]]
        detail::usage_error({"scope", where},
                            "more than 128 scopes are open on this thread: leave some first");
}

/// Returns "the scope of stream 'copies'", for messages.
std::string label_of(const SavedState& saved) {
    if (saved.entered == nullptr) return "a scope of a device";
    const std::string name = detail::Access::stream(*saved.entered).name();
    return name.starts_with("stream ") ? "the scope of " + name
                                       : detail::formatted("the scope of stream '{}'", name);
}

/// Reports the scope `index` if it is left before scopes that were entered later.
void report_order(const ThreadState& thread, int index, const SourceLocation& where) noexcept {
    try {
        const auto* inner = &thread.saved[index + 1];
        const auto* const end = &thread.saved[thread.depth];
        while (inner != end && inner->kind != SavedState::Kind::scope) ++inner;
        if (inner == end) return;  // only set_stream() and set_device(), which end with the scope
        const SourceLocation made{inner->file, inner->line};
        const std::string place =
            detail::is_own_place(made) ? ", made " + detail::place_text(made) : "";
        detail::report_error(
            ErrorCode::usage, {"scope", where},
            "{} was left before {}{}, which was entered after it: leave scopes in reverse order",
            label_of(thread.saved[index]), label_of(*inner), place);
    } catch (...) {
        detail::report(std::current_exception());
    }
}

/// Saves the state that set_stream() or set_device() replaces, so that the innermost open scope
/// restores it. Outside any scope the change is permanent.
void save_set(ThreadState& thread, const SavedState& wanted, const SourceLocation& where) {
    if (thread.depth == 0) {
        thread.touched = true;
        return;
    }
    for (int i = thread.depth - 1; i >= 0 && thread.saved[i].kind == SavedState::Kind::set; --i) {
        const SavedState& seen = thread.saved[i];
        if (wanted.has_device && seen.has_device) return;
        if (wanted.has_stream && seen.has_stream && seen.stream_device == wanted.stream_device)
            return;
    }
    check_depth(thread, where);
    thread.saved[thread.depth++] = wanted;
}

/// Restores the state saved at `index`. If an inner entry that is still open has saved the same
/// variable, passes the older value to the inner entry instead.
void put_back(ThreadState& thread, int index) {
    SavedState& saved = thread.saved[index];
    if (saved.has_device) {
        SavedState* inner = nullptr;
        for (int i = index + 1; i < thread.depth && inner == nullptr; ++i)
            if (thread.saved[i].kind != SavedState::Kind::closed && thread.saved[i].has_device)
                inner = &thread.saved[i];
        (inner != nullptr ? inner->device : thread.device) = saved.device;
        (inner != nullptr ? inner->device_set : thread.device_set) = saved.device_set;
    }
    if (saved.has_stream) {
        SavedState* inner = nullptr;
        for (int i = index + 1; i < thread.depth && inner == nullptr; ++i)
            if (thread.saved[i].kind != SavedState::Kind::closed && thread.saved[i].has_stream &&
                thread.saved[i].stream_device == saved.stream_device)
                inner = &thread.saved[i];
        (inner != nullptr ? inner->stream : stream_slot(thread, saved.stream_device)) =
            saved.stream;
    }
    saved.kind = SavedState::Kind::closed;
}

/// Lowers `depth` past entries that are closed already.
void drop_closed(ThreadState& thread) noexcept {
    while (thread.depth > 0 && thread.saved[thread.depth - 1].kind == SavedState::Kind::closed)
        --thread.depth;
}

/// Ends the scope `index`, even if inner scopes are still open.
void close_scope(ThreadState& thread, int index) noexcept {
    bool inner_scope = false;
    for (int i = thread.depth - 1; i > index; --i)
        inner_scope |= thread.saved[i].kind == SavedState::Kind::scope;
    if (inner_scope) {
        put_back(thread, index);
    } else {
        for (int i = thread.depth - 1; i >= index; --i) {
            thread.depth = i + 1;
            put_back(thread, i);
        }
        thread.depth = index;
    }
    drop_closed(thread);
}

/// Ends a scope like close_scope(). `saved` must be its entry, and the newest one.
void close_newest(ThreadState& thread, SavedState& saved) noexcept {
    --thread.depth;
    thread.device = saved.device;  // every scope saves it
    thread.device_set = saved.device_set;
    if (saved.has_stream) stream_slot(thread, saved.stream_device) = saved.stream;
    saved.kind = SavedState::Kind::closed;
    drop_closed(thread);
}

bool has_scope(const ThreadState& thread, int index, std::uint64_t serial) noexcept {
    return index < thread.depth && thread.saved[index].serial == serial &&
           thread.saved[index].kind == SavedState::Kind::scope;
}

void wait_on_exit(const detail::StreamUse& use, const SourceLocation& where) noexcept {
    try {
        detail::StreamRecord& restored = detail::record_of(current_stream(use.stream->device));
        // The stream may have been closed since the scope was left.
        if (use.is_same() && !use.stream->has(detail::stream_flag::dead))
            detail::order_after_stream(restored, *use.stream, where, WaitReason::scope_exit);
        else detail::order_after_use(restored, use, where, WaitReason::scope_exit);
    } catch (...) {
        detail::report(std::current_exception());
    }
}

/// Closes this thread's scopes that other threads have left.
[[gnu::cold, gnu::noinline]] void close_left(ThreadState& thread,
                                             detail::ScopeOwner& owner) noexcept {
    detail::LeftScope* left = owner.take_left();
    while (left != nullptr) {
        if (has_scope(thread, left->index, left->serial)) {
            close_scope(thread, left->index);
            if (left->waits_for.stream != nullptr) wait_on_exit(left->waits_for, left->where);
        }
        delete std::exchange(left, left->next);
    }
}

/// Closes the scopes of this thread that other threads have left. Returns the thread's state.
ThreadState& state_here() noexcept {
    ThreadState* state = &detail::this_thread_state();
    // Hides the origin of the address, which GCC would otherwise compute anew at each use.
    asm("" : "+r"(state));
    ThreadState& thread = *state;
    if (thread.owner != nullptr && thread.owner->has_left()) [[unlikely]]
        close_left(thread, *thread.owner);
    return thread;
}

/// Leaves a scope of this thread after which others were entered that are still open.
[[gnu::cold, gnu::noinline]] void leave_early(ThreadState& thread, int index,
                                              const SourceLocation& where) noexcept {
    report_order(thread, index, where);
    close_scope(thread, index);
}

/// Returns the thread's current stream of the device.
StreamRef current_stream_of(ThreadState& thread, Device device) {
    detail::StreamState* const stream = stream_slot(thread, device);
    return stream != nullptr ? detail::Access::stream(*stream) : default_stream(device);
}

/// Set while this thread leaves a scope: the stream use that the restored stream waits for.
constinit thread_local detail::StreamUse awaited_on_exit;

/// Leaves a scope of another thread, or of a thread that has ended.
[[gnu::cold, gnu::noinline]] void leave_elsewhere(int index, std::uint64_t serial,
                                                  const SourceLocation& where) noexcept {
    const auto here = static_cast<int>(syscall(SYS_gettid));
    detail::ScopeOwner* const owner = detail::ScopeOwner::of(serial);
    detail::LeftScope* left = nullptr;
    if (owner != nullptr)
        left = new (std::nothrow)
            detail::LeftScope{serial, index, std::exchange(awaited_on_exit, {}), where};
    const int entered_on = owner != nullptr ? owner->thread() : 0;
    if (left != nullptr && owner->hand_over(*left)) {
        if (entered_on == here)
            return detail::report_error(
                ErrorCode::usage, {"scope", where},
                "a host function left a scope that it had not entered, or entered a scope that "
                "other code left: leave each scope in the function that entered it. The scope "
                "stays open until the code that entered it next enters a scope or queries the "
                "current device or stream");
        return detail::report_error(
            ErrorCode::usage, {"scope", where},
            "a scope that thread {} entered was left on thread {}: leave each scope on the thread "
            "that entered it and, in a coroutine, before the coroutine is suspended. The scope "
            "stays open until thread {} next enters a scope or queries the current device or "
            "stream",
            entered_on, here, entered_on);
    }
    const bool is_ended = left != nullptr;
    delete left;
    detail::report_error(
        ErrorCode::usage, {"scope", where},
        "a scope was left on thread {}, {}, so the previous device and streams were not restored: "
        "leave each scope on the thread that entered it",
        here,
        is_ended ? "but the thread that entered it has ended"
                 : "and exhausted memory prevents the thread that entered it from closing it");
}

}  // namespace

namespace detail {
namespace {
void forget_scopes() noexcept {
    for (auto& kind : default_streams)
        for (auto& stream : kind) stream.store(nullptr);
    for (ThreadState& state : thread_states.of)
        for (auto& kind : state.streams) std::ranges::fill(kind, nullptr);
}
const ForkStepRegistration scopes_in_children{ForkStep::scopes, &forget_scopes};
}  // namespace
}  // namespace detail

detail::UnwaitedScope detail::unwaited_scope(std::uint64_t waiter, std::uint64_t other,
                                             std::uint64_t position) noexcept {
    const ThreadState& thread = this_thread_state();
    for (int i = thread.depth - 1; i >= 0; --i) {
        const SavedState& saved = thread.saved[i];
        if (!saved.has_no_wait || saved.kind == SavedState::Kind::closed ||
            position > saved.told_before)
            continue;
        const auto& its_default = default_streams[static_cast<int>(saved.stream_device.kind())]
                                                 [saved.stream_device.index()];
        const StreamRecord* const replaced = saved.stream != nullptr
                                                 ? &record_of(*saved.stream)
                                                 : its_default.load(std::memory_order_acquire);
        if (replaced == nullptr || replaced->id.load() != other ||
            record_of(*saved.entered).id.load() != waiter)
            continue;
        const bool is_scope = saved.kind == SavedState::Kind::scope;
        return {is_scope ? "ScopedStream" : "set_stream", {saved.file, saved.line}};
    }
    return {};
}

Device current_device() try {
    const ThreadState& thread = state_here();
    return thread.device_set ? thread.device : default_device();
} catch (...) {
    detail::rethrow_as_error("current_device", {});
}

StreamRef current_stream(Device device) try {
    return current_stream_of(state_here(), device);
} catch (...) {
    detail::rethrow_as_error("current_stream", {});
}

StreamRef current_stream() { return current_stream(current_device()); }

StreamRef default_stream(Device device) try {
    auto& slot = default_streams[static_cast<int>(device.kind())][device.index()];
    detail::StreamRecord* stream = slot.load(std::memory_order_acquire);
    if (stream == nullptr) [[unlikely]] {
        const std::lock_guard lock(default_streams_mutex);
        stream = slot.load(std::memory_order_acquire);
        if (stream == nullptr) {
            stream = &detail::open_stream(device, 0, device.name() + " default", Where());
            slot.store(stream, std::memory_order_release);
        }
    }
    return detail::Access::stream(*stream);
} catch (...) {
    detail::rethrow_as_error("default_stream", {});
}

void set_stream(StreamRef stream, SetStreamOptions options, Where where) try {
    if (!stream) (void)detail::admit_slowly(detail::Access::state(stream), "set_stream", where);
    ThreadState& thread = state_here();
    const Device device = stream.device();
    detail::StreamRecord& replaced = detail::record_of(current_stream(device));
    if (options.wait)
        detail::order_after_stream(detail::record_of(stream), replaced, where,
                                   WaitReason::scope_enter);
    detail::StreamState*& slot = stream_slot(thread, device);
    save_set(thread,
             {.kind = SavedState::Kind::set,
              .has_stream = true,
              .has_no_wait = !options.wait,
              .told_before = replaced.noted.load(),
              .stream_device = device,
              .stream = slot,
              .entered = &detail::Access::state(stream),
              .file = where.file,
              .line = where.line},
             where);
    slot = &detail::Access::state(stream);
} catch (...) {
    detail::rethrow_as_error("set_stream", where);
}

void set_device(Device device, Where where) try {
    ThreadState& thread = state_here();
    save_set(thread,
             {.kind = SavedState::Kind::set,
              .has_device = true,
              .device_set = thread.device_set,
              .device = thread.device},
             where);
    thread.device = device;
    thread.device_set = true;
} catch (...) {
    detail::rethrow_as_error("set_device", where);
}

// Copies `where` member by member. GCC would store its two halves and load both at once, which
// stalls processors.
ScopeBase::ScopeBase(Where where) try
    : where_{where.file, where.line, where.column}, thread_(&state_here()) {
    ThreadState& thread = *thread_;
    check_depth(thread, where);
    if (thread.last_serial == 0) [[unlikely]]
        detail::ScopeOwner::begin(thread);
    index_ = thread.depth++;
    serial_ = ++thread.last_serial;
    SavedState& saved = thread.saved[index_];
    saved.kind = SavedState::Kind::scope;
    saved.has_device = true;
    saved.has_stream = false;
    saved.has_no_wait = false;
    saved.device_set = thread.device_set;
    saved.device = thread.device;
    saved.serial = serial_;
    saved.entered = nullptr;
    saved.file = where.file;
    saved.line = where.line;
} catch (...) {
    detail::rethrow_as_error("scope", where);
}

void ScopeBase::change_device(Device device) noexcept {
    thread_->device = device;
    thread_->device_set = true;
}

void ScopeBase::change_stream(StreamRef stream, const StreamRef* unwaited) noexcept {
    SavedState& saved = thread_->saved[index_];
    saved.has_no_wait = unwaited != nullptr;
    if (unwaited != nullptr) saved.told_before = detail::record_of(*unwaited).noted.load();
    saved.has_stream = true;
    saved.stream_device = stream.device();
    detail::StreamState*& slot = stream_slot(*thread_, stream.device());
    saved.stream = slot;
    slot = &detail::Access::state(stream);
    saved.entered = slot;
}

bool ScopeBase::leave() noexcept {
    if (left_) return true;
    left_ = true;
    ThreadState& thread = state_here();
    // A thread's state may have the address of an ended thread's state.
    if (&thread == thread_ && has_scope(thread, index_, serial_)) [[likely]] {
        if (index_ == thread.depth - 1) [[likely]]
            close_newest(thread, thread.saved[index_]);
        else leave_early(thread, index_, where_);
        return true;
    }
    leave_elsewhere(index_, serial_, where_);
    return false;
}

ScopedDevice::ScopedDevice(Device device, Where where) : ScopeBase(where) { change_device(device); }

ScopedStream::ScopedStream(StreamRef stream, ScopeOptions options, Where where) try
    : ScopeBase(where), stream_(stream), wait_on_exit_(options.wait_on_exit) {
    const detail::CallMark mark("ScopedStream", where);
    if (!stream) [[unlikely]]
        (void)detail::admit_slowly(detail::Access::state(stream), "ScopedStream", where);
    // The base has closed the scopes that other threads have left.
    const StreamRef replaced = current_stream_of(detail::this_thread_state(), stream.device());
    if (options.wait_on_enter)
        detail::order_after_stream(detail::record_of(stream), detail::record_of(replaced), where,
                                   WaitReason::scope_enter);
    change_device(stream.device());
    change_stream(stream, options.wait_on_enter ? nullptr : &replaced);
} catch (...) {
    detail::rethrow_as_error("ScopedStream", where);
}

ScopedStream::~ScopedStream() {
    if (!wait_on_exit_) return;  // the base leaves the scope
    awaited_on_exit = {&detail::record_of(stream_), detail::record_of(stream_).id.load()};
    const bool is_left_here = leave();
    awaited_on_exit = {};
    if (!is_left_here) return;
    try {
        const detail::CallMark mark("ScopedStream::~ScopedStream", where_);
        detail::order_after_stream(detail::record_of(current_stream(stream_.device())),
                                   detail::record_of(stream_), where_, WaitReason::scope_exit);
    } catch (...) {
        detail::report(std::current_exception());
    }
}

}  // namespace heddle
