// Replaces cuda/cupti in a build without CUPTI's headers.
#include "cuda/timing/cupti.hpp"

namespace heddle::detail::cu {

namespace {
constexpr const char* reason = "heddle was built without CUPTI's headers";
}

std::string begin_cupti() { return reason; }
RuntimePart cupti_part() { return {.name = "CUPTI", .found = {}, .problem = reason}; }
void end_cupti() noexcept {}
void push_cupti_id(std::uint64_t) noexcept {}
void pop_cupti_id() noexcept {}
void tell_cupti_runs() noexcept {}
RecordCounts cupti_counts() noexcept { return {}; }

}  // namespace heddle::detail::cu
