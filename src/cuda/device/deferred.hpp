// Chores: cleanup of heddle's own that cannot be done at once, and its retries.
#pragma once

#include <cstddef>
#include <functional>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// Defers an action that is impossible now: in a callback, or while a capture is in its way.
/// do_chores() and a background thread retry it, so that it runs soon whatever the program calls.
void defer(Gpu& g, std::function<void()> action);
/// Call with chores_mutex held, after changing what it guards. Updates the counter, and starts the
/// background retries if they are needed.
void note_chores(Gpu& g) noexcept;
/// Recycles closed streams whose work is done, frees memory whose users are done, and retries
/// deferred actions.
void do_chores_now(Gpu& g) noexcept;
inline void do_chores(Gpu& g) noexcept {
    if (g.chores.load(std::memory_order_relaxed) != 0) [[unlikely]]
        do_chores_now(g);
}
/// The same until nothing more can be done.
void finish_chores(Gpu& g) noexcept;
/// Checks up to `at_once` entries of later_frees, and frees the memory whose users are done.
/// (memory/memory.cpp)
void do_later_frees(Gpu& g, std::size_t at_once) noexcept;
/// Releases memory of shareable and imported arrays that nothing uses any more. Waits for all work
/// of the device. Returns false if there was no such memory, or if a GPU waits for a CPU stream
/// now. (memory/interprocess.cpp)
bool give_unused_shared_memory_back(int device) noexcept;
/// Destroys executables with conditional nodes that nothing refers to any more, and that are kept
/// for other graphs. Waits for work of the device. Returns false if there were none, or if a GPU
/// waits for a CPU stream now. (graph/spares.cpp)
bool destroy_kept_graphs(int device) noexcept;
/// Recycles a closed stream's record if its work is done. Returns false if it is not yet.
/// (stream/stream.cpp)
bool bury(Gpu& g, Zombie& zombie) noexcept;

}  // namespace heddle::detail::cu
