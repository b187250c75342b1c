// Roll calls: the ranks of a communicator meet, and the missing ones are named.
#include "collective/roll_calls.hpp"
#include "collective/roll_message.hpp"
#include "collective/roll_run.hpp"

#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

using namespace heddle_test;
using namespace std::chrono_literals;
using detail::RollMessage;
using detail::RollRun;
using detail::run_unless_lost;

namespace {

/// A connection to the address, like that of a port scanner.
class Stranger {
public:
    explicit Stranger(const RollAddress& address) {
        const detail::SocketAddress to(address.hosts.front(), address.port);
        fd_ = socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd_, to.get(), to.length) != 0) throw std::runtime_error("cannot connect");
    }
    ~Stranger() { close(fd_); }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    void send(const void* data, std::size_t bytes) const {
        CHECK(::send(fd_, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
    }
    /// Blocks until the other end has closed the connection. Returns false if it answers.
    bool is_rejected() const {
        char byte = 0;
        return recv(fd_, &byte, 1, 0) <= 0;
    }

private:
    int fd_;
};

}  // namespace

TEST_CASE("an address of a roll call is the same after it was sent as bytes") {
    RollAddress address{.token = 17, .port = 4711, .hosts = {{4, {10, 0, 0, 7}}, {6, {0xfd}}}};
    const RollAddress same = address_of(hex_of(address));
    CHECK(same.token == 17);
    CHECK(same.port == 4711);
    CHECK(same.hosts == address.hosts);
    CHECK(text_of(same) == "10.0.0.7:4711, [fd00::]:4711");
    CHECK(RollAddress::decode(std::array<std::byte, RollAddress::size>{}).port == 0);
    const Error refused = thrown_by([] { join({}, 0, 1); });
    CHECK(refused.code() == ErrorCode::usage);
}

TEST_CASE("this host has addresses") {
    CHECK_FALSE(detail::own_addresses().empty());
    CHECK(detail::own_addresses().size() <= RollAddress::most_hosts);
}

TEST_CASE("all ranks join a roll call, and none is lost") {
    for (const std::size_t size : {1u, 2u, 9u}) {
        const std::vector<Member> members = join_all(open_roll_call({}), size);
        for (std::size_t i = 0; i < size; ++i) {
            CHECK(members[i]->rank() == i);
            CHECK(members[i]->size() == size);
            CHECK(members[i]->lost().empty());
        }
    }
}

TEST_CASE("many roll calls at once do not disturb each other") {
    constexpr std::size_t calls = 12, size = 3;
    std::vector<RollAddress> addresses;
    for (std::size_t i = 0; i < calls; ++i) addresses.push_back(open_roll_call({}));
    std::vector<Member> members(calls * size);
    on_threads(calls * size,
               [&](std::size_t i) { members[i] = join(addresses[i % calls], i / calls, size); });
    members[calls].reset();  // rank 1 of the first one, without a bye
    CHECK(eventually([&] { return members[0]->lost() == "rank 1 of 3 has ended"; }));
    for (std::size_t i = 1; i < calls; ++i) CHECK(members[i]->lost().empty());
}

TEST_CASE("a rank that does not come within the limit is named, and may come later") {
    const RollAddress address = open_roll_call({});
    Threads other(1, [&] { (void)join(address, 2, 4); });
    std::string text;
    CHECK(eventually([&] {  // until rank 2 has joined
        const Error error = thrown_by([&] { join_roll_call(address, 0, 4, 20ms, {}); });
        CHECK(error.code() == ErrorCode::rank_lost);
        text = error.what();
        return text.find("ranks 1 and 3 of 4 have not joined within 20 ms") != std::string::npos;
    }));
    INFO(text);
    on_threads(3, [&](std::size_t i) { (void)join(address, i == 2 ? 3 : i, 4); });
    other.join();
}

TEST_CASE("two ranks with one number end, and so do the others") {
    const RollAddress address = open_roll_call({});
    OrderLog seen;
    on_threads(3, [&](std::size_t i) {
        const auto error = error_of([&] { join(address, i == 2 ? 1 : i, 3); });
        if (error && error->code() == ErrorCode::usage) seen.add(error->what());
    });
    CHECK(seen.seen().size() == 3);
    for (const std::string& text : seen.seen())
        CHECK_THAT(text, contains("two ranks of this communicator have the number 1"));
}

TEST_CASE("ranks with different sizes end") {
    const RollAddress address = open_roll_call({});
    OrderLog seen;
    on_threads(2, [&](std::size_t i) {
        const auto error = error_of([&] { join(address, i, 3 + i); });
        if (error && error->code() == ErrorCode::usage) seen.add(error->what());
    });
    CHECK(seen.seen().size() == 2);
    for (const std::string& text : seen.seen())
        CHECK_THAT(text, contains("as one of 3 ranks, but earlier ranks as some of 4") ||
                             contains("as one of 4 ranks, but earlier ranks as some of 3"));
}

TEST_CASE("a rank that comes after all ranks is refused, and disturbs nobody") {
    const RollAddress address = open_roll_call({});
    const std::vector<Member> members = join_all(address, 2);
    const Error refused = thrown_by([&] { join(address, 1, 2); });
    CHECK(refused.code() == ErrorCode::usage);
    CHECK_THAT(refused.what(), contains("all ranks of this id have joined already"));
    CHECK(members[0]->lost().empty());
    CHECK(members[1]->lost().empty());
}

