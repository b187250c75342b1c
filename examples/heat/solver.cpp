// The waits between streams. U(k) is the grid after k iterations. It is in grid[0] if k is even,
// and in grid[1] if k is odd. Every strip has two streams, which compute U(k+1) concurrently:
//
//   edges   the first and last band, and the neighbours' halo rows; high priority
//   inside  all other bands
//
// In iteration k, a stream waits for two kinds of work of iteration k-1: work that wrote the values
// of U(k) which the stream reads, and work that read the values of U(k-1) which the stream
// overwrites.
//
//   stream  waits for              reads of U(k)            overwrites of U(k-1)
//   edges   the neighbours' edges  the halos                the neighbours' halos
//           its own inside         the rows next to edges   its own edges
//   inside  its own edges          the rows next to inside  its own rows
//
// So the waits that the reads need also order the writes. No stream waits for a whole iteration.
// Devices are at most one iteration apart, so one event for each stream and parity is enough. A
// third stream adds the norms, after the other two streams. Tiles are overwritten four norms later,
// once they have been added. The third stream has a higher priority than `inside`: the next
// iteration's inside would delay it otherwise.
#include "solver.hpp"

#include <algorithm>
#include <stdexcept>

namespace heat {

namespace hd = heddle;

namespace {

constexpr int least_slots = 64;  // the least number of norms that can be in flight

std::size_t bands_of(const Problem& problem) {
    return (problem.rows() + band_rows - 1) / band_rows;
}

/// Enables neighbours to access each other's memory. Kernels that store into a neighbour's memory
/// need this access, and copies between GPUs are faster with it.
void open_ways(const std::vector<Strip>& strips, bool needed) {
    for (std::size_t i = 0; i < strips.size(); ++i) {
        const hd::Device a = strips[i].device, b = strips[(i + 1) % strips.size()].device;
        if (a == b) continue;
        if (a.can_access_peer(b) && b.can_access_peer(a)) {
            hd::enable_pool_access(a, b);
            hd::enable_pool_access(b, a);
        } else if (needed)
            throw std::runtime_error(a.name() + " and " + b.name() +
                                     " cannot reach each other's memory: halos have to be copied");
    }
}

}  // namespace

Solver::Solver(const Problem& problem, const Plan& plan)
    : problem_(problem), plan_(plan), sides_(problem.sides()),
      norms_(bands_of(problem), std::max(least_slots, 2 * plan.group())) {
    const std::size_t bands = bands_of(problem), count = std::min(bands, plan.devices.size());
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = i * bands / count, last = (i + 1) * bands / count;
        strips_.emplace_back(plan.devices[i], problem, first, last - first, plan.overlap);
    }
    open_ways(strips_, plan.direct);
}

void Solver::start(std::span<const float> plate) {
    for (Strip& s : strips_) s.start(sides_, plate);
    for (Strip& s : strips_) send_halos(s, 0);
    for (Strip& s : strips_) s.edges.synchronize();
    norms_.clear();
}

hd::View<float> Solver::halo_above(const Strip& of, int parity) {
    Strip& above = strip(static_cast<std::size_t>(&of - strips_.data()) + strips_.size() - 1);
    return above.row(parity, above.shape.height + 1);
}
hd::View<float> Solver::halo_below(const Strip& of, int parity) {
    return strip(static_cast<std::size_t>(&of - strips_.data()) + 1).row(parity, 0);
}

void Solver::send_halos(Strip& from, int parity) {
    hd::copy(from.edges, halo_above(from, parity), from.row(parity, 1));
    hd::copy(from.edges, halo_below(from, parity), from.row(parity, from.shape.height));
}

/// Orders all streams after the first stream's work so far. Records all events at that point.
void Solver::fork() {
    const hd::Event begin = first_stream().record_event();
    for (Strip& s : strips_) {
        for (const hd::StreamRef stream :
             {hd::StreamRef(s.inside), hd::StreamRef(s.edges), hd::StreamRef(s.sums)})
            stream.wait_event(begin);
        for (const int parity : {0, 1}) {
            s.inside.record_event(s.inside_done[parity]);
            s.edges.record_event(s.edges_done[parity]);
        }
        for (hd::Event& summed : s.summed) s.sums.record_event(summed);
    }
    turn_ = 0;
}

