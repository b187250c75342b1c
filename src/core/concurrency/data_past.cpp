#include "core/concurrency/data_past.hpp"

#include <utility>

namespace heddle::detail {

DataPast::DataPast(std::size_t lanes) : lanes_(lanes), slots_(64) {}

std::size_t DataPast::add(Block* block, std::size_t place, std::uint64_t serial) {
    if (2 * (pasts_.size() + 1) > slots_.size()) {
        grow();
        place = place_of(block);
        while (slots_[place].index != none) place = (place + 1) & (slots_.size() - 1);
    }
    readers_.resize((pasts_.size() + 1) * lanes_);
    pasts_.emplace_back(block, serial);
    slots_[place] = {block, static_cast<std::uint32_t>(pasts_.size() - 1)};
    return pasts_.size() - 1;
}

void DataPast::begin_anew(std::size_t index, std::uint64_t serial) noexcept {
    pasts_[index] = BlockPast(pasts_[index].block, serial);
}

void DataPast::grow() {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    for (const Slot& slot : old) {
        if (slot.index == none) continue;
        std::size_t place = place_of(slot.block);
        while (slots_[place].index != none) place = (place + 1) & (slots_.size() - 1);
        slots_[place] = slot;
    }
}

}  // namespace heddle::detail
