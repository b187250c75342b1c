#include "core/concurrency/data_past.hpp"

#include <utility>

namespace heddle::detail {

DataPast::DataPast(std::size_t streams) : streams_(streams), slots_(64) {}

std::size_t DataPast::add(Block* block, std::size_t place, std::uint64_t serial) {
    if (2 * (pasts_.size() + 1) > slots_.size()) {
        grow();
        place = place_of(block);
        while (slots_[place].index != none) place = (place + 1) & (slots_.size() - 1);
    }
    readers_.resize((pasts_.size() + 1) * streams_);
    pasts_.emplace_back(block, serial);
    slots_[place] = {block, static_cast<std::uint32_t>(pasts_.size() - 1)};
    return pasts_.size() - 1;
}

std::uint32_t DataPast::find_group(std::uint64_t memory) {
    // No block has an odd address.
    auto* const key = reinterpret_cast<Block*>((memory & 0xffff) << 7 | 1);
    std::size_t place = place_of(key);
    while (slots_[place].index != none && slots_[place].block != key)
        place = (place + 1) & (slots_.size() - 1);
    if (slots_[place].index != none) return slots_[place].index;
    const std::size_t index = add(key, place, 0);
    pasts_[index] = BlockPast(nullptr, 0);
    return static_cast<std::uint32_t>(index);
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