void Solver::join() {
    for (const Strip& s : strips_)
        for (const hd::StreamRef stream :
             {hd::StreamRef(s.inside), hd::StreamRef(s.edges), hd::StreamRef(s.sums)})
            first_stream().wait_stream(stream);
}

/// Computes a strip's edges, and the neighbours' halo rows that are copies of them.
void Solver::relax_edges(Strip& s, int now, hd::View<float> tiles) {
    const int before = 1 - now;
    if (plan_.direct) {
        s.relax(s.edges, now, s.edges_part, halo_above(s, before), halo_below(s, before), tiles);
    } else {
        s.relax(s.edges, now, s.edges_part, {}, {}, tiles);
        send_halos(s, before);
    }
    s.edges.record_event(s.edges_done[now]);
}

/// Enqueues the iteration with scopes. The scope of the edges waits for the previously current
/// stream, which is the stream of the inside. All other waits are explicit.
void Solver::step_in_scopes(int iteration, std::optional<int> slot) {
    const int now = iteration % 2, before = 1 - now;
    for (std::size_t i = 0; i < strips_.size(); ++i) {
        Strip &s = strips_[i], &above = strip(i + strips_.size() - 1), &below = strip(i + 1);
        const hd::View<float> tiles = slot ? s.tiles[turn_].view() : hd::View<float>();

        // The previously current stream has no work, so no wait is needed.
        const hd::ScopedStream inside{s.inside, {.wait_on_enter = false}};
        if (slot) hd::wait_event(s.summed[turn_]);
        {
            const hd::ScopedStream edges{s.edges};
            hd::wait_event(above.edges_done[before]);
            hd::wait_event(below.edges_done[before]);
            relax_edges(s, now, tiles);
        }
        if (s.inside_part.count != 0) {
            hd::wait_event(s.edges_done[before]);
            s.relax(s.inside, now, s.inside_part, {}, {}, tiles);
        }
        if (slot) {
            const hd::ScopedStream sums{s.sums};
            hd::wait_event(s.edges_done[now]);
            s.add(s.sums, turn_, norms_.sums(*slot).subview(s.first_band, s.shape.bands()));
            hd::record_event(s.summed[turn_]);
        }
    }
    if (slot) turn_ = (turn_ + 1) % turns;
}

/// Enqueues one iteration on all strips. If `slot` has a value, the iteration's norm is stored in
/// that slot.
void Solver::step(int iteration, std::optional<int> slot) {
    if (plan_.scoped) return step_in_scopes(iteration, slot);
    const int now = iteration % 2, before = 1 - now;
    const bool norm = slot.has_value();
    for (std::size_t i = 0; i < strips_.size(); ++i) {
        Strip &s = strips_[i], &above = strip(i + strips_.size() - 1), &below = strip(i + 1);
        const bool has_inside = s.inside_part.count != 0;

        const hd::View<float> tiles = norm ? s.tiles[turn_].view() : hd::View<float>();
        if (norm) s.edges.wait_event(s.summed[turn_]);
        if (has_inside) s.edges.wait_event(s.inside_done[before]);
        s.edges.wait_event(above.edges_done[before]);
        s.edges.wait_event(below.edges_done[before]);
        relax_edges(s, now, tiles);

        if (has_inside) {
            if (norm) s.inside.wait_event(s.summed[turn_]);
            s.inside.wait_event(s.edges_done[before]);
            s.relax(s.inside, now, s.inside_part, {}, {}, tiles);
            s.inside.record_event(s.inside_done[now]);
        }

        if (norm) {
            s.sums.wait_event(s.edges_done[now]);
            if (has_inside) s.sums.wait_event(s.inside_done[now]);
            s.add(s.sums, turn_, norms_.sums(*slot).subview(s.first_band, s.shape.bands()));
            s.sums.record_event(s.summed[turn_]);
        }
    }
    if (norm) turn_ = (turn_ + 1) % turns;
}

std::vector<float> Solver::solution() {
    std::vector<float> plate(problem_.nx * problem_.ny);
    for (Strip& s : strips_) s.read(parity_, plate);
    const auto row = [&](std::size_t r) {
        return plate.begin() + static_cast<std::ptrdiff_t>(r * problem_.nx);
    };
    std::copy_n(row(problem_.ny - 2), problem_.nx, row(0));
    std::copy_n(row(1), problem_.nx, row(problem_.ny - 1));
    return plate;
}

}  // namespace heat
