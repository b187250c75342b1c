#include "check/history.hpp"

#include <algorithm>
#include <utility>

#include "check/strided.hpp"

namespace heddle::detail {

namespace {

bool is_write(AccessMode mode) noexcept {
    return mode == AccessMode::write || mode == AccessMode::read_write;
}

/// Appends a conflict if the new access conflicts with the earlier one. Bytes [begin, end) are
/// common.
void compare(const Mark& first, const Mark& second, std::uint64_t begin, std::uint64_t end,
             const Order& order, std::vector<Conflict>& to) {
    if (!first) return;
    const bool is_ordered = order.covers(first.epoch);
    if (first.is_free) {
        to.push_back({.first = first, .begin = begin, .end = end, .is_ordered = is_ordered});
        return;
    }
    if (is_ordered || !conflicts(first.mode, second.mode)) return;
    to.push_back({first, begin, end});
}

/// Drops accesses that the host knows to be complete. No later operation conflicts with them.
void forget_covered_in(Cell& cell, const HostFloor& floor) {
    if (cell.write && !cell.write.is_free && floor.covers(cell.write.epoch)) cell.write = {};
    cell.readers.remove_if([&](const Mark& mark) { return floor.covers(mark.epoch); });
}

void note(Cell& cell, const Mark& mark, const Order& order) {
    forget_covered_in(cell, *order.floor);
    if (is_write(mark.mode)) {
        const bool matters = mark.is_free || !order.floor->covers(mark.epoch);
        cell.write = matters ? mark : Mark{};
        cell.readers.clear();
        return;
    }
    // Removes earlier accesses that are ordered before the new one, because work ordered after the
    // new access is ordered after them, too. Marks of another mode stay, because later accesses may
    // conflict with them but not with the new access.
    cell.readers.remove_if([&](const Mark& earlier) {
        return earlier.mode == mark.mode && order.covers(earlier.epoch);
    });
    const bool is_own_write = cell.write && cell.write.epoch == mark.epoch;
    if (!is_own_write && !order.floor->covers(mark.epoch)) cell.readers.add(mark);
}

/// Appends a cell to the others, or extends the last one if the two touch and have equal histories.
void append(std::vector<Cell>& cells, Cell cell) {
    if (!cells.empty() && cells.back().end == cell.begin && cells.back().has_same_past(cell))
        cells.back().end = cell.end;
    else cells.push_back(std::move(cell));
}

Cell part_of(const Cell& cell, std::uint64_t begin, std::uint64_t end) {
    Cell part = cell;
    part.begin = begin;
    part.end = end;
    return part;
}

/// Merges the conflicts from index `from` on, which are with rows of one access, into one conflict.
void join_rows(std::uint64_t pitch, std::size_t from, std::vector<Conflict>& all) {
    std::vector<Conflict> joined;
    for (std::size_t i = from; i < all.size(); ++i) {
        const Conflict& row = all[i];
        const auto is_before = [&](const Conflict& one) {
            const std::uint64_t rows = std::max<std::size_t>(one.rows.rows, 1);
            return one.first == row.first && one.begin + rows * pitch == row.begin &&
                   one.end + pitch == row.end;
        };
        const auto before = std::ranges::find_if(joined, is_before);
        if (before == joined.end()) {
            joined.push_back(row);
            continue;
        }
        const std::size_t rows = std::max<std::size_t>(before->rows.rows, 1) + 1;
        before->rows = {nullptr, row.end - row.begin, rows, pitch};
        before->end = row.end;
    }
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(from), all.end());
    all.insert(all.end(), joined.begin(), joined.end());
}

/// Calls f(begin, end) for each contiguous range of bytes.
template <class F> void for_each_row(const CheckAccess& access, F&& f) {
    if (!access.is_strided()) return f(access.address(), access.end());
    for (std::size_t row = 0; row < access.rows; ++row) {
        const std::uint64_t begin = access.address() + row * access.pitch;
        f(begin, begin + access.bytes);
    }
}

}  // namespace

void History::add(const CheckAccess& access, const Mark& mark, const Order& order,
                  std::vector<Conflict>& to) {
    if (access.bytes == 0 || access.rows == 0) return;
    if (!strided_.empty()) {
        compare_strided(access, mark, order, to);
        replace_strided(access, mark, order);
    }
    if (!access.is_strided()) return add_cells(access, mark, order, to);
    compare_cells(access, mark, order, to);
    add_strided(access, mark, order);
}

