#include "collective/roll_hub.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <unordered_map>

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/base/signals_blocked.hpp"

namespace heddle::detail {

namespace {

constexpr std::int64_t second = 1'000'000'000;
/// How long a connection may stay open without joining.
constexpr std::int64_t patience_with_strangers = 60 * second;
constexpr std::size_t most_strangers = 1024;

constinit std::mutex hub_mutex;
const ForkRegistration hub_registered{ForkOrder::roll_calls, hub_mutex};
constinit MadeOnce<RollHub> hub;
const ForkStepRegistration hub_in_children{ForkStep::roll_calls, +[]() noexcept { hub.forget(); }};

[[noreturn]] void throw_errno(const char* call, const SourceLocation& where) {
    coded_error(ErrorCode::native, ErrorSite(call, where).with_native(errno, std::strerror(errno)),
                "this process cannot listen for the ranks of a communicator");
}

/// Returns a socket that listens at all addresses of this host, and sets `port`.
RollSocket listen(std::uint16_t& port, const SourceLocation& where) {
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_addr = in6addr_any;
    sockaddr_in any4{};
    any4.sin_family = AF_INET;
    const auto bound = [&](int family, const void* address, socklen_t length) {
        RollSocket socket = RollSocket::open(family);
        const int off = 0;
        if (family == AF_INET6)
            (void)setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        if (bind(socket.fd(), static_cast<const sockaddr*>(address), length) != 0)
            throw_errno("bind", where);
        return socket;
    };
    RollSocket socket;
    try {
        socket = bound(AF_INET6, &any6, sizeof any6);
    } catch (const Error&) {  // this host has no IPv6
        socket = bound(AF_INET, &any4, sizeof any4);
    }
    if (::listen(socket.fd(), SOMAXCONN) != 0) throw_errno("listen", where);
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
        throw_errno("getsockname", where);
    port = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(own).sin_port);
    return socket;
}

}  // namespace

/// One call of poll().
struct RollHub::Round {
    std::vector<pollfd> all;
    int timeout_ms = -1;
    std::unordered_map<int, short> events = {};  ///< the results, by file descriptor

    void add(const RollStream& stream) {
        add(stream.fd(), static_cast<short>(stream.wants_to_send() ? POLLIN | POLLOUT : POLLIN));
    }
    void add(int fd, short wanted) { all.push_back({fd, wanted, 0}); }
    void wait() {
        if (poll(all.data(), all.size(), timeout_ms) <= 0) return;
        for (const pollfd& one : all)
            if (one.revents != 0) events.emplace(one.fd, one.revents);
    }
    short at(int fd) const {
        const auto found = events.find(fd);
        return found == events.end() ? short{0} : found->second;
    }
};

std::mutex& RollHub::mutex() noexcept { return hub_mutex; }
RollHub& RollHub::get() { return hub.get(); }

std::uint64_t random_number(const SourceLocation& where) {
    std::uint64_t number = 0;
    while (number == 0)
        if (getentropy(&number, sizeof number) != 0) throw_errno("getentropy", where);
    return number;
}

std::uint64_t RollHub::process(const SourceLocation& where) {
    if (process_ == 0) process_ = random_number(where);
    return process_;
}

std::uint16_t RollHub::open(std::uint64_t token, const SourceLocation& where) {
    if (!listener_) listener_ = detail::listen(port_, where);
    start(where);
    server_.open(token, process(where));
    wake();
    return port_;
}

void RollHub::add(std::shared_ptr<RollSeat> seat, const SourceLocation& where) {
    start(where);
    seats_.push_back(std::move(seat));
    wake();
}

void RollHub::remove(RollSeat& seat, std::unique_lock<std::mutex>& lock) noexcept {
    std::erase_if(seats_, [&](const std::shared_ptr<RollSeat>& one) { return one.get() == &seat; });
    seat.stream.end();
    seat.stream.take().close();
    seat.changed.wait(lock, [&] { return !seat.is_calling; });
    seat.on_loss = nullptr;
}

void RollHub::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!write(event_.fd(), &one, sizeof one);
}

