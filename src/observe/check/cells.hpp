// Parts of an allocation, each with its last write and its readers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "check/check_op.hpp"
#include "check/clock.hpp"

namespace heddle::detail {

/// An access that is remembered by a cell.
struct Mark {
    Epoch epoch;
    SiteId site = 0;
    AccessMode mode = AccessMode::read;
    std::int8_t argument = -1;
    bool is_free : 1 = false;        ///< the memory was freed
    bool by_allocation : 1 = false;  ///< the memory was allocated
    bool is_raw : 1 = false;         ///< through a plain pointer, unknown to heddle
    bool is_guess : 1 = false;       ///< see CheckAccess

    explicit operator bool() const noexcept { return static_cast<bool>(epoch); }
    bool operator==(const Mark&) const = default;
};

/// Returns whether two accesses to the same byte must be ordered.
inline bool conflicts(AccessMode a, AccessMode b) noexcept {
    if (a == AccessMode::read || a == AccessMode::concurrent) return a != b;
    return true;
}

/// The reads since the last write, and the accesses declared as concurrent. Stores two marks inline
/// and further marks on the heap.
class Readers {
public:
    Readers() = default;
    Readers(const Readers& from);
    Readers(Readers&&) noexcept = default;
    Readers& operator=(const Readers& from);
    Readers& operator=(Readers&&) noexcept = default;
    ~Readers() = default;

    template <class F> void for_each(F&& f) const {
        for (const Mark& mark : here_)
            if (mark) f(mark);
        if (more_ == nullptr) return;
        for (const Mark& mark : *more_) f(mark);
    }
    void add(const Mark& mark);
    /// Removes each mark for which f(mark) is true.
    template <class F> void remove_if(F&& f) {
        for (Mark& mark : here_)
            if (mark && f(mark)) mark = {};
        if (more_ == nullptr) return;
        std::erase_if(*more_, f);
        if (more_->empty()) more_.reset();
    }
    void clear() noexcept;
    bool operator==(const Readers& other) const;

private:
    Mark here_[2];
    std::unique_ptr<std::vector<Mark>> more_;
};

/// Bytes [begin, end) with the same access history.
struct Cell {
    std::uint64_t begin = 0, end = 0;
    Mark write;
    Readers readers;

    bool has_same_past(const Cell& other) const {
        return write == other.write && readers == other.readers;
    }
};

/// Cells in ascending order, without overlaps. Stores one cell inline, a few in a sorted vector,
/// and many in a tree.
class CellStore {
public:
    static constexpr std::size_t most_few = 64;

    std::size_t size() const noexcept;
    /// Returns the cell that is exactly [begin, end). Returns null if there is none.
    Cell* exact(std::uint64_t begin, std::uint64_t end) noexcept;
    /// Returns whether an adjacent cell has the same history. `cell` is a result of exact().
    bool has_equal_neighbour(const Cell& cell) const;
    /// Moves the cells that overlap or touch [begin, end) to the end of `to`, in order.
    void take(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to);
    /// Moves the cells into the store. `cells` must be in ascending order, and must not overlap
    /// stored cells.
    void put(std::vector<Cell>& cells);
    /// Calls f(const Cell&) for each cell that overlaps [begin, end).
    template <class F> void for_each(std::uint64_t begin, std::uint64_t end, F&& f) const {
        if (many_.empty()) {
            for (auto at = first_few(begin); at != few_.end() && at->begin < end; ++at)
                if (at->end > begin) f(*at);
            if (has_one_ && one_.begin < end && one_.end > begin) f(one_);
            return;
        }
        for (auto at = first_of_many(begin); at != many_.end() && at->second.begin < end; ++at)
            if (at->second.end > begin) f(at->second);
    }

private:
    std::vector<Cell>::const_iterator first_few(std::uint64_t begin) const;
    std::map<std::uint64_t, Cell>::const_iterator first_of_many(std::uint64_t begin) const;
    void take_few(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to);
    void take_many(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to);
    void put_few(std::vector<Cell>& cells);
    void put_many(std::vector<Cell>& cells);

    Cell one_;
    bool has_one_ = false;  ///< if true, `few_` and `many_` are empty
    std::vector<Cell> few_;
    std::map<std::uint64_t, Cell> many_;  ///< by the first address of the cell
};

}  // namespace heddle::detail
