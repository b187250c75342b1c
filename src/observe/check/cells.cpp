#include "check/cells.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle::detail {

Readers::Readers(const Readers& from)
    : here_{from.here_[0], from.here_[1]},
      more_(from.more_ != nullptr ? std::make_unique<std::vector<Mark>>(*from.more_) : nullptr) {}

Readers& Readers::operator=(const Readers& from) {
    if (this != &from) *this = Readers(from);
    return *this;
}

void Readers::add(const Mark& mark) {
    for (Mark& place : here_) {
        if (place) continue;
        place = mark;
        return;
    }
    if (more_ == nullptr) more_ = std::make_unique<std::vector<Mark>>();
    more_->push_back(mark);
}

void Readers::clear() noexcept {
    here_[0] = here_[1] = {};
    more_.reset();
}

bool Readers::operator==(const Readers& other) const {
    const auto more = [](const Readers& of) { return of.more_ == nullptr ? 0 : of.more_->size(); };
    if (here_[0] != other.here_[0] || here_[1] != other.here_[1] || more(*this) != more(other))
        return false;
    return more_ == nullptr || *more_ == *other.more_;
}

std::size_t CellStore::size() const noexcept {
    if (has_one_) return 1;
    return few_.size() + many_.size();
}

Cell* CellStore::exact(std::uint64_t begin, std::uint64_t end) noexcept {
    const auto is_it = [&](const Cell& cell) { return cell.begin == begin && cell.end == end; };
    if (has_one_) return is_it(one_) ? &one_ : nullptr;
    if (many_.empty()) {
        const auto at = few_.begin() + (first_few(begin) - few_.cbegin());
        return at != few_.end() && is_it(*at) ? &*at : nullptr;
    }
    const auto at = many_.find(begin);
    return at != many_.end() && is_it(at->second) ? &at->second : nullptr;
}

bool CellStore::has_equal_neighbour(const Cell& cell) const {
    const auto is_equal = [&](const Cell& other) {
        return (other.end == cell.begin || other.begin == cell.end) && cell.has_same_past(other);
    };
    if (has_one_) return false;
    if (many_.empty()) {
        const auto at = first_few(cell.begin);
        return (at != few_.begin() && is_equal(*std::prev(at))) ||
               (std::next(at) != few_.end() && is_equal(*std::next(at)));
    }
    const auto at = many_.find(cell.begin);
    return (at != many_.begin() && is_equal(std::prev(at)->second)) ||
           (std::next(at) != many_.end() && is_equal(std::next(at)->second));
}

void CellStore::take(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to) {
    if (has_one_) {
        if (one_.begin > end || one_.end < begin) return;
        to.push_back(std::move(one_));
        has_one_ = false;
        return;
    }
    if (many_.empty()) take_few(begin, end, to);
    else take_many(begin, end, to);
}

void CellStore::put(std::vector<Cell>& cells) {
    if (size() == 0 && cells.size() == 1) {
        one_ = std::move(cells.front());
        has_one_ = true;
        return;
    }
    if (has_one_) {
        has_one_ = false;
        few_.push_back(std::move(one_));
    }
    if (many_.empty() && few_.size() + cells.size() <= most_few) put_few(cells);
    else put_many(cells);
}

std::vector<Cell>::const_iterator CellStore::first_few(std::uint64_t begin) const {
    // The first cell that ends after `begin`.
    return std::lower_bound(few_.begin(), few_.end(), begin,
                            [](const Cell& cell, std::uint64_t at) { return cell.end <= at; });
}

std::map<std::uint64_t, Cell>::const_iterator CellStore::first_of_many(std::uint64_t begin) const {
    auto at = many_.upper_bound(begin);
    if (at != many_.begin()) --at;
    return at;
}

void CellStore::take_few(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to) {
    const auto first =
        std::lower_bound(few_.begin(), few_.end(), begin,
                         [](const Cell& cell, std::uint64_t at) { return cell.end < at; });
    auto last = first;
    while (last != few_.end() && last->begin <= end) to.push_back(std::move(*last++));
    few_.erase(first, last);
}

void CellStore::take_many(std::uint64_t begin, std::uint64_t end, std::vector<Cell>& to) {
    auto first = many_.lower_bound(begin);
    if (first != many_.begin() && std::prev(first)->second.end >= begin) --first;
    auto last = first;
    for (; last != many_.end() && last->second.begin <= end; ++last)
        to.push_back(std::move(last->second));
    many_.erase(first, last);
    if (many_.size() > most_few / 2) return;
    for (auto& [at, cell] : many_) few_.push_back(std::move(cell));
    many_.clear();
}

void CellStore::put_few(std::vector<Cell>& cells) {
    if (cells.empty()) return;
    const auto where = few_.begin() + (first_few(cells.front().begin) - few_.cbegin());
    few_.insert(where, std::make_move_iterator(cells.begin()),
                std::make_move_iterator(cells.end()));
}

void CellStore::put_many(std::vector<Cell>& cells) {
    for (Cell& cell : few_) many_.emplace_hint(many_.end(), cell.begin, std::move(cell));
    few_.clear();
    for (Cell& cell : cells) {
        const std::uint64_t begin = cell.begin;
        many_.emplace(begin, std::move(cell));
    }
}

}  // namespace heddle::detail
