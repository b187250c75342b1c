// The solver: iterations over strips on several devices.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <heddle/heddle.hpp>

#include "norms.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "strip.hpp"

namespace heat {

struct Outcome {
    int iterations = 0;
    double seconds = 0;  ///< time from the first iteration until all norms were read
    std::vector<Norm> norms;
};

class Solver {
public:
    Solver(const Problem& problem, const Plan& plan);

    /// Starts from these nx * ny values, or from zero if `plate` is empty.
    void start(std::span<const float> plate = {});
    /// Runs the iterations. Call once after each start().
    Outcome run(const Course& course);
    /// Returns the nx * ny values, row by row.
    std::vector<float> solution();
    /// Returns the time to copy the grid on all devices at once, which moves as many bytes as an
    /// iteration. Overwrites the grid.
    double copy_seconds();

    const std::vector<Strip>& strips() const { return strips_; }

private:
    Strip& strip(std::size_t index) { return strips_[index % strips_.size()]; }
    StreamRef first_stream() const { return strips_.front().inside; }
    std::vector<StreamRef> sum_streams() const;
    void fork();
    void join();
    void step(int iteration, std::optional<int> slot);
    void step_in_scopes(int iteration, std::optional<int> slot);
    void relax_edges(Strip& of, int parity, View<float> tiles);
    void send_halos(Strip& from, int parity);
    View<float> halo_above(const Strip& of, int parity), halo_below(const Strip& of, int parity);
    void enqueue_group(int done, int norm_every);
    heddle::Graph& graph_from(int done, int norm_every);
    void launch_group(int done, int norm_every);
    /// Returns the slot of the first norm of the group after `done`.
    int first_slot(int done) const { return done / plan_.group() % 2 * plan_.group(); }

    Problem problem_;
    Plan plan_;
    std::vector<float> sides_;
    std::vector<Strip> strips_;
    Norms norms_;
    int turn_ = 0;  ///< index of the current set of tiles
    int parity_ = 0;
    std::map<std::array<int, 3>, heddle::Graph> graphs_;
    heddle::Batch batch_{{.on_cpu = true}};
};

}  // namespace heat
