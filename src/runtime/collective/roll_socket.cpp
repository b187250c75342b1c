#include "collective/roll_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"

namespace heddle::detail {

namespace {

constinit std::mutex sockets_mutex;
constinit NeverDestroyed<std::vector<int>> open_sockets;  ///< guarded by sockets_mutex
const ForkRegistration sockets_registered{ForkOrder::roll_sockets, sockets_mutex};

void close_sockets() noexcept {
    for (const int fd : open_sockets.get()) ::close(fd);
    open_sockets.get().clear();
}
const ForkStepRegistration sockets_in_children{ForkStep::roll_sockets, &close_sockets};

/// Opens a file descriptor with `open` so that a fork at the same time closes it in the child.
/// Returns -1 on failure, with the reason in errno.
template <class Open> int open_listed(Open&& open) {
    const std::lock_guard lock(sockets_mutex);
    open_sockets.get().reserve(open_sockets.get().size() + 1);
    const int fd = open();
    if (fd >= 0) open_sockets.get().push_back(fd);
    return fd;
}

int or_throw(int fd, const char* call) {
    if (fd < 0)
        coded_error(ErrorCode::native, ErrorSite(call, {}).with_native(errno, std::strerror(errno)),
                    "no socket can be opened: raise the limit of open files (ulimit -n)");
    return fd;
}

}  // namespace

RollSocket RollSocket::open(int family) {
    return RollSocket(or_throw(open_listed([&] {
                                   return ::socket(family,
                                                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                               }),
                               "socket"));
}

RollSocket RollSocket::open_event() {
    return RollSocket(
        or_throw(open_listed([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }), "eventfd"));
}

RollSocket RollSocket::accept(int listener) noexcept try {
    return RollSocket(open_listed(
        [&] { return ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); }));
} catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return {};
}

void RollSocket::close() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd < 0) return;
    const std::lock_guard lock(sockets_mutex);
    // In the child of a fork, the socket is closed already, and another file may have its number.
    if (std::erase(open_sockets.get(), fd) == 0) return;
    // Another thread may be in poll() for this socket, and would keep it open.
    (void)::shutdown(fd, SHUT_RDWR);
    ::close(fd);
}

void RollSocket::prepare() const noexcept {
    const auto set = [&](int level, int name, int value) {
        (void)::setsockopt(fd_, level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);          // seconds without data until the first probe
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);          // seconds between probes
    set(IPPROTO_TCP, TCP_KEEPCNT, 6);            // unanswered probes
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 45'000);  // milliseconds for unanswered data
}

void RollStream::send(const RollMessage& message) {
    if (has_ended_) return;
    constexpr std::size_t most = 64U << 20;  // unsent, to a process that was stopped, for example
    if (out_.size() > most) return end();
    out_.append(reinterpret_cast<const char*>(&message), sizeof message);
    flush();
}

void RollStream::flush() noexcept {
    while (wants_to_send()) {
        const ssize_t sent = ::send(fd(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) out_.erase(0, static_cast<std::size_t>(sent));
        else if (errno == EAGAIN || errno == EWOULDBLOCK) return;
        else if (errno != EINTR) end();
    }
}

void RollStream::receive() {
    char buffer[4096];
    const ssize_t got = ::recv(fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) in_.append(buffer, static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) end();
}

std::optional<RollMessage> RollStream::next() {
    RollMessage message;
    if (in_.size() < sizeof message) return std::nullopt;
    std::memcpy(&message, in_.data(), sizeof message);
    in_.erase(0, sizeof message);
    if (message.magic == RollMessage::own_magic) return message;
    in_.clear();
    end();
    return std::nullopt;
}

}  // namespace heddle::detail