TEST_CASE("a rank that leaves is not lost; one that aborts is") {
    const std::vector<Member> members = join_all(open_roll_call({}), 3);
    Flag told;
    members[0]->on_loss([told] { told.set(); });
    members[1]->leave();
    CHECK(eventually(
        [&] { return members[0]->absentees(1min).find("rank 1 has left") != std::string::npos; }));
    CHECK(members[0]->lost().empty());
    CHECK_FALSE(told.is_set());
    members[2]->abort();
    CHECK(told.wait());
    CHECK(members[0]->lost() == "rank 2 of 3 has aborted");
    Flag told_later;
    members[0]->on_loss([told_later] { told_later.set(); });
    CHECK(told_later.is_set());
}

TEST_CASE("several lost ranks are named together") {
    std::vector<Member> members = join_all(open_roll_call({}), 12);
    for (std::size_t i = 1; i < 4; ++i) members[i].reset();
    CHECK(eventually([&] { return members[0]->lost() == "ranks 1, 2 and 3 of 12 have ended"; }));
    for (std::size_t i = 4; i < 12; ++i) members[i].reset();
    CHECK(eventually([&] {
        return members[0]->lost() == "ranks 1, 2, 3, 4, 5, 6, 7 and 4 others of 12 have ended";
    }));
}

TEST_CASE("ranks that have enqueued fewer collectives are named") {
    const std::vector<Member> members = join_all(open_roll_call({}), 3);
    for (const Member& one : members) one->count();
    CHECK_THAT(members[0]->absentees(1min), contains("no rank has enqueued fewer"));
    members[0]->count();
    members[1]->count();
    CHECK(members[0]->absentees(1min) == "rank 2 has enqueued 1 collectives, but this rank 2");
    CHECK_THAT(members[2]->absentees(1min), contains("no rank has enqueued fewer"));
}

TEST_CASE("a call that ends while no rank is lost has ended, and is not undone") {
    const std::vector<Member> members = join_all(open_roll_call({}), 2);
    for (const std::chrono::milliseconds limit : {no_limit, std::chrono::milliseconds(1h)}) {
        const Flag called, undone;
        CHECK(run_unless_lost(
                  *members[0], limit, [called] { called.set(); }, [undone] { undone.set(); }) ==
              RollRun::ended);
        CHECK(called.is_set());
        CHECK_FALSE(undone.is_set());
    }
    Flag told;  // the member has no function of these calls any more
    members[0]->on_loss([told] { told.set(); });
    members[1]->abort();
    CHECK(told.wait());
}

TEST_CASE("a call that does not return is left when a rank is lost, and undone later") {
    for (const bool is_lost_before : {false, true}) {
        std::vector<Member> members = join_all(open_roll_call({}), 3);
        const Flag called, gate, undone;
        Threads ends(1, [&] {
            if (!is_lost_before) (void)called.wait();
            members[1].reset();
        });
        if (is_lost_before) CHECK(eventually([&] { return !members[0]->lost().empty(); }));
        CHECK(run_unless_lost(
                  *members[0], no_limit,
                  [called, gate] {
                      called.set();
                      (void)gate.wait();
                  },
                  [undone] { undone.set(); }) == RollRun::lost);
        CHECK(members[0]->lost() == "rank 1 of 3 has ended");
        CHECK_FALSE(undone.is_set());
        gate.set();
        CHECK(undone.wait());
        ends.join();
    }
}

TEST_CASE("a call that does not return is left at the limit, and undone later") {
    const std::vector<Member> members = join_all(open_roll_call({}), 2);
    const Flag gate, undone;
    CHECK(run_unless_lost(
              *members[0], 20ms, [gate] { (void)gate.wait(); }, [undone] { undone.set(); }) ==
          RollRun::late);
    CHECK_FALSE(undone.is_set());
    gate.set();
    CHECK(undone.wait());
}

TEST_CASE("strangers at the port of a roll call neither join nor disturb") {
    const RollAddress address = open_roll_call({});
    const Stranger silent(address), partial(address), wrong(address), scanner(address);
    const RollMessage hello{.kind = detail::RollKind::hello, .value = address.token};
    partial.send(&hello, 7);
    RollMessage other = hello;
    ++other.value;
    wrong.send(&other, sizeof other);
    CHECK(wrong.is_rejected());
    const std::string request = "GET / HTTP/1.1\r\nHost: somewhere.example\r\n\r\n";
    scanner.send(request.data(), request.size());
    CHECK(scanner.is_rejected());
    // Strangers that know the token, but are no ranks.
    for (const RollMessage& next :
         {RollMessage{.kind = detail::RollKind::bye},
          RollMessage{.kind = detail::RollKind::join, .rank = 9, .value = 2},
          RollMessage{.kind = detail::RollKind::join, .rank = 0, .value = ~std::uint64_t{0}}}) {
        const Stranger knowing(address);
        knowing.send(&hello, sizeof hello);
        knowing.send(&next, sizeof next);
    }
    CHECK(join_all(address, 2)[1]->lost().empty());
}
