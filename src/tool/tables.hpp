#pragma once

// Prints text and tables to standard output.

#include <cstddef>
#include <string>
#include <vector>

#include <heddle/device/device.hpp>

namespace heddle::tool {

using Row = std::vector<std::string>;

/// Ignores errors: at the end, output_written() detects lost output.
void print(const std::string& text);

/// Prints rows in aligned columns. The first row holds the titles.
void print_table(const std::vector<Row>& rows);

/// Formats a size in GiB. Returns "?" for 0, which means unknown.
std::string gibibytes(std::size_t bytes);

/// Returns all devices of a kind.
std::vector<Device> devices_of(DeviceKind kind);

/// For each kind with several devices, prints an empty line, and a table: for each pair of devices,
/// whether one can access the memory of the other.
void print_access();

}  // namespace heddle::tool
