// A bounded table that keeps the most recently used values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "check/clock.hpp"

namespace heddle::detail {

/// Stores up to a fixed number of values, by number. When full, it drops the least recently used
/// half, and merges the moments of these values into the clock forgotten(). Use forgotten() in
/// place of a missing value: it may hide races, but never causes false reports. Value must have a
/// function each_moment(f) that calls f(const Moment&).
template <class Value> class Recent {
public:
    explicit Recent(std::size_t most) : most_(most) {}

    Value* find(std::uint64_t id) {
        const auto found = all_.find(id);
        if (found == all_.end()) return nullptr;
        found->second.used = ++uses_;
        return &found->second.value;
    }
    bool has(std::uint64_t id) const { return all_.contains(id); }
    template <class F> void for_each(F&& f) const {
        for (const auto& [id, kept] : all_) f(kept.value);
    }
    /// Returns the value with this number. Creates it if there is none.
    Value& at(std::uint64_t id, const HostFloor& floor) {
        if (Value* const known = find(id)) return *known;
        if (all_.size() == most_) forget_half(floor);
        Kept& made = all_[id];
        made.used = ++uses_;
        return made.value;
    }
    const Clock& forgotten() const noexcept { return forgotten_; }
    std::size_t size() const noexcept { return all_.size(); }

private:
    struct Kept {
        Value value;
        std::uint64_t used = 0;
    };

    void forget_half(const HostFloor& floor) {
        std::vector<std::uint64_t> used;
        for (const auto& [id, kept] : all_) used.push_back(kept.used);
        const auto middle = used.begin() + static_cast<std::ptrdiff_t>(used.size() / 2);
        std::nth_element(used.begin(), middle, used.end());
        std::erase_if(all_, [&](auto& entry) {
            if (entry.second.used >= *middle) return false;
            entry.second.value.each_moment(
                [&](const Moment& moment) { forgotten_.join(moment.before, moment.at, floor); });
            return true;
        });
    }

    std::unordered_map<std::uint64_t, Kept> all_;
    const std::size_t most_;
    std::uint64_t uses_ = 0;
    Clock forgotten_;
};

}  // namespace heddle::detail
