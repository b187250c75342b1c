#include "core/base/thread_sanitizer.hpp"

#include <cstdlib>
#include <string_view>

namespace heddle::detail::tsan {

bool is_wanted() noexcept {
    static const bool wanted = [] {
        const char* const text = std::getenv("HEDDLE_TSAN_STREAMS");
        return text == nullptr || std::string_view(text) != "0";
    }();
    return wanted;
}

}  // namespace heddle::detail::tsan
