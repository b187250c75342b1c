// A strip of the grid, and what a device does with it.
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

/// Sets of tiles, used in turn: so many norms may be late before an iteration waits for one.
inline constexpr int turns = 4;

/// Bands [first_band, first_band + bands) of the problem on one device. Iteration k reads grid[k %
/// 2] and writes the other one.
///
/// The events mark what each parity's newest iteration has done; who waits for what is told in
/// solver.cpp.
struct Strip {
    Strip(Device device, const Problem& problem, std::size_t first_band, std::size_t bands,
          bool overlap);

    /// The first values: those of the whole plate, or zero if there are none; waits for it.
    void start(std::span<const float> sides, std::span<const float> plate);
    /// This strip's rows into the plate; waits for it.
    void read(int parity, std::span<float> plate);

    /// One iteration on some bands. The outer rows go to `above` and `below` as well, and the
    /// tiles' sums to `of_tiles`, unless these are empty.
    void relax(StreamRef stream, int parity, const Bands& part, View<float> above,
               View<float> below, View<float> of_tiles);
    /// Adds up the tiles of that turn: sums[i] is band i's, in memory that the device reaches.
    void add(StreamRef stream, int turn, View<double> sums);

    /// Columns of a tile here.
    std::size_t width() const { return device.is_cpu() ? cpu_width : gpu_width; }
    View<float> row(int parity,
                    std::size_t index);  ///< whole, to the next one; 0 and height + 1 are the halos

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
