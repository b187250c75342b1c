#include "core/concurrency/data_past.hpp"

#include <utility>

namespace heddle::detail {

DataPast::DataPast(std::size_t streams) : streams_(streams), slots_(64) {}

std::size_t DataPast::add(Block* block, std::size_t at, std::uint64_t serial) {
    if (2 * (pasts_.size() + 1) > slots_.size()) {
        grow();
        at = slot_of(block);
        while (slots_[at].index != none) at = (at + 1) & (slots_.size() - 1);
    }
    readers_.resize((pasts_.size() + 1) * streams_);
    pasts_.emplace_back(block, serial);
    slots_[at] = {block, static_cast<std::uint32_t>(pasts_.size() - 1)};
    return pasts_.size() - 1;
}

std::uint32_t DataPast::find_group(std::uint64_t memory) {
    // No block has an odd address.
    auto* const key = reinterpret_cast<Block*>((memory & 0xffff) << 7 | 1);
    std::size_t at = slot_of(key);
    while (slots_[at].index != none && slots_[at].block != key) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].index != none) return slots_[at].index;
    const std::size_t index = add(key, at, 0);
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
        std::size_t at = slot_of(slot.block);
        while (slots_[at].index != none) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }
}

}  // namespace heddle::detail
