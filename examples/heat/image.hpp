// Images of a plate, as PPM files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "problem.hpp"

namespace heat {

/// Throws std::runtime_error when there is no folder that `file` could be written to.
void check_folder_of(const std::string& file);

/// Writes nx * ny values: 1 is red, 0 white, -1 blue. Throws std::runtime_error.
void write_image(const std::string& file, const Problem& problem, std::span<const float> plate);

/// Reads an image (binary PPM, up to 255 steps) and sets the problem's size to its: how much redder
/// than blue a point is. What write_image wrote comes back, to the nearest 255th. Throws
/// std::runtime_error.
std::vector<float> read_image(const std::string& file, Problem& problem);

}  // namespace heat
