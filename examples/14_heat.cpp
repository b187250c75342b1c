// Heat on a plate: Jacobi iterations on a grid that is divided into strips, one for each device.
// High-priority streams send halo rows to the neighbours while the inside is computed. Norms reach
// the host without blocking it. Groups of iterations can be graphs or batches on several devices.
// The parts are in heat/; begin with solver.cpp. Usage: example_14_heat --help
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "heat/check.hpp"
#include "heat/image.hpp"
#include "heat/options.hpp"
#include "heat/solver.hpp"

namespace {

using namespace heat;

void print(const Options& o, const Solver& solver, const Outcome& result,
           const std::vector<double>& runs, double copy_seconds) {
    std::string devices, quoted, of_runs;
    for (const double seconds : runs)
        of_runs += (of_runs.empty() ? "" : ", ") + std::to_string(seconds);
    for (const Strip& s : solver.strips()) {
        devices += (devices.empty() ? "" : ", ") + s.device.name();
        quoted += (quoted.empty() ? "\"" : ", \"") + s.device.name() + "\"";
    }
    const double points = static_cast<double>(o.problem.nx) * static_cast<double>(o.problem.ny);
    const double each = result.iterations == 0 ? 0 : result.seconds / result.iterations;
    const double rate =
        each == 0 ? 0
                  : points * 2 * sizeof(float) / each * 1e-9;  // points are read and written once
    const double norm = result.norms.empty() ? 0 : result.norms.back().value;
    if (o.json)
        std::printf("{\"nx\": %zu, \"ny\": %zu, \"devices\": [%s], \"halo\": \"%s\", \"overlap\": "
                    "%s, \"scoped\": %s, \"graph\": %d, \"batch\": %d, "
                    "\"iterations\": %d, \"norm_every\": %d, \"seconds\": %.6g, \"runs\": [%s], "
                    "\"gb_per_s\": %.6g, "
                    "\"norms\": %zu, \"norm\": %.9g, \"copy_seconds\": %.6g}\n",
                    o.problem.nx, o.problem.ny, quoted.c_str(), o.plan.direct ? "direct" : "copy",
                    o.plan.overlap ? "true" : "false", o.plan.scoped ? "true" : "false",
                    o.plan.graph, o.plan.batch, result.iterations, o.course.norm_every,
                    result.seconds, of_runs.c_str(), rate, result.norms.size(), norm, copy_seconds);
    else
        std::printf("%zu x %zu on %s: %d iterations in %.4f s, %.1f GB/s, %.2f of the speed of "
                    "copying; last "
                    "norm %.6g\n",
                    o.problem.nx, o.problem.ny, devices.c_str(), result.iterations, result.seconds,
                    rate, each == 0 ? 0 : copy_seconds / each, norm);
}

int run(Options o) {
    if (!o.output.empty()) check_folder_of(o.output);  // checked before the long run
    std::vector<float> start;
    if (!o.input.empty()) start = read_image(o.input, o.problem);

    Solver solver(o.problem, o.plan);
    Outcome result;
    std::vector<double> runs;
    for (int i = 0; i < o.runs; ++i) {
        solver.start(start);
        Outcome one = solver.run(o.course);
        runs.push_back(one.seconds);
        if (i == 0 || one.seconds < result.seconds) result = std::move(one);
    }
    std::vector<float> plate;
    if (o.check || !o.output.empty()) plate = solver.solution();
    print(o, solver, result, runs, solver.copy_seconds());

    if (!o.output.empty()) write_image(o.output, o.problem, plate);
    if (!o.check) return 0;
    o.course.iterations = result.iterations;
    const std::string wrong =
        differences(o.problem, o.plan.devices.front(), o.course, start, plate, result.norms);
    std::fprintf(stderr, "check: %s\n", wrong.empty() ? "equal" : wrong.c_str());
    return wrong.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::optional<heat::Options> options = heat::parse(argc, argv);
        return options ? run(*options) : 0;
    } catch (const heat::WrongUsage& error) {
        std::fprintf(stderr, "example_14_heat: %s (more: --help)\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "example_14_heat: %s\n", error.what());
        return 1;
    }
}
