// Roll calls whose ranks are processes that end, are killed, stopped or forked.
#include "collective/roll_calls.hpp"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace heddle_test;
using namespace std::chrono_literals;

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Waits until the child has printed a text.
bool prints(Child& child, const std::string& text) {
    while (child.output().find(text) == std::string::npos)
        if (!child.read(1s)) return false;
    return true;
}
/// Returns the rest of the line that begins with `key` in the child's output.
std::string printed(Child& child, const std::string& key) {
    if (!prints(child, key) || !prints(child, ".")) return "";
    const std::size_t begin = child.output().find(key) + key.size();
    return child.output().substr(begin, child.output().find('.', begin) - begin);
}

std::vector<std::string> environment(const RollAddress& address, std::size_t rank, std::size_t size,
                                     const std::string& then) {
    return {"HEDDLE_TEST_ROLL=" + hex_of(address), "HEDDLE_TEST_RANK=" + std::to_string(rank),
            "HEDDLE_TEST_SIZE=" + std::to_string(size), "HEDDLE_TEST_THEN=" + then};
}

void say(const std::string& text) {
    std::printf("%s.\n", text.c_str());
    std::fflush(stdout);
}

}  // namespace

TEST_CASE("child: a rank of a roll call", "[.child]") {
    end_if_it_hangs();
    if (variable("HEDDLE_TEST_ROLL").empty()) HEDDLE_SKIP("it is run by another test");
    const Member member =
        join(address_of(variable("HEDDLE_TEST_ROLL")), std::stoul(variable("HEDDLE_TEST_RANK")),
             std::stoul(variable("HEDDLE_TEST_SIZE")));
    say("joined");
    const std::string then = variable("HEDDLE_TEST_THEN");
    if (then == "leave") member->leave();
    if (then == "end") std::_Exit(7);
    if (then == "fork") {
        const pid_t child = fork();
        if (child == 0) {
            pause();  // until the test kills this process
            std::_Exit(0);
        }
        say("child " + std::to_string(child));
    }
    if (then != "leave") pause();
}

TEST_CASE("ranks of other processes join, and leave in order") {
    const RollAddress address = open_roll_call({});
    Child first("child: a rank of a roll call", environment(address, 1, 3, "leave"));
    Child second("child: a rank of a roll call", environment(address, 2, 3, "leave"));
    const Member member = join(address, 0, 3);
    CHECK(first.wait().status == 0);
    CHECK(second.wait().status == 0);
    CHECK(eventually([&] {
        return member->absentees(1min).find("ranks 1 and 2 have left") != std::string::npos;
    }));
    CHECK(member->lost().empty());
}

TEST_CASE("a rank whose process ends or is killed is lost, and named") {
    const RollAddress address = open_roll_call({});
    Child ends("child: a rank of a roll call", environment(address, 1, 3, "end"));
    Child killed("child: a rank of a roll call", environment(address, 2, 3, "wait"));
    const Member member = join(address, 0, 3);
    CHECK(eventually([&] { return member->lost() == "rank 1 of 3 has ended"; }));
    Flag told;
    member->on_loss([told] { told.set(); });
    CHECK(told.is_set());
    REQUIRE(prints(killed, "joined"));
    kill(killed.id(), SIGKILL);
    CHECK(eventually([&] { return member->lost() == "ranks 1 and 2 of 3 have ended"; }));
}

TEST_CASE("a rank whose process is stopped does not answer, and is not lost") {
    const RollAddress address = open_roll_call({});
    Child child("child: a rank of a roll call", environment(address, 1, 2, "wait"));
    const Member member = join(address, 0, 2);
    CHECK_THAT(member->absentees(1min), contains("no rank has enqueued fewer"));
    kill(child.id(), SIGSTOP);
    CHECK(eventually([&] { return member->absentees(20ms) == "rank 1 does not answer"; }));
    CHECK(member->lost().empty());
    kill(child.id(), SIGCONT);
    CHECK(eventually([&] { return member->absentees(1min) != "rank 1 does not answer"; }));
}

