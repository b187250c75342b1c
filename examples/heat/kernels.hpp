// The kernels: one iteration for a part of a strip, and the sums for the norm. All are
// portable.
#pragma once

#include <cstddef>

#include <heddle/kernel.hpp>
#include <heddle/memory/view.hpp>

namespace heat {

using heddle::View;

// Tuning parameters. A tile is `width` columns wide and band_rows rows high, and one index computes
// a tile. On a GPU, an index is a thread, which reads 16 bytes of a row, and a thread block is 32
// threads wide. On a CPU, an index reads several vectors of a row.
inline constexpr std::size_t gpu_width = 4, cpu_width = 64;
inline constexpr std::size_t band_rows = 8;
inline constexpr std::size_t alignment = 64;   // rows begin at multiples of this number of floats
inline constexpr std::size_t sum_parts = 32;   // number of threads that add up the tiles of a band
inline constexpr unsigned inside_block = 128;  // number of threads in a block
inline constexpr unsigned edges_block =
    64;  // threads in a block for the first and last band, in two rows

/// A strip in memory. It has `height` rows of its own, and a halo row before and after them. A row
/// has `pitch` floats; the first `columns` of them are points. Memory is allocated for whole bands.
struct Shape {
    std::size_t columns, pitch, height;

    std::size_t bands() const { return (height + band_rows - 1) / band_rows; }
    std::size_t size() const { return (bands() * band_rows + 2) * pitch; }
    std::size_t tiles(std::size_t width) const {
        return (columns + width - 1) / width;
    }  ///< number of tiles in a band
};

/// Selects `count` bands of a strip: band `first`, and then every `stride`th.
struct Bands {
    std::size_t first, stride, count;
};

/// Adjacent values of a row, which are read and written by one access.
template <std::size_t width> struct alignas(16) Floats {
    float at[width];
};

/// Computes new values: a quarter of the sum of the four neighbours. Indices: tile in the band,
/// band. Also writes the strip's first row to `above` and its last row to `below`, unless these
/// views are empty. If `with_norm`, stores the sum of a tile's squared changes in sums[band * tiles
/// + tile].
template <std::size_t width, bool with_norm> struct Relax {
    using Row = Floats<width>;
    Shape shape;
    Bands bands;

    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View<const float> from, View<float> to,
                              View<float> above, View<float> below, View<float> sums) const {
        const std::size_t column = x * width, band = bands.first + y * bands.stride,
                          top = band * band_rows;
        const std::size_t tiles = (shape.columns + width - 1) / width;
        const bool is_first = x == 0, is_last = x + 1 == tiles;

        // All reads precede the work, so that many reads are in flight at the same time.
        const float* in = from.data() + top * shape.pitch + column;  // row above the band
        Row rows[band_rows + 2];
        float left[band_rows + 2], right[band_rows + 2];
        for (std::size_t r = 0; r < band_rows + 2; ++r, in += shape.pitch) {
            rows[r] = *reinterpret_cast<const Row*>(in);
            if (r == 0 || r == band_rows + 1) continue;
            left[r] = is_first ? 0 : in[-1];
            right[r] = is_last ? 0 : in[width];
        }

        const std::size_t to_above = band == 0 && !above.empty() ? 1 : 0;
        const std::size_t to_below =
            below.empty() ? 0 : shape.height - top;  // the band's row to store, from 1; 0 if none
        double sum[4] = {};                          // a float's square is exact in a double
        float* out = to.data() + top * shape.pitch + column;
        for (std::size_t r = 1; r <= band_rows; ++r) {
            out += shape.pitch;
            if (top + r > shape.height) continue;
            const Row &up = rows[r - 1], &here = rows[r], &down = rows[r + 1];
            const auto mean = [&](float before, float after, std::size_t i) {
                return 0.25f * (after + before + down.at[i] + up.at[i]);
            };
            Row next;
            next.at[0] = mean(left[r], here.at[1], 0);
            for (std::size_t i = 1; i < width - 1; ++i)
                next.at[i] = mean(here.at[i - 1], here.at[i + 1], i);
            next.at[width - 1] = mean(here.at[width - 2], right[r], width - 1);
            // The first and the last column do not change. Elements beyond the last column stay 0.
            if (is_first) next.at[0] = here.at[0];
            if (is_last)
                for (std::size_t i = 0; i < width; ++i)
                    if (column + i + 1 >= shape.columns) next.at[i] = here.at[i];
            if constexpr (with_norm) {
                for (std::size_t i = 0; i < width; i += 4)
                    for (std::size_t j = 0; j < 4; ++j) {
                        const double change = next.at[i + j] - here.at[i + j];
                        sum[j] += change * change;
                    }
            }
            *reinterpret_cast<Row*>(out) = next;
            if (r == to_above) *reinterpret_cast<Row*>(above.data() + column) = next;
            if (r == to_below) *reinterpret_cast<Row*>(below.data() + column) = next;
        }
        if constexpr (with_norm)
            sums[band * tiles + x] = static_cast<float>((sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
};

/// Adds the tiles of a band in two stages, always in the same order. This kernel is the first
/// stage, with the indices part and band. A part adds several sums at the same time, so that
/// several reads are in flight.
struct AddTiles {
    std::size_t tiles;
    HEDDLE_FN void operator()(std::size_t part, std::size_t band, View<const float> of_tiles,
                              View<double> parts) const {
        constexpr std::size_t chains = 8;
        const float* const row = of_tiles.data() + band * tiles;
        double sum[chains] = {};
        for (std::size_t x = part; x < tiles; x += chains * sum_parts)
            for (std::size_t c = 0; c < chains; ++c)
                if (x + c * sum_parts < tiles) sum[c] += row[x + c * sum_parts];
        parts[band * sum_parts + part] =
            ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
};
struct AddParts {
    HEDDLE_FN void operator()(std::size_t band, View<const double> parts, View<double> sums) const {
        double sum = 0;
        for (std::size_t part = 0; part < sum_parts; ++part) sum += parts[band * sum_parts + part];
        sums[band] = sum;
    }
};

/// Sets the first and the last column of a strip. The index is the row, including the halos.
struct Hold {
    Shape shape;
    HEDDLE_FN void operator()(std::size_t row, View<const float> value, View<float> grid) const {
        grid[row * shape.pitch] = grid[row * shape.pitch + shape.columns - 1] = value[row];
    }
};

}  // namespace heat
