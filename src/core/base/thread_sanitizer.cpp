#include "core/base/thread_sanitizer.hpp"

#include <string_view>

#include "core/base/environment.hpp"

namespace heddle::detail::tsan {

bool is_wanted() noexcept {
    static const bool wanted = [] {
        const char* const text = value_of(Variable::tsan_streams);
        return text == nullptr || std::string_view(text) != "0";
    }();
    return wanted;
}

}  // namespace heddle::detail::tsan
