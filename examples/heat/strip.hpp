// A strip of the grid, and the work of a device on it.
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

/// Sets of tiles, used in turn: so many norms may be in flight before an iteration waits for one.
inline constexpr int turns = 4;

/// Bands [first_band, first_band + bands) of the problem on one device. Iteration k reads grid[k %
/// 2] and writes the other one.
///
/// The events record the completion of each parity's newest iteration. See solver.cpp for the waits
/// between streams.
struct Strip {
    Strip(Device device, const Problem& problem, std::size_t first_band, std::size_t bands,
          bool overlap);

    /// Sets the first values: those of the whole plate, or zero if there are none. Waits for it.
    void start(std::span<const float> sides, std::span<const float> plate);
    /// Copies this strip's rows into the plate. Waits for it.
    void read(int parity, std::span<float> plate);

    /// Enqueues one iteration on some bands. Also writes the outer rows to `above` and `below`, and
    /// the tiles' sums to `of_tiles`, unless these are empty.
    void relax(StreamRef stream, int parity, const Bands& part, View<float> above,
               View<float> below, View<float> of_tiles);
    /// Adds the tiles of that turn: sums[i] is band i's, in memory that the device can access.
    void add(StreamRef stream, int turn, View<double> sums);

    /// Returns the columns of a tile on this device.
    std::size_t width() const { return device.is_cpu() ? cpu_width : gpu_width; }
    View<float> row(int parity,
                    std::size_t index);  ///< to the next row; rows 0 and height + 1 are the halos

    heddle::View2D<float> points(int parity);

    Device device;
    std::size_t first_band;
    std::size_t first_row;  ///< of the problem
    Shape shape;
    Bands edges_part, inside_part;
    Stream inside, edges, sums;
    Array<float> grid[2];
    Array<float> tiles[turns];  ///< summed squares
    Array<double> lanes;        ///< sums of these
    Event inside_done[2], edges_done[2], summed[turns];
};

}  // namespace heat
