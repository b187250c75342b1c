// Registration of heddle's own observers.
#pragma once

namespace heddle {
class Observer;  // heddle/observe/observer.hpp
}

namespace heddle::detail {

/// Adds the observer unless it is registered already. Throws std::bad_alloc. Thread-safe.
void ensure_observer(Observer& observer);
/// Starts or stops the recording of operations for the watch (core/operation/flight.hpp).
/// Thread-safe.
void want_flights(bool wanted) noexcept;

}  // namespace heddle::detail
