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

#if defined(HEDDLE_THREAD_SANITIZER)
// libstdc++ counts the owners of an exception in code without instrumentation. So ThreadSanitizer
// does not see that the last owner, which destroys the exception, is ordered after the others. The
// function is weak, so that a program may have suppressions of its own.
extern "C" [[gnu::weak]] const char* __tsan_default_suppressions();  // NOLINT
extern "C" const char* __tsan_default_suppressions() {               // NOLINT
    return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
