// bench_cpu: rows for several numbers of threads.
#pragma once

#include "report.hpp"

namespace bench {

/// Adds rows for the triad by 1, 2, 4, ... threads, and by one for each processor. The arrays are
/// long, or fit into caches. A process reads HEDDLE_CPU_THREADS only once, so each number has its
/// own process, which measures both ways. Call this function before this process uses heddle or
/// OpenMP.
void add_triads(Report& report);

}  // namespace bench
