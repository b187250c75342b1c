#include "cuda/driver.hpp"

namespace heddle::detail::cu {

constinit Api api;  // runtime functions are called before main()

namespace {

// Functions are found in the form that they had in this version; the types in driver.hpp are those forms.
constexpr unsigned version = 12040;

template <class F> bool look_up(F& function, const char* name) noexcept {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (api.cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableLegacyStream, &result) !=
        cudaSuccess) {
        cudaGetLastError();  // handled here: nobody else shall find it
        return false;
    }
    if (result != cudaDriverEntryPointSuccess || found == nullptr) return false;
    function = reinterpret_cast<F>(found);
    return true;
}

}  // namespace

// The strings are CUDA's plain names: cuda.h makes macros of some, which # does not expand.
bool load_driver(const char*& missing) noexcept {
#define HEDDLE_NEED(name, version)                                                                           \
    if (!look_up(api.name, #name)) {                                                                         \
        missing = #name;                                                                                     \
        return false;                                                                                        \
    }
    HEDDLE_DRIVER_CALLS(HEDDLE_NEED)
#undef HEDDLE_NEED
#define HEDDLE_TRY(name, version) look_up(api.name, #name);
    HEDDLE_OPTIONAL_DRIVER_CALLS(HEDDLE_TRY)
#undef HEDDLE_TRY
    return true;
}

}  // namespace heddle::detail::cu
