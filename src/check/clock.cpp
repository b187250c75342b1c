#include "check/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace heddle::detail {

void HostFloor::raise(Epoch to) {
    if (to.slot() >= reached_.size()) reached_.resize(to.slot() + 1);
    Position& reached = reached_[to.slot()];
    reached = std::max(reached, to.position());
}

Clock::Data* Clock::make(std::size_t size, bool is_sorted) {
    void* const memory = ::operator new(sizeof(Data) + size * sizeof(std::uint64_t));
    auto* const data = new (memory) Data;
    data->uses = 1;
    data->size = static_cast<std::uint32_t>(size);
    data->is_sorted = is_sorted ? 1 : 0;
    return data;
}

Clock::Data* Clock::make_sorted(const std::vector<Epoch>& epochs) {
    Data* const made = make(epochs.size(), true);
    for (std::size_t i = 0; i < epochs.size(); ++i) words(made)[i] = epochs[i].word();
    return made;
}

void Clock::release() noexcept {
    if (data_ != nullptr && --data_->uses == 0) ::operator delete(data_);
}

Position Clock::find_sorted(Slot slot) const noexcept {
    const std::uint64_t* const first = words(data_);
    const std::uint64_t* const last = first + data_->size;
    const std::uint64_t* const found = std::lower_bound(first, last, Epoch(slot, 0).word());
    if (found == last || epoch_of(*found).slot() != slot) return 0;
    return epoch_of(*found).position();
}

bool Clock::covers(const Clock& other, const HostFloor& floor) const {
    if (other.data_ == data_ || other.data_ == nullptr) return true;
    if (data_ != nullptr && !data_->is_sorted && !other.data_->is_sorted) {
        const std::uint32_t common = std::min(data_->size, other.data_->size);
        const std::uint64_t *const mine = words(data_), *const others = words(other.data_);
        // Mostly it knows all without the floor: no branches, several words at a time. A difference
        // of two positions has the highest bit if the second one is greater.
        std::uint64_t any_is_newer = 0;
        for (Slot i = 0; i < common; ++i) any_is_newer |= mine[i] - others[i];
        Slot slot = any_is_newer >> 63 == 0 ? common : 0;
        while (slot < common && others[slot] <= std::max(mine[slot], floor.at(slot))) ++slot;
        for (; slot >= common && slot < other.data_->size; ++slot)
            if (others[slot] > floor.at(slot)) return false;
        return slot >= other.data_->size;
    }
    bool all = true;
    other.for_each([&](Epoch epoch) { all = all && (covers(epoch) || floor.covers(epoch)); });
    return all;
}

bool Clock::join(const Clock& other, Epoch epoch, const HostFloor& floor) {
    if (!epoch || covers(epoch) || floor.covers(epoch)) epoch = {};
    if (covers(other, floor)) {
        if (!epoch) return false;
        join_one(epoch, floor);
        return true;
    }
    if (data_ == nullptr && !epoch) *this = other;
    else if (fits_dense(epoch) && other.fits_dense(epoch)) join_dense(other, epoch);
    else join_sorted(other, epoch, floor);
    return true;
}

void Clock::join_one(Epoch epoch, const HostFloor& floor) {
    if (fits_dense(epoch)) join_dense({}, epoch);
    else join_sorted({}, epoch, floor);
}

void Clock::join_dense(const Clock& other, Epoch epoch) {
    std::uint32_t size = epoch ? epoch.slot() + 1 : 0;
    for (const Data* const data : {data_, other.data_})
        if (data != nullptr) size = std::max(size, data->size);
    Clock joined;
    joined.data_ = make(size, false);
    std::uint64_t* const to = words(joined.data_);
    std::fill_n(to, size, 0);
    for (const Data* const data : {data_, other.data_})
        for (Slot slot = 0; data != nullptr && slot < data->size; ++slot)
            to[slot] = std::max(to[slot], words(data)[slot]);
    if (epoch) to[epoch.slot()] = std::max(to[epoch.slot()], epoch.position());
    *this = std::move(joined);
}

void Clock::join_sorted(const Clock& other, Epoch epoch, const HostFloor& floor) {
    std::vector<Epoch> all;
    const auto collect = [&](Epoch one) {
        if (!floor.covers(one)) all.push_back(one);
    };
    for_each(collect);
    const auto middle = static_cast<std::ptrdiff_t>(all.size());
    other.for_each(collect);
    const auto by_word = [](Epoch a, Epoch b) { return a.word() < b.word(); };
    std::inplace_merge(all.begin(), all.begin() + middle, all.end(), by_word);
    if (epoch) all.insert(std::upper_bound(all.begin(), all.end(), epoch, by_word), epoch);
    // Of a slot's entries the last one is the greatest.
    std::vector<Epoch> kept;
    for (const Epoch one : all) {
        if (!kept.empty() && kept.back().slot() == one.slot()) kept.back() = one;
        else kept.push_back(one);
    }
    Clock joined;
    joined.data_ = make_sorted(kept);
    *this = std::move(joined);
}

}  // namespace heddle::detail
