// Runs the iterations. A group of them is a graph or a batch; others are launched one by one.
#include "solver.hpp"

#include <algorithm>
#include <chrono>

namespace heat {

namespace hd = heddle;

/// Enqueues the group of iterations after `done`, and joins all streams with the first one. Two
/// sets of slots for norms are used in turn, so that the host can read one set while a group writes
/// the other.
void Solver::enqueue_group(int done, int norm_every) {
    fork();
    for (int i = 0; i < plan_.group(); ++i) {
        const bool norm = norm_every != 0 && (done + i + 1) % norm_every == 0;
        step(i, norm ? std::optional(first_slot(done) + i) : std::nullopt);
    }
    join();
}

/// Returns the graph for the iterations after `done`. Graphs differ in which iterations compute a
/// norm, and in the slots for the norms.
hd::Graph& Solver::graph_from(int done, int norm_every) {
    const int to_norm =
        norm_every == 0 ? plan_.graph : std::min(plan_.graph, norm_every - 1 - done % norm_every);
    hd::Graph& graph = graphs_[{norm_every, to_norm, to_norm < plan_.graph ? first_slot(done) : 0}];
    if (!graph) {
        graph = hd::capture(first_stream(), [&] { enqueue_group(done, norm_every); });
        graph.instantiate();
        graph.upload(first_stream());
    }
    return graph;
}

void Solver::launch_group(int done, int norm_every) {
    const int first = first_slot(done);
    for (int i = 0; i < plan_.group(); ++i) norms_.make_free(first + i);
    if (plan_.graph != 0) graph_from(done, norm_every).launch(first_stream());
    else batch_.run(first_stream(), [&] { enqueue_group(done, norm_every); });
    Norms::Points end;
    for (int i = 0; i < plan_.group(); ++i)
        if (norm_every != 0 && (done + i + 1) % norm_every == 0) {
            if (end == nullptr) end = Norms::here({first_stream()});
            norms_.expect(first + i, done + i + 1, end);
        }
}

std::vector<hd::StreamRef> Solver::sum_streams() const {
    std::vector<hd::StreamRef> streams;
    for (const Strip& s : strips_) streams.push_back(s.sums);
    return streams;
}

Outcome Solver::run(const Course& course) {
    using clock = std::chrono::steady_clock;
    const auto group_fits = [&](int done) {
        return plan_.group() != 0 && course.iterations - done >= plan_.group();
    };
    for (int done = 0; plan_.graph != 0 && group_fits(done); done += plan_.graph)
        graph_from(done, course.norm_every);
    const std::vector<hd::StreamRef> sums = sum_streams();
    for (const Strip& s : strips_) s.inside.synchronize();

    const auto begin = clock::now();
    std::size_t seen = 0;
    bool enough = false;
    const auto look = [&] {  // reads norms that have arrived, without waiting
        if (course.tolerance <= 0) return;
        for (norms_.look(); seen < norms_.seen().size(); ++seen)
            enough = enough || norms_.seen()[seen].value < course.tolerance;
    };
    int done = 0;
    for (; group_fits(done) && !enough; done += plan_.group()) {
        launch_group(done, course.norm_every);
        look();
    }
    fork();
    for (int slot = 0; done < course.iterations && !enough; ++done) {
        if (course.norm_every == 0 || (done + 1) % course.norm_every != 0) {
            step(done, {});
            continue;
        }
        norms_.make_free(slot);
        step(done, slot);
        norms_.expect(slot, done + 1, Norms::here(sums));
        slot = (slot + 1) % norms_.slots();
        look();
    }
    join();
    first_stream().synchronize();
    norms_.finish();
    const std::chrono::duration<double> took = clock::now() - begin;
    parity_ = done % 2;
    return {done, took.count(), norms_.seen()};
}

double Solver::copy_seconds() {
    using clock = std::chrono::steady_clock;
    constexpr int copies = 10, trials = 3;
    double best = 0;
    for (int trial = 0; trial < trials; ++trial) {
        const auto begin = clock::now();
        for (int i = 0; i < copies; ++i)
            for (Strip& s : strips_) hd::copy(s.inside, s.grid[1 - i % 2], s.grid[i % 2]);
        for (Strip& s : strips_) s.inside.synchronize();
        const std::chrono::duration<double> took = clock::now() - begin;
        if (trial == 0 || took.count() / copies < best) best = took.count() / copies;
    }
    return best;
}

}  // namespace heat
