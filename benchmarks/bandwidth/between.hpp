// bench_bandwidth: copies between devices of one kind.
#pragma once

#include <heddle/device/device.hpp>

#include "report.hpp"

namespace bench {

/// Adds rows for copies from every device to every other, both ways at once for every pair, and
/// around a ring of all (3 or more). Pool access is enabled, except in one row.
void add_copies_between(Report& report, heddle::DeviceKind kind);

}  // namespace bench
