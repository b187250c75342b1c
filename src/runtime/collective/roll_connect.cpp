#include "collective/roll_connect.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <vector>

#include <heddle/error.hpp>
#include <poll.h>
#include <sys/socket.h>

namespace heddle::detail {

namespace {

class Attempt {
public:
    Attempt(const SocketAddress& address, std::uint64_t token)
        : stream_(opened(address.family())), token_(token) {
        if (connect(stream_.fd(), address.get(), address.length) == 0) greet();
        else if (errno != EINPROGRESS && errno != EINTR) fail(errno);
    }

    bool has_failed() const noexcept { return has_failed_; }
    int code() const noexcept { return code_; }
    pollfd waits() const noexcept {
        return {stream_.fd(), static_cast<short>(is_connected_ ? POLLIN : POLLOUT), 0};
    }
    /// Continues after poll(). Returns whether the other end knows the roll call.
    bool go_on() {
        if (!is_connected_) {
            int error = 0;
            socklen_t length = sizeof error;
            (void)getsockopt(stream_.fd(), SOL_SOCKET, SO_ERROR, &error, &length);
            if (error != 0) fail(error);
            else greet();
            return false;
        }
        stream_.receive();
        const std::optional<RollMessage> answer = stream_.next();
        if (answer && answer->kind == RollKind::welcome) return true;
        if (answer || stream_.has_ended()) fail(0);
        return false;
    }
    RollSocket take() noexcept { return stream_.take(); }

private:
    static RollSocket opened(int family) {
        RollSocket socket = RollSocket::open(family);
        socket.prepare();
        return socket;
    }
    void greet() {
        is_connected_ = true;
        stream_.send({.kind = RollKind::hello, .value = token_});
        if (stream_.has_ended()) fail(errno);
    }
    void fail(int code) noexcept {
        has_failed_ = true;
        code_ = code;
    }

    RollStream stream_;
    std::uint64_t token_;
    bool is_connected_ = false, has_failed_ = false;
    int code_ = 0;
};

int milliseconds_until(RollClock::time_point until) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - RollClock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

RollClock::time_point end_of_limit(std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 365 * 10);
    return RollClock::now() + (limit.count() == 0 ? longest : std::min(limit, longest));
}

RollSocket connect_roll_call(const RollAddress& address, RollClock::time_point until,
                             std::string& problem, int& code) {
    std::list<Attempt> attempts;
    bool is_unknown = false;
    code = 0;
    const auto drop_failed = [&] {
        std::erase_if(attempts, [&](const Attempt& one) {
            if (!one.has_failed()) return false;
            if (one.code() == 0) is_unknown = true;
            else code = one.code();
            return true;
        });
    };
    for (const HostAddress& host : address.hosts) {
        try {
            attempts.emplace_back(SocketAddress(host, address.port), address.token);
        } catch (const Error& error) {  // this host has no IPv6, for example
            code = error.native_code();
        }
    }
    for (drop_failed(); !attempts.empty(); drop_failed()) {
        std::vector<pollfd> waits;
        for (const Attempt& one : attempts) waits.push_back(one.waits());
        if (poll(waits.data(), waits.size(), milliseconds_until(until)) == 0 &&
            RollClock::now() >= until) {
            code = 0;
            problem = "it does not answer";
            return {};
        }
        auto wait = waits.begin();
        for (Attempt& one : attempts)
            if ((wait++)->revents != 0 && one.go_on()) return one.take();
    }
    if (is_unknown) code = 0;
    problem = is_unknown ? "the id is not known there" : std::strerror(code);
    return {};
}

}  // namespace heddle::detail
