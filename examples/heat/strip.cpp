#include "strip.hpp"

#include <algorithm>

namespace heat {

namespace hd = heddle;

namespace {

Shape shape_of(const Problem& problem, std::size_t first_band, std::size_t bands) {
    const std::size_t first = first_band * band_rows;
    const std::size_t end = std::min(first + bands * band_rows, problem.rows());
    return {problem.nx, (problem.nx + alignment - 1) / alignment * alignment, end - first};
}

/// Returns rows [first, first + count) of a grid, without rows from `end` on.
hd::View<float> rows(const Shape& shape, hd::View<float> grid, std::size_t first, std::size_t count,
                     std::size_t end) {
    count = std::min(first + count, end) - first;
    return grid.subview(first * shape.pitch, count * shape.pitch);
}

/// The memory that Relax uses for some bands: it reads `from`, writes `to`, and stores sums in
/// `sums`. Each is one part if the bands are adjacent, and two parts for two bands that may be
/// apart.
struct Touched {
    Touched(const Shape& shape, const Bands& part, std::size_t tiles, hd::View<float> grid,
            hd::View<float> next, hd::View<float> of_tiles) {
        const bool is_pair = part.count == 2;
        const std::size_t bands = is_pair ? 1 : part.count, height = bands * band_rows;
        for (std::size_t i = 0; i < (is_pair ? 2 : 1); ++i) {
            const std::size_t band = part.first + i * part.stride, top = band * band_rows;
            from[i] = rows(shape, grid, top, height + 2, shape.bands() * band_rows + 2);
            to[i] = rows(shape, next, top + 1, height, shape.height + 1);
            if (!of_tiles.empty()) sums[i] = of_tiles.subview(band * tiles, bands * tiles);
        }
    }
    hd::View<float> from[2], to[2], sums[2];
};

template <std::size_t width>
void relax_tiles(hd::StreamRef stream, const Shape& shape, const Bands& part, hd::View<float> from,
                 hd::View<float> to, hd::View<float> above, hd::View<float> below,
                 hd::View<float> sums) {
    const Touched touched(shape, part, shape.tiles(width), from, to, sums);
    const auto touched_from =
        hd::touching(hd::View<const float>(from), {touched.from[0], touched.from[1]});
    const auto touched_to = hd::touching(to, {touched.to[0], touched.to[1]});
    const auto touched_sums = hd::touching(sums, {touched.sums[0], touched.sums[1]});
    const auto range = hd::dim(shape.tiles(width), part.count)
                           .with({.block = part.count == 2 ? edges_block : inside_block});
    if (sums.empty())
        hd::launch(stream, Relax<width, false>{shape, part}, range, touched_from, touched_to, above,
                   below, touched_sums);
    else
        hd::launch(stream, Relax<width, true>{shape, part}, range, touched_from, touched_to, above,
                   below, touched_sums);
}

}  // namespace

Strip::Strip(hd::Device on, const Problem& problem, std::size_t first, std::size_t bands,
             bool overlap)
    : device(on), first_band(first), first_row(1 + first * band_rows),
      shape(shape_of(problem, first, bands)), edges_part{0, 1, bands}, inside_part{0, 1, 0},
      inside(on, {.name = "inside"}),
      edges(on, {.priority = on.priorities().greatest, .name = "edges"}),
      sums(on, {.priority = on.priorities().greatest + 1, .name = "sums"}),
      inside_done{hd::Event(on), hd::Event(on)}, edges_done{hd::Event(on), hd::Event(on)},
      summed{hd::Event(on), hd::Event(on), hd::Event(on), hd::Event(on)} {
    if (overlap && bands > 2) {
        edges_part = {0, bands - 1, 2};
        inside_part = {1, 1, bands - 2};
    }
    for (hd::Array<float>& half : grid) half = hd::empty<float>(inside, shape.size());
    for (hd::Array<float>& turn : tiles)
        turn = hd::empty<float>(inside, bands * shape.tiles(width()));
    parts = hd::empty<double>(inside, bands * sum_parts);
    inside.synchronize();
    hd::preload(device, Relax<gpu_width, false>{}, Relax<gpu_width, true>{}, AddTiles{}, AddParts{},
                Hold{});
}

hd::View<float> Strip::row(int parity, std::size_t index) {
    return grid[parity].view().subview(index * shape.pitch, shape.pitch);
}

void Strip::start(std::span<const float> sides, std::span<const float> plate) {
    for (hd::Array<float>& half : grid) hd::fill_zero(inside, half);
    if (!plate.empty())
        hd::copy_2d(inside, points(0),
                    hd::View2D(hd::View(plate.subspan(first_row * shape.columns,
                                                      shape.height * shape.columns)),
                               shape.height, shape.columns));
    const hd::Array<float> held =
        hd::from_host(inside, sides.subspan(first_row - 1, shape.height + 2));
    for (hd::Array<float>& half : grid)
        hd::launch(inside, Hold{shape}, hd::dim(held.size()), held, half);
    inside.synchronize();
}

void Strip::read(int parity, std::span<float> plate) {
    hd::copy_2d(
        inside,
        hd::View2D(hd::View(plate.subspan(first_row * shape.columns, shape.height * shape.columns)),
                   shape.height, shape.columns),
        points(parity));
    inside.synchronize();
}

hd::View2D<float> Strip::points(int parity) {
    const hd::View<float> own =
        grid[parity].view().subview(shape.pitch, shape.height * shape.pitch);
    return {own, shape.height, shape.columns, shape.pitch};
}

void Strip::relax(hd::StreamRef stream, int parity, const Bands& part, hd::View<float> above,
                  hd::View<float> below, hd::View<float> of_tiles) {
    const auto run = device.is_cpu() ? relax_tiles<cpu_width> : relax_tiles<gpu_width>;
    run(stream, shape, part, grid[parity].view(), grid[1 - parity].view(), above, below, of_tiles);
}

void Strip::add(hd::StreamRef stream, int turn, hd::View<double> to) {
    hd::launch(stream, AddTiles{shape.tiles(width())}, hd::dim(sum_parts, shape.bands()),
               tiles[turn], parts);
    hd::launch(stream, AddParts{}, hd::dim(shape.bands()), parts, to);
}

}  // namespace heat
