// Dependent launches: a kernel that starts before the one before it has finished, and waits for its memory itself.
#pragma once

#include <type_traits>
#include <utility>

#include <heddle/event.hpp>
#include <heddle/launch.hpp>

namespace heddle {

class ProgrammaticEvent;

namespace detail {
/// UsageError where the stream cannot record the event; before anything is launched.
void check_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where);
void record_trigger(const ProgrammaticEvent& event, StreamRef stream, const SourceLocation& where);
/// Makes the stream wait. True: the next kernel may be one that starts earlier, detail::Dependence::on_event.
bool wait_for_trigger(StreamRef stream, const ProgrammaticEvent& event, const SourceLocation& where);
}  // namespace detail

/// The moment when a kernel lets kernels on other streams start: between streams what launch_dependent() is on one. Recorded by launch_triggering(), waited for by
/// launch_dependent(). Recorded again, it stands for the newest launch.
///
/// In a capture or a batch it becomes an edge between two kernels of one device, as KernelNode::dependent_on() makes it. Between streams that are not recorded it is the kernel's
/// end: CUDA's own programmatic events gain nothing there (docs/adr/0018).
/// Move-only; destroying it with waits pending is safe. Thread-safety: as Event.
class ProgrammaticEvent {
public:
    explicit ProgrammaticEvent(Device device = Device(), SourceLocation where = SourceLocation::current())
        : event_(device, {}, where) {}
    Device device(SourceLocation where = SourceLocation::current()) const { return event_.device(where); }
    /// Stands for the kernel that the stream was given last: for kernels that are dependent themselves, and those of modules. UsageError on a stream of another
    /// device.
    void record(StreamRef stream = current_stream(), SourceLocation where = SourceLocation::current()) {
        detail::check_trigger(*this, stream, where);
        detail::record_trigger(*this, stream, where);
    }

private:
    friend void detail::check_trigger(const ProgrammaticEvent&, StreamRef, const SourceLocation&);
    friend void detail::record_trigger(const ProgrammaticEvent&, StreamRef, const SourceLocation&);
    friend bool detail::wait_for_trigger(StreamRef, const ProgrammaticEvent&, const SourceLocation&);
    Event event_;
};

inline namespace HEDDLE_COMPILED_BY {

/// In a kernel: waits until the kernel before has finished and its writes are visible. What stands before this call may run beside
/// that kernel: load what does not depend on it there, and write nothing (a new array may lie where that kernel's memory was). Does nothing where there is nothing to wait for: older GPUs than compute capability 9.0, CPU
/// devices, and launches that are not dependent.
HEDDLE_FN inline void wait_for_primary() noexcept { detail::wait_for_primary(); }

/// In a kernel: lets dependent kernels start, once all blocks have called it or ended. They still wait for this one's memory. Without it they
/// start when this one ends.
HEDDLE_FN inline void trigger_dependents() noexcept { detail::trigger_dependents(); }

/// A kernel says that it calls wait_for_primary() in all its threads: `static constexpr bool waits_for_primary = true;`. Launched as dependent
/// without it, it would race with the kernel before.
template <class K>
concept WaitsForPrimary = requires {
    requires static_cast<bool>(K::waits_for_primary);
};

/// As launch(), but the kernel may start before the one before it on the stream has finished (programmatic dependent launch, compute capability 9.0 and
/// later; elsewhere this is launch()). In captures and batches too. Between two small kernels it saves most of the gap: 0.70 µs for 1.01 in a
/// graph of 200 in a row (H200).
template <class K, int N, class... A>
    requires(std::is_class_v<K>)
void launch_dependent(StreamRef stream, const K& kernel, const Dim<N>& d, A&&... args) {
    static_assert(WaitsForPrimary<K>,
                  "heddle::launch_dependent: a kernel launched as dependent calls wait_for_primary() in all "
                  "its threads, and says so: static constexpr bool waits_for_primary = true;");
    static_assert(K::waits_for_primary);  // nvcc warns of members that only a concept has named
    LaunchOptions options = d.how.options;
    options.dependence = detail::Dependence::on_stream;
    launch(stream, kernel, d.with(options), std::forward<A>(args)...);
}
template <class K, int N, class... A>
    requires(std::is_class_v<K>)
void launch_dependent(const K& kernel, const Dim<N>& d, A&&... args) {
    launch_dependent(current_stream(), kernel, d, std::forward<A>(args)...);
}

/// As launch(), and records `event`: its dependents may start once all blocks have called trigger_dependents() or ended. The event is of the stream's
/// device (UsageError).
template <class K, int N, class... A>
void launch_triggering(StreamRef stream, ProgrammaticEvent& event, const K& kernel, const Dim<N>& d,
                       A&&... args) {
    detail::check_trigger(event, stream, d.where);
    launch(stream, kernel, d, std::forward<A>(args)...);
    detail::record_trigger(event, stream, d.where);
}
template <class K, int N, class... A>
void launch_triggering(ProgrammaticEvent& event, const K& kernel, const Dim<N>& d, A&&... args) {
    launch_triggering(current_stream(), event, kernel, d, std::forward<A>(args)...);
}

/// As launch(), after `event`, which a launch on another stream records: the kernel may start before that one has ended, and waits for its memory
/// itself. What the stream was given before is waited for as ever, and so is an event of another device.
template <class K, int N, class... A>
    requires(std::is_class_v<K>)
void launch_dependent(StreamRef stream, const ProgrammaticEvent& event, const K& kernel, const Dim<N>& d,
                      A&&... args) {
    static_assert(WaitsForPrimary<K>,
                  "heddle::launch_dependent: a kernel launched as dependent calls wait_for_primary() in all "
                  "its threads, and says so: static constexpr bool waits_for_primary = true;");
    static_assert(K::waits_for_primary);  // nvcc warns of members that only a concept has named
    if (!detail::wait_for_trigger(stream, event, d.where))
        return launch(stream, kernel, d, std::forward<A>(args)...);
    LaunchOptions options = d.how.options;
    options.dependence = detail::Dependence::on_event;
    launch(stream, kernel, d.with(options), std::forward<A>(args)...);
}
template <class K, int N, class... A>
    requires(std::is_class_v<K>)
void launch_dependent(const ProgrammaticEvent& event, const K& kernel, const Dim<N>& d, A&&... args) {
    launch_dependent(current_stream(), event, kernel, d, std::forward<A>(args)...);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