void RollHub::start(const SourceLocation& where) {
    if (has_thread_) return;
    if (!event_) event_ = RollSocket::open_event();
    try {
        const SignalsBlocked blocked;
        std::thread thread([this] { run(); });
        pthread_setname_np(thread.native_handle(), "heddle-roll");
        thread.detach();
        has_thread_ = true;
    } catch (const std::system_error& failure) {
        errno = failure.code().value();
        throw_errno("pthread_create", where);
    }
}

void RollHub::run() noexcept {
    for (;;) {
        try {
            Round round;
            {
                const std::lock_guard lock(hub_mutex);
                list(round);
            }
            round.wait();
            std::unique_lock lock(hub_mutex);
            serve(round);
            settle(lock);
        } catch (...) {  // memory has run out
            report(std::current_exception());
            decision_pause(second / 10);
        }
    }
}

void RollHub::list(Round& round) {
    round.add(event_.fd(), POLLIN);
    if (listener_) {
        if (now_ns() >= no_accept_until_) round.add(listener_.fd(), POLLIN);
        else round.timeout_ms = 100;
    }
    for (const RollClient& client : clients_) {
        round.add(client.stream);
        if (!client.is_seated && round.timeout_ms < 0) round.timeout_ms = 1000;
    }
    for (const std::shared_ptr<RollSeat>& seat : seats_) round.add(seat->stream);
}

void RollHub::serve(const Round& round) {
    std::uint64_t wakes = 0;
    if (round.at(event_.fd()) != 0) (void)!read(event_.fd(), &wakes, sizeof wakes);
    const auto exchange = [&](RollStream& stream, auto&& handle) {
        const short events = round.at(stream.fd());
        if ((events & POLLOUT) != 0) stream.flush();
        if ((events & (POLLIN | POLLHUP | POLLERR)) == 0) return;
        stream.receive();
        while (const std::optional<RollMessage> message = stream.next()) handle(*message);
    };
    for (RollClient& client : clients_)
        exchange(client.stream,
                 [&](const RollMessage& message) { server_.handle(client, message); });
    for (const std::shared_ptr<RollSeat>& seat : seats_)
        exchange(seat->stream, [&](const RollMessage& message) {
            seat->handle(message);
            seat->changed.notify_all();
        });
    if (listener_ && round.at(listener_.fd()) != 0) accept_clients();
    drop_strangers();
}

void RollHub::accept_clients() {
    for (;;) {
        RollSocket socket = RollSocket::accept(listener_.fd());
        if (!socket) break;
        socket.prepare();
        clients_.push_back({RollStream(std::move(socket)), now_ns()});
    }
    // Too many files are open, for example. Until that changes, poll() would return at once.
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED)
        no_accept_until_ = now_ns() + second / 10;
}

void RollHub::drop_strangers() {
    auto strangers = static_cast<std::size_t>(
        std::ranges::count_if(clients_, [](const RollClient& one) { return !one.is_seated; }));
    const std::int64_t oldest = now_ns() - patience_with_strangers;
    for (RollClient& client : clients_) {  // the oldest first
        if (client.is_seated || (client.since >= oldest && strangers <= most_strangers)) continue;
        client.stream.end();
        --strangers;
    }
}

void RollHub::settle(std::unique_lock<std::mutex>& lock) {
    // Messages to the others may end their streams, too.
    const auto ended = [](const RollClient& client) { return client.stream.has_ended(); };
    for (auto at = clients_.begin();
         (at = std::find_if(clients_.begin(), clients_.end(), ended)) != clients_.end();) {
        server_.note_end(*at);
        clients_.erase(at);
    }
    std::vector<std::shared_ptr<RollSeat>> with_news;
    for (auto at = seats_.begin(); at != seats_.end();) {
        const std::shared_ptr<RollSeat> seat = *at;
        const bool has_ended = seat->stream.has_ended();
        if (has_ended) {
            seat->note_end();
            seat->changed.notify_all();
        }
        if (seat->has_news && seat->on_loss) {
            seat->has_news = false;
            seat->is_calling = true;
            with_news.push_back(seat);
        }
        at = has_ended ? seats_.erase(at) : std::next(at);
    }
    for (const std::shared_ptr<RollSeat>& seat : with_news) {
        lock.unlock();
        seat->on_loss();
        lock.lock();
        seat->is_calling = false;
        seat->changed.notify_all();
    }
}

}  // namespace heddle::detail
