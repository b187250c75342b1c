// The state of all ranks of a roll call, as one rank of this process knows it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "collective/roll_socket.hpp"

namespace heddle::detail {

/// Guarded by RollHub's lock, except `collectives`. RollHub passes messages that arrive, and
/// notifies `changed` afterwards.
struct RollSeat {
    enum class State : std::uint8_t { here, left, ended, aborted };

    RollSeat(RollSocket socket, std::size_t own_rank, std::size_t ranks)
        : stream(std::move(socket)), rank(own_rank), size(ranks), states(ranks), with_maker(ranks),
          is_here(ranks), counts(ranks) {}
    void handle(const RollMessage& message);
    /// Call once when the stream has ended. The ranks of the process that made the id are lost with
    /// it, except those that have left.
    void note_end();
    bool has_lost() const noexcept;

    RollStream stream;
    std::size_t rank, size;
    std::vector<State> states;                         ///< of all ranks, once all have joined
    std::vector<bool> with_maker;                      ///< ranks of the process that made the id
    std::vector<bool> is_here;                         ///< answers to ask_here
    std::vector<std::optional<std::uint64_t>> counts;  ///< answers to ask_counts
    std::optional<RollMessage> refusal;
    bool is_complete = false;  ///< all ranks have joined
    bool is_broken = false;    ///< see note_end()
    bool knows_here = false;   ///< `is_here` is complete
    bool is_bye_heard = false;
    bool has_news = false;    ///< a rank was lost, and on_loss has not been called since
    bool is_calling = false;  ///< on_loss runs, without the lock
    std::function<void()> on_loss;
    std::condition_variable changed;
    std::atomic<std::uint64_t> collectives{0};  ///< those that this rank has enqueued

private:
    void lose(std::size_t which, State how);
};

}  // namespace heddle::detail
