// The data of the page: a head in JSON, and columns of numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/page/columns.hpp"
#include "timeline/page/picture.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::detail {

/// Several columns, stored one after the other.
class PageColumns {
public:
    void add(std::string_view name, std::span<const std::int64_t> values);
    /// Returns [["opSite", code, values, bytes, type], ...]; the type is "u8", "i32" or "f64".
    std::string directory() const { return '[' + directory_ + ']'; }
    const std::string& bytes() const { return bytes_; }

private:
    std::string directory_, bytes_;
};

/// The columns of one table. Rows are added one by one.
template <std::size_t width> class PageTable {
public:
    explicit PageTable(const std::array<const char*, width>& names) : names_(names) {}

    void add_row(const std::array<std::int64_t, width>& row) {
        for (std::size_t i = 0; i < width; ++i) values_[i].push_back(row[i]);
    }
    void add_to(PageColumns& columns) const {
        for (std::size_t i = 0; i < width; ++i) columns.add(names_[i], values_[i]);
    }

private:
    std::array<const char*, width> names_;
    std::array<std::vector<std::int64_t>, width> values_;
};

/// Adds the columns of operations, bars, gaps, arrows, accesses and ranges.
void add_page_columns(PageColumns& columns, const Trace& trace, const Solution& solution,
                      const Picture& picture);
/// Adds the columns of bars and gaps. The bounds of gaps are written as distances from the adjacent
/// bars. These distances are almost always 0.
void add_row_columns(PageColumns& columns, const Trace& trace, const Solution& solution);

/// Returns an encoded distance of `index` from `base`, so that near indices become small numbers:
/// base - index if that is positive, otherwise base - index - 1. Returns 0 only for no_index.
std::int64_t relative_index(TraceIndex base, TraceIndex index);

/// Returns the head: names, rows, totals, and the directory of the columns.
std::string page_head(const Trace& trace, const Solution& solution, const Picture& picture,
                      const PageColumns& columns);

}  // namespace heddle::detail
