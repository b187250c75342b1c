// Who has accessed the parts of an allocation, and which of those accesses a new one conflicts
// with.
#pragma once

#include <vector>

#include "check/cells.hpp"

namespace heddle::detail {

/// An earlier access that does not go with a new one.
struct Conflict {
    Mark first;
    std::uint64_t begin = 0,
                  end = 0;  ///< common bytes, or what spans them if the access is strided
    /// False if it is not known whether there are common bytes.
    bool is_certain = true;
    MemoryRange rows = no_rows;  ///< if they are not all bytes from `begin` to `end`
    /// There is an order, but `first` freed the memory.
    bool is_ordered = false;
};

/// Accesses in rows.
struct StridedMark {
    CheckAccess access;
    Mark mark;
};

/// The past of one allocation. FastTrack's rules: a write is compared with the last write and with
/// the readers since, and replaces both; a read is compared with the last write, and replaces the
/// readers that precede it. After a conflict the later access counts.
class History {
public:
    static constexpr std::size_t most_strided = 64;

    /// Appends what conflicts with the access, and remembers the access.
    void add(const CheckAccess& access, const Mark& mark, const Order& order,
             std::vector<Conflict>& to);
    /// Appends what conflicts with the access, and remembers nothing.
    void look(const CheckAccess& access, const Mark& mark, const Order& order,
              std::vector<Conflict>& to) const {
        compare_strided(access, mark, order, to);
        compare_cells(access, mark, order, to);
    }
    /// Forgets one access to [begin, end).
    void forget(std::uint64_t begin, std::uint64_t end, Epoch epoch);
    /// Forgets what the host knows to be over.
    void forget_covered(const HostFloor& floor);
    /// Calls f(const Mark&) for each access that is remembered.
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
    std::vector<Cell> taken_, made_;  ///< kept for their memory
};

}  // namespace heddle::detail
