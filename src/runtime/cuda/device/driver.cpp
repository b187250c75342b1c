#include "cuda/device/driver.hpp"

#include <algorithm>

namespace heddle::detail::cu {

constinit Api api;  // runtime functions may be called before main()

namespace {

// Required entry points are requested as of this CUDA version, which the types in driver.hpp match.
constexpr unsigned common_version = 12080;

template <class F>
bool look_up(F& function, const char* name, unsigned version = common_version) noexcept {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (api.cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream,
                                             &result) != cudaSuccess) {
        cudaGetLastError();  // clears the error, which is handled here
        return false;
    }
    if (result != cudaDriverEntryPointSuccess || found == nullptr) return false;
    function = reinterpret_cast<F>(found);
    return true;
}

}  // namespace

// The strings are CUDA's plain names, because cuda.h defines some names as macros, and # does not
// expand macros.
bool load_driver(const char*& missing) noexcept {
#define HEDDLE_NEED(name, version)                                                                 \
    if (!look_up(api.name, #name)) {                                                               \
        missing = #name;                                                                           \
        return false;                                                                              \
    }
    HEDDLE_DRIVER_CALLS(HEDDLE_NEED)
#undef HEDDLE_NEED
#define HEDDLE_TRY(name, version)                                                                  \
    look_up(api.name, #name, std::max<unsigned>(version, common_version));
    HEDDLE_OPTIONAL_DRIVER_CALLS(HEDDLE_TRY)
#undef HEDDLE_TRY
    return true;
}

}  // namespace heddle::detail::cu
