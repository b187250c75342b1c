// Reports CUPTI's records, and the times of operations that have ended.
#include <string>

#include "cuda/device/backend.hpp"
#include "cuda/timing/cupti.hpp"
#include "cuda/timing/timing.hpp"

namespace heddle::detail::cu {

void CudaBackend::tell_ended_runs() noexcept { tell_timed_ops(); }
std::string CudaBackend::begin_records() { return begin_cupti(); }
void CudaBackend::end_records() noexcept { end_cupti(); }
RecordCounts CudaBackend::record_counts() noexcept { return cupti_counts(); }

}  // namespace heddle::detail::cu
