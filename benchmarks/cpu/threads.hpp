// bench_cpu: rows for several numbers of threads.
#pragma once

#include "report.hpp"

namespace bench {

/// Adds rows for the triad with 1, 2, 4, ... threads, and with as many threads as processors. The
/// arrays are long, or fit into caches. heddle reads HEDDLE_CPU_THREADS only once, so a separate
/// process measures each number of threads, with heddle and with OpenMP. Call before this process
/// uses heddle or OpenMP.
void add_triads(Report& report);

}  // namespace bench
