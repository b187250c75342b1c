// bench_cpu: rows for several numbers of threads.
#pragma once

#include "report.hpp"

namespace bench {

/// The triad by 1, 2, 4, ... threads and by as many as there are processors, of arrays that fit
/// caches and of long ones. HEDDLE_CPU_THREADS is read once by a process, so each number has a
/// process of its own, in which both sides are measured. Only before this process has used heddle
/// or OpenMP.
void add_triads(Report& report);

}  // namespace bench