TEST_CASE("a fork of a rank does not hide the rank's end") {
    HEDDLE_SKIP_WITHOUT_FORK();
    const RollAddress address = open_roll_call({});
    Child child("child: a rank of a roll call", environment(address, 1, 2, "fork"));
    const Member member = join(address, 0, 2);
    const std::string grandchild = printed(child, "child ");
    REQUIRE_FALSE(grandchild.empty());
    kill(child.id(), SIGKILL);
    CHECK(eventually([&] { return member->lost() == "rank 1 of 2 has ended"; }));
    CHECK(kill(std::stoi(grandchild), 0) == 0);
    kill(std::stoi(grandchild), SIGKILL);
}

TEST_CASE("the child of a fork can hold a roll call of its own") {
    HEDDLE_SKIP_WITHOUT_FORK();
    std::vector<Member> members = join_all(open_roll_call({}), 2);
    check_forked([&] {
        members.clear();  // those of the parent: without effect
        return join_all(open_roll_call({}), 2)[0]->lost().empty() ? 0 : 1;
    });
    CHECK(members[0]->lost().empty());
    members[1].reset();
    CHECK(eventually([&] { return members[0]->lost() == "rank 1 of 2 has ended"; }));
}

TEST_CASE("child: holds a roll call", "[.child]") {
    end_if_it_hangs();
    if (variable("HEDDLE_TEST_THEN").empty()) HEDDLE_SKIP("it is run by another test");
    const RollAddress address = open_roll_call({});
    say("address " + hex_of(address));
    if (variable("HEDDLE_TEST_THEN") == "end") return;
    const Member member = join(address, 0, std::stoul(variable("HEDDLE_TEST_SIZE")));
    if (variable("HEDDLE_TEST_THEN") == "leave") {
        member->leave();
        say("left");
    }
    pause();
}

TEST_CASE("the ranks of the process that made the id are lost with it, unless they have left") {
    for (const bool leaves : {false, true}) {
        Child holder(
            "child: holds a roll call",
            {leaves ? "HEDDLE_TEST_THEN=leave" : "HEDDLE_TEST_THEN=wait", "HEDDLE_TEST_SIZE=3"});
        const RollAddress address = address_of(printed(holder, "address "));
        std::vector<Member> members(2);
        on_threads(2, [&](std::size_t i) { members[i] = join(address, i + 1, 3); });
        if (leaves) REQUIRE(prints(holder, "left"));
        else CHECK(members[0]->lost().empty());
        kill(holder.id(), SIGKILL);
        // Afterwards, the others can no longer be asked.
        for (const Member& one : members)
            CHECK(eventually(
                [&] { return one->absentees(20ms).find("does not answer") != std::string::npos; }));
        CHECK(members[0]->lost() == (leaves ? "" : "rank 0 of 3 has ended"));
        members[0]->leave();
    }
}

TEST_CASE("an error names the address if the process that made the id has ended") {
    Child holder("child: holds a roll call", {"HEDDLE_TEST_THEN=end"});
    const RollAddress address = address_of(printed(holder, "address "));
    CHECK(holder.wait().status == 0);
    const Error error = thrown_by([&] { join(address, 0, 2); });
    CHECK(error.code() == ErrorCode::rank_lost);
    CHECK_THAT(error.what(), contains("cannot be reached at " + text_of(address)));
}

TEST_CASE("ranks that wait end if the process that made the id ends") {
    Child holder("child: holds a roll call", {"HEDDLE_TEST_THEN=wait", "HEDDLE_TEST_SIZE=4"});
    const RollAddress address = address_of(printed(holder, "address "));
    OrderLog seen;
    Threads waits(1, [&] {
        if (const auto error = error_of([&] { join(address, 1, 4); })) seen.add(error->what());
    });
    CHECK(eventually([&] {  // until ranks 0 and 1 wait
        const Error error = thrown_by([&] { join_roll_call(address, 2, 4, 20ms, {}); });
        return std::string(error.what()).find("rank 3 of 4 has not") != std::string::npos;
    }));
    kill(holder.id(), SIGKILL);
    waits.join();
    CHECK_THAT(seen.seen().at(0), contains("the process that made the id cannot be reached"));
    CHECK_THAT(seen.seen().at(0), contains("its process has ended"));
}
