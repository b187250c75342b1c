// bench_bandwidth: copies between devices of one kind.
#pragma once

#include <heddle/device/device.hpp>

#include "report.hpp"

namespace bench {

/// Adds rows for three kinds of copies: from each device to each other device; in both directions
/// at the same time, for each pair; and around a ring of all devices, if there are at least 3. Pool
/// access is enabled, except in one row.
void add_copies_between(Report& report, heddle::DeviceKind kind);

}  // namespace bench
