// The holder's part of roll calls, in the process that made their ids. Does no input or output of
// its own: RollHub passes messages that arrive.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collective/roll_socket.hpp"

namespace heddle::detail {

/// A connection from a rank, or from a stranger, to this process.
struct RollClient {
    RollStream stream;
    std::int64_t since;       ///< when it was accepted (now_ns())
    std::uint64_t token = 0;  ///< 0 until its hello
    bool is_seated = false;   ///< it has joined as `rank`
    std::uint64_t rank = 0;
};

/// The roll calls that this process holds. Call with RollHub's lock held.
class RollServer {
public:
    /// Begins a roll call. `process` identifies this process in messages of the kind `join`.
    void open(std::uint64_t token, std::uint64_t process);
    /// Ends the client's stream if the client does not behave like a rank.
    void handle(RollClient& client, const RollMessage& message);
    /// Call once when a client's stream has ended.
    void note_end(RollClient& client);

private:
    struct Seat {
        RollClient* client = nullptr;  ///< null if nobody has joined, and after the rank's end
        std::uint64_t process = 0;
    };
    struct Roll {
        std::uint64_t process = 0;
        std::vector<Seat> seats;
        std::size_t here = 0;  ///< clients that are seated
        bool is_complete = false;
        std::optional<RollMessage> refusal = {};
    };
    void join(Roll& roll, RollClient& client, const RollMessage& message);
    static void complete(Roll& roll);
    static void tell_others(Roll& roll, const RollClient& client, const RollMessage& message);
    /// Frees the client's seat. Drops the roll call if it is complete and no rank is left.
    void unseat(Roll& roll, RollClient& client);

    std::map<std::uint64_t, Roll> rolls_;  ///< by token
};

}  // namespace heddle::detail
