// The roll calls of this process: its connections, and the one thread that serves them.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "collective/roll_seat.hpp"
#include "collective/roll_server.hpp"
#include <heddle/location.hpp>

namespace heddle::detail {

/// Exists once in a process, and is never destroyed. Its thread blocks in poll(), so it costs
/// nothing while nothing happens, and it does not keep the process alive. The child of a fork has a
/// new hub.
class RollHub {
public:
    /// Guards all of the hub, its clients and its seats. Held across fork().
    static std::mutex& mutex() noexcept;
    static RollHub& get();

    RollHub() = default;
    RollHub(const RollHub&) = delete;
    RollHub& operator=(const RollHub&) = delete;

    /// Listens, unless it does so already. Begins a roll call with this token. Returns the port.
    /// Throws NativeError.
    std::uint16_t open(std::uint64_t token, const SourceLocation& where);
    /// Lets the thread serve the seat's connection. Throws NativeError.
    void add(std::shared_ptr<RollSeat> seat, const SourceLocation& where);
    /// Ends the connection of the seat, and waits until on_loss has returned. Then on_loss is not
    /// called any more. Call with the lock held, which is released meanwhile.
    void remove(RollSeat& seat, std::unique_lock<std::mutex>& lock) noexcept;
    /// Returns a random number that identifies this process.
    std::uint64_t process(const SourceLocation& where);
    /// Lets the thread send the rest of messages that RollStream::send() could not send.
    /// Thread-safe.
    void wake() noexcept;

private:
    struct Round;

    void start(const SourceLocation& where);
    [[noreturn]] void run() noexcept;
    void list(Round& round);
    void serve(const Round& round);
    void accept_clients();
    void drop_strangers();
    /// Handles the ends of connections, and calls on_loss where ranks were lost.
    void settle(std::unique_lock<std::mutex>& lock);

    bool has_thread_ = false;
    RollSocket event_, listener_;
    std::uint16_t port_ = 0;
    std::uint64_t process_ = 0;
    std::int64_t no_accept_until_ = 0;
    RollServer server_;
    std::list<RollClient> clients_;
    std::list<std::shared_ptr<RollSeat>> seats_;
};

/// Returns 8 random bytes, not 0. Throws NativeError.
std::uint64_t random_number(const SourceLocation& where);

}  // namespace heddle::detail
