// Norms in flight. The devices write norms to pinned memory, and the host reads each norm once it
// has arrived.
#pragma once

#include <cmath>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <heddle/heddle.hpp>

#include "problem.hpp"

namespace heat {

/// A ring of slots for norms that the host reads later. A norm has a sum for each band. The host
/// adds them in the order of bands, so the result does not depend on the devices.
class Norms {
public:
    Norms(std::size_t bands, int slots) : bands_(bands) {
        sums_ = heddle::pinned<double>(bands * static_cast<std::size_t>(slots));
        slots_.resize(static_cast<std::size_t>(slots));
    }

    int slots() const { return static_cast<int>(slots_.size()); }
    heddle::View<double> sums(int slot) {
        return sums_.view().subview(static_cast<std::size_t>(slot) * bands_, bands_);
    }

    /// Frees a slot: reads its last norm, and waits for that norm if necessary. During the wait,
    /// the devices still have the work of all other slots.
    void make_free(int slot) {
        while (slots_[static_cast<std::size_t>(slot)].pending) take();
    }
    /// The points at which a norm is complete: an event for each stream.
    using Points = std::shared_ptr<const std::vector<heddle::Event>>;
    static Points here(const std::vector<heddle::StreamRef>& streams) {
        std::vector<heddle::Event> points;
        for (const heddle::StreamRef stream : streams) points.push_back(stream.record_event());
        return std::make_shared<const std::vector<heddle::Event>>(std::move(points));
    }
    /// Declares that the slot will have this iteration's norm once all of the events have
    /// completed.
    void expect(int slot, int iteration, Points points) {
        slots_[static_cast<std::size_t>(slot)] = {iteration, true, std::move(points)};
        order_.push_back(slot);
    }
    /// Reads all norms that have arrived, without waiting.
    void look() {
        while (!order_.empty() && has_arrived(slots_[static_cast<std::size_t>(order_.front())]))
            take();
    }
    void finish() {
        while (!order_.empty()) take();
    }
    const std::vector<Norm>& seen() const { return seen_; }
    void clear() { seen_.clear(); }

private:
    struct Slot {
        int iteration = 0;
        bool pending = false;
        Points reached = nullptr;
    };
    static bool has_arrived(const Slot& slot) {
        for (const heddle::Event& event : *slot.reached)
            if (!event.is_complete()) return false;
        return true;
    }
    void take() {
        const int index = order_.front();
        Slot& slot = slots_[static_cast<std::size_t>(index)];
        for (const heddle::Event& event : *slot.reached) event.synchronize();
        double sum = 0;
        const heddle::View<const double> bands = sums(index);
        for (const double band : heddle::on_host(bands)) sum += band;
        seen_.push_back({slot.iteration, std::sqrt(sum)});
        slot.pending = false;
        order_.pop_front();
    }

    std::size_t bands_;
    heddle::Array<double> sums_;
    std::vector<Slot> slots_;
    std::deque<int> order_;  ///< indices of the pending slots
    std::vector<Norm> seen_;
};

}  // namespace heat
