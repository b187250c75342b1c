// bench_cpu: rows for several numbers of threads.
#pragma once

#include "report.hpp"

namespace bench {

/// Adds the triad by 1, 2, 4, ... threads and by as many as there are processors, with arrays in
/// caches and long ones. A process reads HEDDLE_CPU_THREADS once, so each number has a
/// process of its own, which measures both sides. Call it before this process uses heddle
/// or OpenMP.
void add_triads(Report& report);

}  // namespace bench
