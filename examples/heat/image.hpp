// Images of a plate, as PPM files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "problem.hpp"

namespace heat {

/// Throws std::runtime_error if the folder of `file` does not exist.
void check_folder_of(const std::string& file);

/// Writes nx * ny values: 1 is red, 0 white, -1 blue. Throws std::runtime_error if it fails.
void write_image(const std::string& file, const Problem& problem, std::span<const float> plate);

/// Reads an image (binary PPM, up to 255 steps) and sets the problem's size to the image's. Returns
/// how much redder than blue each point is: the values passed to write_image, to the nearest 255th.
/// Throws std::runtime_error if it fails.
std::vector<float> read_image(const std::string& file, Problem& problem);

}  // namespace heat
