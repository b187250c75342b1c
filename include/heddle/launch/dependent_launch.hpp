// Programmatic dependent launches: a kernel starts before the previous one has finished, and waits
// inside its code for that kernel's writes.
#pragma once

#include <utility>

#include <heddle/launch/launch.hpp>
#include <heddle/stream/event.hpp>

namespace heddle HEDDLE_VISIBLE {

class ProgrammaticEvent;

namespace detail {
/// Throws UsageError if the stream cannot record the event. Called before anything is launched.
void check_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where);
void record_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where);
/// Makes the stream wait for the event. Returns true if the next kernel may start earlier, with
/// detail::Dependence::on_event.
bool wait_for_trigger(StreamRef stream, const ProgrammaticEvent& event,
                      const SourceLocation& where);
}  // namespace detail

/// Lets kernels on other streams start before a kernel has finished; the cross-stream form of
/// launch_dependent(). launch_triggering() records the event, and launch_dependent() waits for its
/// newest record.
///
///     ProgrammaticEvent started;
///     launch_triggering(s, started, Layer{}, dim(n), weights, x);
///     launch_dependent(other, started, Layer{}, dim(n), weights, x);
///
/// In a capture or a batch, a record and its wait become an edge between two kernels of one device,
/// as KernelNode::dependent_on() makes it. Elsewhere the event marks the kernel's end, because
/// CUDA's own programmatic events save no time there (docs/adr/0018). An event without a record
/// orders no work.
///
/// Lifetime: move-only. May be destroyed while waits are pending. Errors: recording throws
/// UsageError on a stream of another device; members throw UsageError for an event that was moved
/// from. Thread-safety: as Event.
class ProgrammaticEvent {
public:
    /// Makes an event for `device`, by default the current one. It has no record yet.
    explicit ProgrammaticEvent(Device device = current_device(), Where where = {})
        : event_(device, {}, where) {}
    /// Returns the device on whose streams the event can be recorded.
    Device device(Where where = {}) const { return event_.device(where); }
    /// Records the event after the last kernel enqueued on the stream. Use it for kernels of
    /// modules, and for kernels that are themselves launched as dependent. Throws UsageError on a
    /// stream of another device.
    void record(StreamRef stream = current_stream(), Where where = {}) {
        detail::check_trigger(*this, stream, where);
        detail::record_trigger(*this, stream, where);
    }

private:
    friend detail::Access;
    Event event_;
};

inline const Event& detail::Access::event(const ProgrammaticEvent& event) noexcept {
    return event.event_;
}

/// A kernel that calls wait_for_primary() in all its threads, and declares this with a member
/// `static constexpr bool waits_for_primary = true;`. A dependent launch of a kernel that does not
/// wait would race with the previous kernel.
template <class K>
concept WaitsForPrimary = requires { requires static_cast<bool>(K::waits_for_primary); };

namespace detail {
template <class K> constexpr bool check_waits_for_primary() {
    static_assert(WaitsForPrimary<K>,
                  "heddle::launch_dependent: a dependent kernel must wait for the previous kernel: "
                  "call wait_for_primary() in all its threads, and declare `static constexpr bool "
                  "waits_for_primary = true;`");
    if constexpr (WaitsForPrimary<K>)
        static_assert(K::waits_for_primary);  // nvcc warns of members that only a concept names
    return WaitsForPrimary<K>;
}
}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Waits until the previous kernel has finished and its writes are visible; call it in a kernel.
/// Code before this call may run at the same time as the previous kernel. Such code must load only
/// data that does not depend on that kernel. It must write nothing: a new array may occupy memory
/// that the previous kernel still uses.
///
/// Does nothing on GPUs before compute capability 9.0, on CPU devices, and in launches that are not
/// dependent.
HEDDLE_FN inline void wait_for_primary() noexcept { detail::wait_for_primary(); }

/// Lets dependent kernels start once all blocks have called trigger_dependents() or ended; call it
/// in a kernel. Dependent kernels still wait for this kernel's writes. Without the call they start
/// when this kernel ends.
HEDDLE_FN inline void trigger_dependents() noexcept { detail::trigger_dependents(); }

/// Launches a kernel as launch() does, but the kernel may start before the previous kernel on the
/// stream has finished (programmatic dependent launch). Works in captures and batches too. Below
/// compute capability 9.0 and on CPU devices it does the same as launch().
///
/// It removes most of the gap between small kernels: a graph of 200 successive kernels takes 70 %
/// of the time (H200).
template <detail::KernelObject K, int N, class... A>
void launch_dependent(StreamRef stream, const K& kernel, const Dim<N>& d, A&&... args) {
    if constexpr (detail::check_waits_for_primary<K>()) {
        LaunchOptions options = d.how.options;
        options.dependence = detail::Dependence::on_stream;
        launch(stream, kernel, d.with(options), std::forward<A>(args)...);
    }
}
template <detail::KernelObject K, int N, class... A>
void launch_dependent(const K& kernel, const Dim<N>& d, A&&... args) {
    launch_dependent(current_stream(), kernel, d, std::forward<A>(args)...);
}

/// Deleted: write dim(n) for the number of indices.
template <class Why = mistake::the_number_of_indices_is_dim_of_n, class K, std::integral N,
          class... A>
Why launch_dependent(StreamRef, const K&, N, A&&...) = delete;

/// Launches a kernel as launch() does, and records `event`. Its dependents may start once all
/// blocks have called trigger_dependents() or ended. Throws UsageError if the event belongs to
/// another device.
template <class K, detail::IsLaunchShape S, class... A>
void launch_triggering(StreamRef stream, ProgrammaticEvent& event, const K& kernel, const S& shape,
                       A&&... args) {
    detail::check_trigger(event, stream, shape.where);
    launch(stream, kernel, shape, std::forward<A>(args)...);
    detail::record_trigger(event, stream, shape.where);
}
template <class K, detail::IsLaunchShape S, class... A>
void launch_triggering(ProgrammaticEvent& event, const K& kernel, const S& shape, A&&... args) {
    launch_triggering(current_stream(), event, kernel, shape, std::forward<A>(args)...);
}

/// Launches a kernel as launch() does, ordered after `event`, which a launch on another stream has
/// recorded. The kernel may start before that launch has ended, and waits inside its code for the
/// launch's writes. It starts after all work already enqueued on `stream` has completed. If the
/// recorded kernel runs on another device, it starts after that kernel has ended.
template <detail::KernelObject K, int N, class... A>
void launch_dependent(StreamRef stream, const ProgrammaticEvent& event, const K& kernel,
                      const Dim<N>& d, A&&... args) {
    if constexpr (detail::check_waits_for_primary<K>()) {
        if (!detail::wait_for_trigger(stream, event, d.where))
            return launch(stream, kernel, d, std::forward<A>(args)...);
        LaunchOptions options = d.how.options;
        options.dependence = detail::Dependence::on_event;
        launch(stream, kernel, d.with(options), std::forward<A>(args)...);
    }
}
template <detail::KernelObject K, int N, class... A>
void launch_dependent(const ProgrammaticEvent& event, const K& kernel, const Dim<N>& d,
                      A&&... args) {
    launch_dependent(current_stream(), event, kernel, d, std::forward<A>(args)...);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
