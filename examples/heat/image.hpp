// Images of a plate, as PPM files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "problem.hpp"

namespace heat {

/// Throws std::runtime_error if the folder for `file` does not exist.
void check_folder_of(const std::string& file);

/// Writes nx * ny values: 1 is red, 0 is white, -1 is blue. Throws std::runtime_error on failure.
void write_image(const std::string& file, const Problem& problem, std::span<const float> plate);

/// Reads an image (binary PPM, up to 255 steps). Sets the problem's size to that of the image.
/// Returns the difference of red and blue for each point. For an image of write_image(), these are
/// the written values, to the nearest 255th. Throws std::runtime_error on failure.
std::vector<float> read_image(const std::string& file, Problem& problem);

}  // namespace heat
