// Memory behind an array, in which AddressSanitizer detects accesses.
#include "support.hpp"

#include <cstddef>

using namespace heddle_test;

extern "C" [[gnu::weak]] int __asan_address_is_poisoned(const volatile void* address);

namespace {
/// Returns whether AddressSanitizer accepts accesses to the array, and rejects accesses behind its
/// end.
bool ends_there(const Array<std::byte>& x) {
    const std::byte* const end = x.data() + x.size();
    const auto is_poisoned = [](const std::byte* at) {
        return __asan_address_is_poisoned(at) != 0;
    };
    if (is_poisoned(x.data()) || is_poisoned(end - 1)) return false;
    for (std::size_t i = 0; i < 200; ++i)
        if (!is_poisoned(end + i)) return false;
    return true;
}
}  // namespace

TEST_CASE("AddressSanitizer finds accesses behind arrays of all sizes") {
    if (__asan_address_is_poisoned == nullptr)
        HEDDLE_SKIP("the program is compiled without AddressSanitizer");
    const Stream s(cpu_device());
    for (const std::size_t bytes : {1u, 63u, 64u, 1000u, 4000u, 4096u, 100'000u, 131'072u}) {
        INFO(bytes << " bytes");
        {
            const Array<std::byte> x(s, bytes);
            CHECK(ends_there(x));
        }
        s.synchronize();
        // May reuse the memory of `x`.
        const Array<std::byte> again(s, bytes > 64 ? bytes - 1 : bytes);
        CHECK(ends_there(again));
    }
    CHECK(ends_there(pageable<std::byte>(1000)));
}
