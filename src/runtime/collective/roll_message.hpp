// The messages between the ranks of a roll call and the process that holds it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace heddle::detail {

/// The kinds of messages. `rank`, `value` and `other` are members of RollMessage.
enum class RollKind : std::uint32_t {
    // From a rank to the process that made the id:
    hello = 1,   ///< `value` is the roll call's token
    join,        ///< this is rank `rank` of `value` ranks; `other` identifies its process
    ask_here,    ///< which ranks have joined?
    ask_counts,  ///< how many collectives has each rank enqueued? Passed on to all other ranks,
                 ///< with the number of the rank that asks in `rank`
    count,       ///< an answer for rank `rank`: this rank has enqueued `value`. When the answer
                 ///< reaches rank `rank`, the member is the number of the rank that answers
    bye,         ///< this rank leaves; `value` is 1 if it has aborted
    // To a rank:
    welcome,      ///< the token is known
    refused,      ///< this rank cannot join: `value` is a RollRefusal
    here,         ///< rank `rank` has joined; part of the answer to ask_here
    end_of_here,  ///< the end of that answer
    with_maker,   ///< rank `rank` belongs to the process that made the id
    all_here,     ///< all ranks have joined
    gone,         ///< rank `rank` is lost; `value` is 1 if it has aborted
    left,         ///< rank `rank` has left in order
    bye_heard,    ///< this rank's bye was sent to the other ranks
};

/// Why ranks are refused.
enum class RollRefusal : std::uint64_t {
    size = 1,  ///< the size of rank `rank` is `other` / 2^32, but before it was `other` % 2^32
    taken,     ///< two ranks have the number `rank`
    complete,  ///< all ranks have joined already
};

struct RollMessage {
    static constexpr std::uint32_t own_magic = 0x6c6f7248;

    RollKind kind = RollKind::hello;
    std::uint64_t rank = 0, value = 0, other = 0;
    std::uint32_t magic = own_magic;
};
static_assert(std::is_trivially_copyable_v<RollMessage>);

/// The largest number of ranks of a roll call.
inline constexpr std::uint64_t most_roll_ranks = 1U << 20;

}  // namespace heddle::detail
