// Roll calls: the ranks of a communicator meet before NCCL connects them, and learn of each other's
// end afterwards. Plain sockets, without NCCL and CUDA. (docs/adr/0081)
//
// The process that makes an id listens. Each rank connects to it, joins with its number, and stays
// connected. A connection that ends without a bye is a rank that was lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "collective/roll_address.hpp"
#include <heddle/location.hpp>

namespace heddle::detail {

struct RollSeat;

/// How long to wait for the answers of other ranks. Their processes answer at once.
inline constexpr std::chrono::milliseconds patience_for_counts = std::chrono::seconds(2);

/// One rank's membership. Thread-safe, except the destructor. In the child of a fork, its functions
/// have no effect.
class RollMember {
public:
    /// Made by join_roll_call().
    explicit RollMember(std::shared_ptr<RollSeat> seat) noexcept;
    /// Without a call of leave() or abort() before, the other ranks lose this rank.
    ~RollMember();
    RollMember(const RollMember&) = delete;
    RollMember& operator=(const RollMember&) = delete;

    std::size_t rank() const noexcept;
    std::size_t size() const noexcept;
    /// Leaves in order: the other ranks do not count this rank as lost. Waits until this is on its
    /// way to them, but not long.
    void leave() noexcept { say_bye(false); }
    /// Leaves because this rank takes part in no collective any more: the other ranks lose it.
    void abort() noexcept { say_bye(true); }
    /// Sets a function that is called when ranks are lost, also if they were lost before. It runs
    /// on the calling thread or on the thread of all roll calls, so it must not block. It is not
    /// called after leave(), abort() or the destructor has returned.
    void on_loss(std::function<void()> function);
    /// Returns for example "rank 1 of 2 has ended", or an empty string if no rank is lost.
    std::string lost() const;
    /// The same, but first asks the other ranks: once they have answered, the news of a rank that
    /// ended before this call has arrived.
    std::string ask_lost() const;
    /// Counts a collective that this rank has enqueued.
    void count() noexcept;
    /// Asks all ranks how many collectives they have enqueued. Waits for their answers, `patience`
    /// at most. Returns a sentence that names those that do not take part.
    std::string absentees(std::chrono::milliseconds patience) const;

private:
    void say_bye(bool aborts) noexcept;

    std::shared_ptr<RollSeat> seat_;
    int forks_;
};

/// Returns "600 s" or "250 ms".
std::string time_text(std::chrono::milliseconds time);

/// Begins a roll call in this process. Throws NativeError.
RollAddress open_roll_call(const SourceLocation& where);

/// Joins as one rank of `size`. Blocks until all ranks have joined. A limit of 0 is none.
/// Throws RankLost if not all of them join within the limit, or if the process that began the roll
/// call cannot be reached; UsageError if ranks have joined with other sizes, if two have the same
/// number, or if all ranks have joined already.
std::unique_ptr<RollMember> join_roll_call(const RollAddress& address, std::size_t rank,
                                           std::size_t size, std::chrono::milliseconds limit,
                                           const SourceLocation& where);

}  // namespace heddle::detail