void History::compare_cells(const CheckAccess& access, const Mark& mark, const Order& order,
                            std::vector<Conflict>& to) const {
    const bool is_exact = access.rows <= most_rows_compared;
    const std::size_t before = to.size();
    const auto compare_row = [&](std::uint64_t begin, std::uint64_t end) {
        cells_.for_each(begin, end, [&](const Cell& cell) {
            const std::uint64_t from = std::max(begin, cell.begin), till = std::min(end, cell.end);
            compare(cell.write, mark, from, till, order, to);
            cell.readers.for_each(
                [&](const Mark& reader) { compare(reader, mark, from, till, order, to); });
        });
    };
    if (is_exact) {
        for_each_row(access, compare_row);
        if (access.is_strided()) join_rows(access.pitch, before, to);
        return;
    }
    compare_row(access.address(), access.end());
    for (std::size_t i = before; i < to.size(); ++i) to[i].is_certain = false;
}

void History::compare_strided(const CheckAccess& access, const Mark& mark, const Order& order,
                              std::vector<Conflict>& to) const {
    for (const StridedMark& one : strided_) {
        if (order.covers(one.mark.epoch) || !conflicts(one.mark.mode, mark.mode)) continue;
        const Overlap overlap = overlap_of(one.access, access);
        if (overlap == Overlap::none) continue;
        const CommonBytes common = common_bytes(one.access, access);
        to.push_back({one.mark, common.begin, common.end, overlap == Overlap::some, common.rows});
    }
}

void History::add_cells(const CheckAccess& access, const Mark& mark, const Order& order,
                        std::vector<Conflict>& to) {
    const std::uint64_t begin = access.address(), end = access.end();
    const auto use = [&](Cell& cell) {
        compare(cell.write, mark, cell.begin, cell.end, order, to);
        cell.readers.for_each(
            [&](const Mark& reader) { compare(reader, mark, cell.begin, cell.end, order, to); });
        note(cell, mark, order);
    };
    if (Cell* const exact = cells_.exact(begin, end)) {
        use(*exact);
        if (cells_.has_equal_neighbour(*exact)) merge(begin, end);
        return;
    }
    taken_.clear();
    made_.clear();
    cells_.take(begin, end, taken_);
    std::uint64_t reached = begin;
    const auto fill = [&](std::uint64_t until) {
        if (reached >= until) return;
        Cell fresh{reached, until, {}, {}};
        note(fresh, mark, order);
        append(made_, std::move(fresh));
        reached = until;
    };
    for (const Cell& cell : taken_) {
        if (cell.begin < begin) append(made_, part_of(cell, cell.begin, std::min(cell.end, begin)));
        fill(std::min(cell.begin, end));
        const std::uint64_t from = std::max(cell.begin, begin), till = std::min(cell.end, end);
        if (from < till) {
            Cell inner = part_of(cell, from, till);
            use(inner);
            append(made_, std::move(inner));
            reached = till;
        }
        if (cell.end > end) {
            fill(end);
            append(made_, part_of(cell, std::max(cell.begin, end), cell.end));
        }
    }
    fill(end);
    cells_.put(made_);
}

/// Merges equal neighbours among the cells that overlap or touch [begin, end).
void History::merge(std::uint64_t begin, std::uint64_t end) {
    taken_.clear();
    made_.clear();
    cells_.take(begin, end, taken_);
    for (Cell& cell : taken_) append(made_, std::move(cell));
    cells_.put(made_);
}

void History::replace_strided(const CheckAccess& access, const Mark& mark, const Order& order) {
    std::erase_if(strided_, [&](const StridedMark& one) {
        if (order.floor->covers(one.mark.epoch)) return true;
        const bool is_replaced =
            is_write(mark.mode) || (one.mark.mode == mark.mode && order.covers(one.mark.epoch));
        return is_replaced && is_within(one.access, access);
    });
}

void History::add_strided(const CheckAccess& access, const Mark& mark, const Order& order) {
    if (order.floor->covers(mark.epoch)) return;
    if (strided_.size() == most_strided) strided_.erase(strided_.begin());
    strided_.push_back({access, mark});
}

void History::forget(std::uint64_t begin, std::uint64_t end, Epoch epoch) {
    std::erase_if(strided_, [&](const StridedMark& one) { return one.mark.epoch == epoch; });
    taken_.clear();
    made_.clear();
    cells_.take(begin, end, taken_);
    for (Cell& cell : taken_) {
        if (cell.write.epoch == epoch) cell.write = {};
        cell.readers.remove_if([&](const Mark& mark) { return mark.epoch == epoch; });
        append(made_, std::move(cell));
    }
    cells_.put(made_);
}

void History::forget_covered(const HostFloor& floor) {
    std::erase_if(strided_, [&](const StridedMark& one) { return floor.covers(one.mark.epoch); });
    taken_.clear();
    made_.clear();
    cells_.take(0, ~std::uint64_t{0}, taken_);
    for (Cell& cell : taken_) {
        forget_covered_in(cell, floor);
        if (cell.write || !(cell.readers == Readers{})) append(made_, std::move(cell));
    }
    cells_.put(made_);
}

}  // namespace heddle::detail
