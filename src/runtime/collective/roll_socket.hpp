// Sockets of roll calls. The child of a fork closes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "collective/roll_message.hpp"

namespace heddle::detail {

/// An open socket, or none. It is closed by exec() and in the child of a fork: otherwise a child
/// would keep connections of its parent open after the parent has ended. Does not block. Different
/// objects may be used by different threads.
class RollSocket {
public:
    /// Creates a TCP socket. Throws NativeError.
    static RollSocket open(int family);
    /// Creates an eventfd, which wakes poll(). Throws NativeError.
    static RollSocket open_event();
    /// Accepts a connection. Returns no socket if there is none, with the reason in errno.
    static RollSocket accept(int listener) noexcept;

    RollSocket() noexcept = default;
    RollSocket(RollSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    RollSocket& operator=(RollSocket&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~RollSocket() { close(); }

    int fd() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    void close() noexcept;
    /// Sends small messages at once, and lets the kernel notice a dead host within a minute.
    void prepare() const noexcept;

private:
    explicit RollSocket(int fd) noexcept : fd_(fd) {}
    int fd_ = -1;
};

/// A connection with its buffers. Not thread-safe.
class RollStream {
public:
    explicit RollStream(RollSocket socket) noexcept : socket_(std::move(socket)) {}

    int fd() const noexcept { return socket_.fd(); }
    /// Returns whether the connection has failed, has been closed, or carried something that is no
    /// message. Messages received before that can still be taken.
    bool has_ended() const noexcept { return has_ended_; }
    bool wants_to_send() const noexcept { return !out_.empty() && !has_ended_; }
    /// Sends a message, now or in later calls of flush().
    void send(const RollMessage& message);
    void flush() noexcept;
    /// Receives data that has arrived.
    void receive();
    /// Returns the next complete message. Returns an empty optional if there is none.
    std::optional<RollMessage> next();
    void end() noexcept { has_ended_ = true; }
    RollSocket take() noexcept { return std::move(socket_); }

private:
    RollSocket socket_;
    std::string in_, out_;
    bool has_ended_ = false;
};

}  // namespace heddle::detail
