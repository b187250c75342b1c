// The ends of foreign memory: functions to call after its last use (docs/adr/0071).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/memory/gathering.hpp"
#include <heddle/memory/detail/adopted_memory.hpp>

namespace heddle::detail {

/// The end of one block: the function to call, and links of the lists of endings. Made with the
/// block, so that releasing the block needs little memory. The Waiter waits for the memory's users.
struct HEDDLE_HIDDEN MemoryEnding : Waiter {
    MemoryEnding(std::unique_ptr<MemoryEnd> of_block, Device on_device) noexcept
        : end(std::move(of_block)), device(on_device) {}

    std::unique_ptr<MemoryEnd> end;
    Device device;
    int forks = 0;             ///< forks() of the process that adopted the memory
    std::uint64_t number = 0;  ///< its position among all released endings; 0: not released
    // The list of released endings that have not been called yet, and the thread's queue.
    MemoryEnding* previous = nullptr;
    MemoryEnding* next = nullptr;
    MemoryEnding* next_ready = nullptr;
    StreamRecord* recorded_by = nullptr;   ///< a stream whose batch may keep the block
    std::unique_ptr<Gathering> gathering;  ///< for an end on the host
    /// The users after which the thread has to order an end that takes a stream.
    std::vector<StreamUse> users;
};

/// Makes an ending, and the thread that calls ends. Throws std::bad_alloc and std::system_error.
MemoryEnding* make_ending(std::unique_ptr<MemoryEnd> end, Device device);
/// Counts the block among those that finish_ends() waits for. Call it when the block's last owner
/// has released it, and again when a batch releases the block.
void note_released(const Block& block, std::span<const StreamUse> users) noexcept;
/// Calls the end after all work of these users, or at once if there never was a user. Never blocks.
/// If memory for this is exhausted, returns false and changes nothing.
[[nodiscard]] bool end_memory(const Block& block, std::span<const StreamUse> users) noexcept;

}  // namespace heddle::detail
