// Scopes, which change the calling thread's current device and stream until they end.
#pragma once

#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/detail/thread_state.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The base of all scopes. A scope changes the calling thread's current device or stream until it
/// ends. ScopedStream has an example.
///
/// Lifetime: leave scopes in reverse order, on the thread that entered them. Violations are passed
/// to the report hook. The remaining scopes still restore the state from before they were entered.
///
/// Errors: entering throws UsageError if 128 scopes are open on the thread. Threads: each has its
/// own scopes, and does not see those of others.
class ScopeBase {
public:
    ScopeBase(const ScopeBase&) = delete;
    ScopeBase& operator=(const ScopeBase&) = delete;

protected:
    /// Saves the current device. Throws UsageError if too many scopes are open.
    explicit ScopeBase(Where where);
    ~ScopeBase() { leave(); }

    void change_device(Device device) noexcept;
    /// `unwaited` is the replaced stream if `stream` is not ordered after it, else null.
    void change_stream(StreamRef stream, const StreamRef* unwaited = nullptr) noexcept;
    /// Restores the saved state, once. Returns false if the scope was entered on another thread.
    bool leave() noexcept;

    SourceLocation where_;

private:
    detail::ThreadState* thread_;
    int index_;
    std::uint64_t serial_;
    bool left_ = false;
};

/// Makes a device current until the scope ends. Inserts no wait.
///
///     ScopedDevice in{Device("cuda:1")};
///     Array<float> x(1000);  // on cuda:1
///
/// Lifetime, errors and threads: see ScopeBase.
class ScopedDevice : public ScopeBase {
public:
    /// Enters the scope. Throws UsageError if too many scopes are open.
    [[nodiscard]] explicit ScopedDevice(Device device, Where where = {});
    /// Deleted: write ScopedDevice(Device("cuda:0")).
    template <detail::NameOrNumber N>
    explicit ScopedDevice(const N&, mistake::write_Device_of_the_name = {}) = delete;
};

/// Options of a ScopedStream.
struct ScopeOptions {
    bool wait_on_enter = true;  ///< the stream first waits for the one it replaces on its device
    bool wait_on_exit = false;  ///< the restored stream waits for this one
};

/// Makes a stream current on its device, and that device current, until the scope ends.
///
///     {
///         ScopedStream in{side};  // side waits for the stream it replaces
///         fill(x, 2.0f);          // on side
///     }                           // the replaced stream is current again; it does not wait
///
/// Order: with the default options, work in the scope is ordered after all work already enqueued on
/// the replaced stream. Entering and leaving never block.
///
/// Lifetime: keep the stream alive until the scope ends. Threads: see ScopeBase.
///
/// Errors: throws UsageError if the stream was destroyed or cannot wait (streams of different
/// captures); the scope is then not entered. Errors on leaving are passed to the report hook.
class ScopedStream : public ScopeBase {
public:
    /// Enters the scope. Errors: see the class.
    [[nodiscard]] explicit ScopedStream(StreamRef stream, ScopeOptions options = {},
                                        Where where = {});
    ~ScopedStream();
    /// Deleted for temporaries: the stream or lease would end before the scope.
    template <detail::StreamOwner Owner>
    explicit ScopedStream(Owner&&, ScopeOptions = {}, mistake::stream_ends_first = {}) = delete;
    /// Deleted: pass the stream.
    template <detail::NameOrNumber N>
    ScopedStream(const N&, mistake::a_name_finds_no_stream_so_pass_the_Stream = {}) = delete;

private:
    StreamRef stream_;
    bool wait_on_exit_;
};

}  // namespace heddle
