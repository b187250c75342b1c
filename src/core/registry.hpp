// All streams of the process, and what backends may ask of core.
#pragma once

#include <functional>

#include "core/backend.hpp"

namespace heddle {
class Observer;  // heddle/observer.hpp
}

namespace heddle::detail {

/// Makes a record for a stream of `device` without a native one; new id, flags clear but for `dead` (cleared by whoever finishes it).
StreamRecord& new_stream_record(Device device);
/// Makes a stream: record, native stream, registered.
StreamRecord& open_stream(Device device, int priority, std::string name, const SourceLocation& where);
/// Gives a stream up (its last owner is gone: see StreamRecord::owners). Never throws.
void close_stream(StreamRecord& stream) noexcept;
/// The record may become another stream: called by backends once nothing of the old one is pending.
void recycle_stream(StreamRecord& stream) noexcept;

/// The stream that a key names (StreamState::key), and whether all it was given has ended.
StreamUse use_of(std::uint64_t key) noexcept;
bool has_ended(std::uint64_t key) noexcept;

/// Calls function for every record that has ever been made; look at flags, device and backend. The set only grows. A record that is not
/// `dead` is complete; it may become `dead`, and another stream of its device, at any time.
void for_each_stream(const std::function<void(StreamRecord&)>& function);

/// In the child of a fork: these streams were the parent's.
void forget_default_streams() noexcept;
void forget_branches() noexcept;
void forget_free_streams() noexcept;
void forget_observing_threads() noexcept;

/// add_observer(), unless it is there already.
void ensure_observer(Observer& observer);

/// Throws UsageError in host functions, which may wait for nothing. `call` is what was asked for.
void check_may_wait(const char* call, const SourceLocation& where);

/// Throws a failure of work: whoever gets it has been told. `stream`: on which it was found; the message says so if it came there by waiting.
[[noreturn]] void throw_failure(const Failure& failure, StreamRecord* stream = nullptr);
/// The same as an exception_ptr.
std::exception_ptr told(const Failure& failure, StreamRecord* stream = nullptr);
/// The same before it is certain that somebody will be told. Throws OutOfMemory where there is no memory for it.
std::exception_ptr to_be_told(const Failure& failure, StreamRecord* stream = nullptr);

/// Hands an error that cannot be thrown to the report hook.
void report(const Error& error) noexcept;
void report(const ErrorInfo& info) noexcept;
void report(std::exception_ptr error) noexcept;

/// What an exception of heddle's means for a stream whose work it concerns.
Failure as_failure(std::exception_ptr error) noexcept;

/// A launch has loaded a kernel's code while its device was busy (heddle/preload.hpp).
void count_load_while_busy() noexcept;

/// "Saxpy" out of __PRETTY_FUNCTION__ of an operation's type.
std::string_view kernel_name_in(const char* pretty) noexcept;
std::string kernel_name(const char* pretty);

/// An error about `stream`, with its device and name filled in.
ErrorInfo stream_error(ErrorCode code, StreamRecord& stream, std::string message, std::string call,
                       const SourceLocation& where);

/// Takes an event of `device` with these options from its pool, or makes one.
EventState& take_event(Device device, EventOptions options, const SourceLocation& where);
void give_event(EventState& event) noexcept;

/// Marks this thread as running a stream's work while it lives.
class InHostFunction {
public:
    InHostFunction() noexcept;
    ~InHostFunction();

private:
    bool before_;
};

}  // namespace heddle::detail
