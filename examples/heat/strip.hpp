// A strip of the grid, and a device's work on it.
#pragma once

#include <cstddef>
#include <span>

#include <heddle/heddle.hpp>

#include "kernels.hpp"
#include "problem.hpp"

namespace heat {

using heddle::Array;
using heddle::Device;
using heddle::Event;
using heddle::Stream;
using heddle::StreamRef;

/// The number of sets of tiles, used in turn. With n sets, n norms can be in flight.
inline constexpr int turns = 4;

/// Bands [first_band, first_band + bands) of the problem, on one device. Iteration k reads grid[k %
/// 2], and writes the other grid.
///
/// Each event is recorded after the newest iteration of the event's parity. solver.cpp describes
/// the waits between streams.
struct Strip {
    Strip(Device device, const Problem& problem, std::size_t first_band, std::size_t bands,
          bool overlap);

    /// Sets the initial values to the strip's part of `plate`, or to zero if `plate` is empty.
    /// Waits for completion.
    void start(std::span<const float> sides, std::span<const float> plate);
    /// Copies the rows of this strip to the whole plate. Waits for completion.
    void read(int parity, std::span<float> plate);

    /// Enqueues one iteration for some bands. Also writes the outermost rows to `above` and
    /// `below`, and the tiles' sums to `of_tiles`, unless these views are empty.
    void relax(StreamRef stream, int parity, const Bands& part, View<float> above,
               View<float> below, View<float> of_tiles);
    /// Adds the tiles of set `turn`. sums[i] becomes the sum of band i. The device must be able to
    /// access `sums`.
    void add(StreamRef stream, int turn, View<double> sums);

    /// Returns how many columns a tile has on this device.
    std::size_t width() const { return device.is_cpu() ? cpu_width : gpu_width; }
    View<float> row(int parity,
                    std::size_t index);  ///< with its padding; rows 0 and height + 1: halos

    heddle::View2D<float> points(int parity);

    Device device;
    std::size_t first_band;
    std::size_t first_row;  ///< number of the strip's first row in the problem
    Shape shape;
    Bands edges_part, inside_part;
    Stream inside, edges, sums;
    Array<float> grid[2];
    Array<float> tiles[turns];  ///< sums of squared changes
    Array<double> parts;        ///< sums of the tiles
    Event inside_done[2], edges_done[2], summed[turns];
};

}  // namespace heat
