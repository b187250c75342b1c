// Names of kernels: the form that compilers produce, and the form for people.
#include "core/base/kernel_name.hpp"

#include "catch.hpp"

using heddle::detail::kept_kernel_name;
using heddle::detail::kernel_name;
using heddle::detail::readable_kernel_name;

TEST_CASE("a kernel's name is found in its operation's type") {
    CHECK(
        kernel_name("void PortableOp<K, N, P>::pretty() [with K = my::Scale<float>; int N = 1]") ==
        "my::Scale<float>");
    CHECK(kernel_name("void PortableOp<Scale, 1>::pretty() [K = Scale, N = 1]") == "Scale");
    CHECK(kernel_name("Scale") == "Scale");
    CHECK(kernel_name("") == "");
}

TEST_CASE("a mangled name is read, without types") {
    CHECK(readable_kernel_name("scale") == "scale");
    CHECK(readable_kernel_name("_Z_no") == "_Z_no");
    CHECK(readable_kernel_name("_Z5scalePf") == "scale");
    CHECK(readable_kernel_name("_ZN2my5scaleIfEEvPT_") == "my::scale<float>");
    CHECK(readable_kernel_name("_Z5applyIFvPfEEvT_i") == "apply<void (float*)>");
    CHECK(readable_kernel_name("_ZN12_GLOBAL__N_11kEi") == "(anonymous namespace)::k");
    CHECK(kernel_name("_ZN2my5scaleIfEEvPT_") == "my::scale<float>");
    CHECK(kernel_name("void pretty() [with K = my::_GLOBAL__N__1dae_15_hash::Hash<4>]") ==
          "my::Hash<4>");
}

TEST_CASE("heddle's own kernels are named by what they do") {
    CHECK(kernel_name("f() [with K = heddle::detail::Reduce<float, heddle::detail::Sum, false>]") ==
          "sum of a collective (float)");
    CHECK(kernel_name("f() [with K = heddle::detail::Reduce<float, heddle::detail::Sum, true>]") ==
          "average of a collective (float)");
    CHECK(kernel_name("f() [K = heddle::detail::Reduce<heddle::detail::Float16, "
                      "heddle::detail::Max, false>]") == "maximum of a collective (Float16)");
    CHECK(kernel_name("f() [with K = heddle::detail::{anonymous}::Fetch]") ==
          "copy of a collective");
    CHECK(kernel_name("f() [with K = heddle::detail::Other]") == "heddle::detail::Other");
}

TEST_CASE("a kept name is made once") {
    const char* const first = kept_kernel_name("void f() [with K = kept::Once]");
    CHECK(std::string(first) == "kept::Once");
    const std::string again = "void f() [with K = kept::Once]";
    CHECK(kept_kernel_name(again.c_str()) == first);
}
