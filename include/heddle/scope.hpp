// Scopes: the current device and the current streams of this thread.
#pragma once

#include <concepts>
#include <type_traits>

#include <heddle/detail/thread_state.hpp>
#include <heddle/stream.hpp>

namespace heddle {

namespace detail {
/// A temporary that owns a stream.
template <class S>
concept StreamOwner =
    !std::is_lvalue_reference_v<S> && std::derived_from<S, StreamRef> && !std::same_as<S, StreamRef>;
}  // namespace detail

/// This thread's current device.
Device current_device();

/// This thread's current stream of `device` (default: of the current device).
StreamRef current_stream();
StreamRef current_stream(Device device);

/// The stream that `device` (default: the current one) starts with: one per device, shared by all threads, as
/// asynchronous as any other, and not CUDA's legacy default stream.
StreamRef default_stream(Device device = Device());

struct SetStreamOptions {
    bool wait = true;  ///< the new stream first waits on the one it replaces
};

/// Makes `stream` this thread's current stream of its device, until the innermost open scope is left. Does not change the current
/// device. ScopedStream is the better tool where the change has an end.
void set_stream(StreamRef stream, SetStreamOptions options = {},
                SourceLocation where = SourceLocation::current());

template <detail::StreamOwner Owner>
void set_stream(Owner&&, SetStreamOptions = {}, SourceLocation = SourceLocation::current()) = delete;

/// Makes `device` this thread's current one, until the innermost open scope is left. Waits for nothing.
void set_device(Device device, SourceLocation where = SourceLocation::current());

/// What scopes share: they are left in reverse order, on the thread that entered them. Anything else is reported
/// through the report hook, and the rest of the scopes still restore what was before.
class ScopeBase {
public:
    ScopeBase(const ScopeBase&) = delete;
    ScopeBase& operator=(const ScopeBase&) = delete;

protected:
    explicit ScopeBase(
        SourceLocation where);  ///< saves the current device; UsageError when nested too deeply
    ~ScopeBase() { leave(); }

    void change_device(Device device) noexcept;
    void change_stream(StreamRef stream) noexcept;
    /// Restores what the scope found, once. False: not possible, this is another thread.
    bool leave() noexcept;

    SourceLocation where_;

private:
    detail::ThreadState* thread_;
    int index_;
    std::uint64_t serial_;
    bool left_ = false;
};

/// Makes a device current until the scope ends. Waits for nothing.
class ScopedDevice : public ScopeBase {
public:
    [[nodiscard]] explicit ScopedDevice(Device device, SourceLocation where = SourceLocation::current());
};

struct ScopeOptions {
    bool wait_on_enter = true;  ///< the stream first waits on the one it replaces on its device
    bool wait_on_exit = false;  ///< the restored stream waits on this one
};

/// Makes a stream current on its device, and that device current, until the scope ends. With the default options work
/// in the scope comes after all that the thread enqueued on this device before it.
///
/// An enter wait that cannot be (streams of different captures, a dead stream) throws UsageError, and the scope is not
/// entered. Errors on leaving are reported through the report hook.
class ScopedStream : public ScopeBase {
public:
    [[nodiscard]] explicit ScopedStream(StreamRef stream, ScopeOptions options = {},
                                        SourceLocation where = SourceLocation::current());
    ~ScopedStream();
    /// A stream or lease that would end before the scope.
    template <detail::StreamOwner Owner>
    explicit ScopedStream(Owner&&, ScopeOptions = {}, SourceLocation = SourceLocation::current()) = delete;

private:
    StreamRef stream_;
    bool wait_on_exit_;
};

}  // namespace heddle
