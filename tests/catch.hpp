// Includes Catch2, version 2.13 or 3. Tests include this header, and no header of Catch2 itself.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#if defined(__CUDACC__) && !defined(__clang__)
// Catch2 3 puts nv_diagnostic pragmas around each assertion. With these, cudafe++ of CUDA 13.0 does
// not terminate for some tests (launch/held_views_test.cpp).
#undef CATCH_INTERNAL_START_WARNINGS_SUPPRESSION
#undef CATCH_INTERNAL_STOP_WARNINGS_SUPPRESSION
#undef CATCH_INTERNAL_SUPPRESS_UNUSED_VARIABLE_WARNINGS
#define CATCH_INTERNAL_START_WARNINGS_SUPPRESSION
#define CATCH_INTERNAL_STOP_WARNINGS_SUPPRESSION
#define CATCH_INTERNAL_SUPPRESS_UNUSED_VARIABLE_WARNINGS
#endif
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace heddle_test {

#if __has_include(<catch2/catch_all.hpp>)
using Approx = Catch::Approx;
inline auto contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
using Approx = Catch::Detail::Approx;
inline auto contains(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif

/// Records that the running test was skipped, and the reason. main() prints the list at the end.
/// Defined in main.cpp.
void note_skip(const std::string& reason);

}  // namespace heddle_test

// Leaves the test case and marks it as skipped. The reason is a string. Catch2 2.13 cannot skip
// tests. With it, the test passes, and the list at the end of the run shows the reason. Use this
// macro directly in the body of a test case.
#define HEDDLE_SKIP(reason)                                                                        \
    do {                                                                                           \
        ::heddle_test::note_skip(reason);                                                          \
        SUCCEED("skipped: " << (reason));                                                          \
        return;                                                                                    \
    } while (false)
