// Observers that heddle registers itself.
#pragma once

namespace heddle {
class Observer;  // heddle/observe/observer.hpp
}

namespace heddle::detail {

/// Adds the observer unless it is registered already. Throws std::bad_alloc. Thread-safe.
void ensure_observer(Observer& observer);
/// Switches the noting of operations on or off (core/observe/flight.hpp). Thread-safe.
void want_flights(bool wanted) noexcept;

}  // namespace heddle::detail
