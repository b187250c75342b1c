// Observers that heddle registers itself.
#pragma once

namespace heddle {
class Observer;  // heddle/observe/observer.hpp
}

namespace heddle::detail {

/// Adds the observer unless it is registered already. Throws std::bad_alloc. Thread-safe.
void ensure_observer(Observer& observer);

}  // namespace heddle::detail
