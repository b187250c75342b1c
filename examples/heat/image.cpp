#include "image.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace heat {

namespace {

/// Skips white space and comments, then reads a number of the header and one white-space character.
std::size_t header_number(std::istream& in, const std::string& file) {
    while (std::isspace(in.peek()) || in.peek() == '#')
        if (in.get() == '#')
            while (in && in.get() != '\n') {}
    std::size_t value = 0;
    if (!(in >> value) || !std::isspace(in.get()))
        throw std::runtime_error(file + " is no PPM image");
    return value;
}

}  // namespace

void check_folder_of(const std::string& file) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error))
        throw std::runtime_error("cannot write " + file + ": there is no folder " +
                                 folder.string());
}

void write_image(const std::string& file, const Problem& problem, std::span<const float> plate) {
    std::ofstream out(file, std::ios::binary);
    out << "P6\n" << problem.nx << ' ' << problem.ny << "\n255\n";
    std::vector<char> row(3 * problem.nx);
    for (std::size_t y = 0; y < problem.ny && out; ++y) {
        for (std::size_t x = 0; x < problem.nx; ++x) {
            const float value = std::clamp(plate[y * problem.nx + x], -1.0f, 1.0f);
            const auto pale = static_cast<char>(std::lround(255 * (1 - std::abs(value))));
            row[3 * x] = value < 0 ? pale : static_cast<char>(255);
            row[3 * x + 1] = pale;
            row[3 * x + 2] = value > 0 ? pale : static_cast<char>(255);
        }
        out.write(row.data(), static_cast<std::streamsize>(row.size()));
    }
    if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

std::vector<float> read_image(const std::string& file, Problem& problem) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file);
    if (in.get() != 'P' || in.get() != '6') throw std::runtime_error(file + " is no PPM image");
    problem.nx = header_number(in, file);
    problem.ny = header_number(in, file);
    const std::size_t steps = header_number(in, file);
    constexpr std::size_t most = 1 << 16;
    if (problem.nx < 3 || problem.ny < 3 || problem.nx > most || problem.ny > most || steps < 1 ||
        steps > 255)
        throw std::runtime_error(
            file + ": images are 3 to 65536 points wide and high, with up to 255 steps");
    std::vector<float> plate(problem.nx * problem.ny);
    std::vector<char> row(3 * problem.nx);
    for (std::size_t y = 0; y < problem.ny; ++y) {
        if (!in.read(row.data(), static_cast<std::streamsize>(row.size())))
            throw std::runtime_error(file + " ends too soon");
        for (std::size_t x = 0; x < problem.nx; ++x) {
            const int red = static_cast<unsigned char>(row[3 * x]),
                      blue = static_cast<unsigned char>(row[3 * x + 2]);
            plate[y * problem.nx + x] = static_cast<float>(red - blue) / static_cast<float>(steps);
        }
    }
    return plate;
}

}  // namespace heat
