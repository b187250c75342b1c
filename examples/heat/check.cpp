#include "check.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>

namespace heat {

namespace {

constexpr std::size_t small = 100'000'000;  // in points times iterations
constexpr double least_norm =
    1e-12;  // norms far below this are inexact: the squares in the tiles are subnormal floats

std::string differing(const char* from, const Problem& problem, std::span<const float> plate,
                      std::span<const float> expected) {
    for (std::size_t i = 0; i < plate.size(); ++i)
        if (std::memcmp(&plate[i], &expected[i], sizeof(float)) != 0) {
            char text[200];
            std::snprintf(text, sizeof text, "column %zu of row %zu is %.9g, and %.9g by %s",
                          i % problem.nx, i / problem.nx, static_cast<double>(plate[i]),
                          static_cast<double>(expected[i]), from);
            return text;
        }
    return {};
}

std::string differing(const char* from, const std::vector<Norm>& norms,
                      const std::vector<Norm>& expected, double tolerance) {
    if (norms.size() != expected.size()) return std::string("there are other norms by ") + from;
    for (std::size_t i = 0; i < norms.size(); ++i) {
        const double value = norms[i].value, other = expected[i].value;
        if (norms[i].iteration == expected[i].iteration &&
            std::abs(value - other) <= tolerance * (other + least_norm))
            continue;
        char text[200];
        std::snprintf(text, sizeof text, "the norm of iteration %d is %.17g, and %.17g by %s",
                      norms[i].iteration, value, other, from);
        return text;
    }
    return {};
}

/// Computes the result by a plain loop on the host.
std::vector<float> loop(const Problem& p, const Course& course, std::span<const float> start,
                        std::vector<Norm>& norms) {
    std::vector<float> from(start.begin(), start.end());
    from.resize(p.nx * p.ny);
    const std::vector<float> sides = p.sides();
    for (std::size_t y = 0; y < p.ny; ++y) from[y * p.nx] = from[(y + 1) * p.nx - 1] = sides[y];
    std::vector<float> to = from;
    for (int k = 1; k <= course.iterations; ++k) {
        double sum = 0;
        for (std::size_t y = 1; y + 1 < p.ny; ++y) {
            const float* here = &from[y * p.nx];
            const float* up = &from[(y == 1 ? p.ny - 2 : y - 1) * p.nx];
            const float* down = &from[(y + 2 == p.ny ? 1 : y + 1) * p.nx];
            for (std::size_t x = 1; x + 1 < p.nx; ++x) {
                const float value = 0.25f * (here[x + 1] + here[x - 1] + down[x] + up[x]);
                to[y * p.nx + x] = value;
                const double change = value - here[x];
                sum += change * change;
            }
        }
        if (course.norm_every != 0 && k % course.norm_every == 0)
            norms.push_back({k, std::sqrt(sum)});
        std::swap(from, to);
    }
    for (std::size_t x = 0; x < p.nx; ++x) {
        from[x] = from[(p.ny - 2) * p.nx + x];
        from[(p.ny - 1) * p.nx + x] = from[p.nx + x];
    }
    return from;
}

}  // namespace

std::string differences(const Problem& problem, Device device, const Course& course,
                        std::span<const float> start, std::span<const float> plate,
                        const std::vector<Norm>& norms) {
    const std::string one = "one strip on " + device.name();
    Solver solver(problem, {.devices = {device}, .overlap = false});
    solver.start(start);
    const Outcome outcome = solver.run({course.iterations, course.norm_every, 0});
    std::string found = differing(one.c_str(), problem, plate, solver.solution());
    if (found.empty()) found = differing(one.c_str(), norms, outcome.norms, 0);
    const std::size_t points = problem.nx * problem.ny;
    if (!found.empty() || points * static_cast<std::size_t>(course.iterations) > small)
        return found;

    std::vector<Norm> expected;
    found = differing("a plain loop", problem, plate, loop(problem, course, start, expected));
    return found.empty() ? differing("a plain loop", norms, expected, 1e-6) : found;
}

}  // namespace heat
