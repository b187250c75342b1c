// The accesses to the parts of an allocation, and their conflicts with a new access.
#pragma once

#include <vector>

#include "check/cells.hpp"

namespace heddle::detail {

/// An earlier access that conflicts with a new one.
struct Conflict {
    Mark first;
    /// The common bytes. For a strided access, the range from the first to the last common byte.
    std::uint64_t begin = 0, end = 0;
    /// False if it is unknown whether there are common bytes.
    bool is_certain = true;
    /// The rows of the common bytes, if not all of [begin, end) is common.
    MemoryRange rows = no_rows;
    /// True if `first` freed the memory and the new access is ordered after that free.
    bool is_ordered = false;
};

/// An access in rows.
struct StridedMark {
    CheckAccess access;
    Mark mark;
};

/// The access history of one allocation, by the rules of FastTrack. A write is compared with the
/// last write and later reads, and replaces all of them. A read is compared with the last write,
/// and replaces the reads that are ordered before it. After a conflict, the history keeps the later
/// access.
class History {
public:
    static constexpr std::size_t most_strided = 64;

    /// Appends the conflicts of the access to `to`, and remembers the access.
    void add(const CheckAccess& access, const Mark& mark, const Order& order,
             std::vector<Conflict>& to);
    /// Appends the conflicts of the access to `to`. Remembers nothing.
    void look(const CheckAccess& access, const Mark& mark, const Order& order,
              std::vector<Conflict>& to) const {
        compare_strided(access, mark, order, to);
        compare_cells(access, mark, order, to);
    }
    /// Forgets the access of the operation `epoch` to [begin, end).
    void forget(std::uint64_t begin, std::uint64_t end, Epoch epoch);
    /// Forgets the accesses that the host knows to be complete.
    void forget_covered(const HostFloor& floor);
    /// Calls f(const Mark&) for each remembered access.
    template <class F> void for_each_mark(F&& f) const {
        cells_.for_each(0, ~std::uint64_t{0}, [&](const Cell& cell) {
            if (cell.write) f(cell.write);
            cell.readers.for_each(f);
        });
        for (const StridedMark& one : strided_) f(one.mark);
    }
    std::size_t cells() const noexcept { return cells_.size(); }
    /// Returns whether nothing is remembered.
    bool is_empty() const noexcept { return cells_.size() == 0 && strided_.empty(); }
    std::size_t strided() const noexcept { return strided_.size(); }

private:
    void compare_cells(const CheckAccess& access, const Mark& mark, const Order& order,
                       std::vector<Conflict>& to) const;
    void compare_strided(const CheckAccess& access, const Mark& mark, const Order& order,
                         std::vector<Conflict>& to) const;
    void add_cells(const CheckAccess& access, const Mark& mark, const Order& order,
                   std::vector<Conflict>& to);
    void merge(std::uint64_t begin, std::uint64_t end);
    void add_strided(const CheckAccess& access, const Mark& mark, const Order& order);
    void replace_strided(const CheckAccess& access, const Mark& mark, const Order& order);

    CellStore cells_;
    std::vector<StridedMark> strided_;
    std::vector<Cell> taken_, made_;  ///< reused for their capacity
};

}  // namespace heddle::detail
