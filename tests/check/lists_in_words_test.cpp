// Lists of operations in words, and the checker's findings for them.
//
// "a writes x; b waits a; b reads x" is a list of three operations of the streams a and b. "host"
// stands for the calling thread, names that begin with e for events, "a@1" for a stream of another
// device. "x[10+5]" is five bytes of x from byte 10, and "x*" x by a plain pointer. A finding names
// its two operations by their numbers in the list; 0 stands for none. "-b waits a" is counted, but
// left out of the list: at most one.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "check/op_builder.hpp"
using namespace heddle_test;

namespace {

std::vector<std::string> split(const std::string& text, std::string_view separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0, end = 0; end != text.npos; begin = end + separator.size()) {
        end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
    }
    return parts;
}

class ListReader {
public:
    explicit ListReader(const std::string& list) {
        for (const std::string& text : split(list, "; "))
            lines_.push_back(add(text[0] == '-' ? text.substr(1) : text));
        const std::size_t left_out = list.find('-');  // at most one operation
        if (left_out == list.npos) return;
        const auto at = std::count(list.begin(), list.begin() + static_cast<long>(left_out), ';');
        program_.ops.erase(program_.ops.begin() + lines_[static_cast<std::size_t>(at)] - 1);
    }

    /// Returns "read_after_write 1 2, possible write_after_write 1 3", for example.
    std::string findings() const {
        std::string all;
        for (const Race& race : races(program_)) {
            if (!all.empty()) all += ", ";
            if (!race.is_certain) all += "possible ";
            all += std::string(to_string(race.kind)) + ' ' + number_of(race.first) + ' ' +
                   number_of(race.second);
        }
        return all;
    }

private:
    std::string number_of(Line line) const {
        if (line == 0) return "0";
        const auto found = std::find(lines_.begin(), lines_.end(), line);
        return std::to_string(found - lines_.begin() + 1);
    }

    Program::StreamName stream(const std::string& name) {
        if (name == "host") return {};
        const auto [found, is_new] = streams_.try_emplace(name);
        const std::size_t at = name.find('@');
        const std::string device = at == name.npos ? "0" : name.substr(at + 1);
        if (is_new) found->second = program_.stream(static_cast<std::uint32_t>(std::stoul(device)));
        return found->second;
    }
    Program::EventName event(const std::string& name) {
        const auto [found, is_new] = events_.try_emplace(name);
        if (is_new) found->second = program_.event();
        return found->second;
    }
    Memory memory(const std::string& text) {
        const std::string name = text.substr(0, text.find_first_of("[*"));
        if (!memories_.contains(name)) memories_[name] = program_.array();
        const Memory whole = memories_[name];
        if (text.back() == '*') return whole.raw();
        if (text.back() != ']') return whole;
        const std::size_t offset = text.find('[') + 1, size = text.find('+') + 1;
        return whole.part(std::stoul(text.substr(offset)), std::stoul(text.substr(size)));
    }
    CheckAccess access(const std::string& verb, const std::string& what) {
        if (verb != "reads" && verb != "writes" && verb != "adds") FAIL("no access: " << verb);
        const Memory x = memory(what);
        return verb == "reads" ? in(x) : verb == "writes" ? out(x) : atomics(x);
    }

    /// Appends "b reads x, writes y" or "thread 1: host waits e", for example. A thread, or the
    /// parent of work in a host function, applies to later operations, too.
    Line add(const std::string& text) {
        const std::vector<std::string> parts = split(text, ", ");
        std::istringstream words(parts[0]);
        std::string who, verb, what, to;
        for (words >> who; who == "thread" || who == "parent"; words >> who) {
            Line number = 0;
            char colon = 0;
            words >> number >> colon;
            if (who == "thread") program_.thread = number;
            else program_.parent = number != 0 ? program_.id_of(lines_[number - 1]) : 0;
        }
        words >> verb >> what >> to;
        const Program::StreamName s = stream(who);
        Accesses accesses;
        if (verb == "reads" || verb == "writes" || verb == "adds")
            accesses.push_back(access(verb, what));
        for (std::size_t i = 1; i < parts.size(); ++i) {
            const auto more = split(parts[i], " ");
            accesses.push_back(access(more[0], more[1]));
        }
        if (verb == "calls") return program_.host_function(s, accesses);
        if (!accesses.empty())
            return program_.add(s.id == 0 ? OpKind::host_access : OpKind::launch, s, accesses);
        if (verb == "copies") return program_.copy(s, memory(to), memory(what));
        if (verb == "records") return program_.record(s, event(what));
        if (verb == "elides") return program_.elided_wait(s, stream(what));
        if (verb == "awaits") return program_.after_users(s, memory(what));  // x: its users
        if (verb == "frees") return program_.free(s, memory(what));
        if (verb == "allocates") {
            memories_[what] = program_.allocate(s);
            return static_cast<Line>(program_.ops.size());
        }
        return who == "host" ? host_wait(verb, what) : wait(s, verb, what);
    }
    Line wait(Program::StreamName s, const std::string& verb, const std::string& what) {
        if (verb != "waits") FAIL("no operation of a stream: " << verb);
        return what[0] == 'e' ? program_.wait(s, event(what))
                              : program_.wait_stream(s, stream(what));
    }
    Line host_wait(const std::string& verb, const std::string& what) {
        const bool is_event = what[0] == 'e';
        if (verb == "queries")
            return is_event ? program_.query(event(what)) : program_.query(stream(what));
        if (verb == "begins") return program_.begin_synchronize(stream(what));
        if (verb == "ends") return program_.end_synchronize();
        if (verb != "waits") FAIL("no operation of the host: " << verb);
        if (what[0] == '@')
            return program_.synchronize_device(static_cast<std::uint32_t>(what[1] - '0'));
        return is_event ? program_.synchronize(event(what)) : program_.synchronize(stream(what));
    }

    Program program_;
    std::vector<Line> lines_;
    std::map<std::string, Program::StreamName> streams_;
    std::map<std::string, Program::EventName> events_;
    std::map<std::string, Memory> memories_;
};

struct Case {
    std::string name;  ///< empty: a variant of the case before
    std::string list;
    std::string findings;
};

const Case cases[] = {
    // Copies between devices.
    {"peer_copy_both_sides",
     "a@1 writes source; b@2 waits a@1; b@2 copies source target; a@1 waits b@2; a@1 writes source",
     ""},
    {"",
     "a@1 writes source; b@2 waits a@1; b@2 copies source target; -a@1 waits b@2; a@1 writes "
     "source",
     "write_after_read 3 5"},
    // Order by events.
    {"event_orders", "a writes x; a records e1; b waits e1; b writes x", ""},
    {"event_re_recorded_on_another_stream_before_the_wait",
     "a writes x; a records e; c records e; b waits e; b reads x", "read_after_write 1 5"},
    {"event_re_recorded_after_the_wait_leaves_the_wait",
     "a writes x; a records e; b waits e; c records e; b reads x", ""},
    {"wait_enqueued_before_the_record", "b waits e; a writes x; a records e; b reads x",
     "read_after_write 2 4"},
    {"one_record_resolves_two_waits",
     "a writes x; a records e1; b waits e1; c waits e1; b reads x; c reads x", ""},
    {"event_waited_for_twice", "a writes x; a records e1; b waits e1; b waits e1; b reads x", ""},
    {"event_object_reused_from_the_pool_keeps_generations_apart",
     "a writes x; a records e_first; b records e_second; b waits e_first; b writes x", ""},
    {"state_merges_through_two_events_of_one_stream",
     "a writes x; a records e1; b writes y; b waits e1; b records e3; c waits e3; c reads x, "
     "reads y",
     ""},
    {"wait_on_own_event_is_nothing", "b writes x; a records e1; a waits e1; a elides a; a reads x",
     "read_after_write 1 5"},
    // Waits and accesses of the host.
    {"event_synchronize", "a writes x; a records e1; host waits e1; host reads x", ""},
    {"event_synchronize_of_an_older_record",
     "a records e1; a writes x; host waits e1; host reads x", "host_read_after_write 2 4"},
    {"device_synchronize_covers_all_streams",
     "a@1 writes x[0+50]; b@1 writes x[50+50]; other@2 writes y; host waits @1; host reads x", ""},
    {"",
     "a@1 writes x[0+50]; b@1 writes x[50+50]; other@2 writes y; host waits @1; host reads x; "
     "host reads y",
     "host_read_after_write 3 6"},
    {"query_loop_of_a_stream_is_a_wait", "a writes x; host queries a; host reads x", ""},
    {"query_loop_of_an_event_is_a_wait", "a writes x; a records e1; host queries e1; s2 writes x",
     ""},
    {"synchronize_by_another_thread_counts",
     "a writes x; thread 1: host waits a; thread 0: b writes x", ""},
    {"synchronize_while_another_thread_enqueues",
     "a writes x; thread 1: host begins a; thread 0: a writes y; thread 1: host ends; host reads x",
     ""},
    {"",
     "a writes x; thread 1: host begins a; thread 0: a writes y; thread 1: host ends; host reads "
     "x; host reads y",
     "host_read_after_write 3 6"},
    {"waiting_for_one_stream_covers_what_it_waited_for",
     "a writes x; b waits a; host waits b; host writes x", ""},
    {"host_overwrites_pinned_source_of_a_copy_in_flight", "a copies pinned x; host writes pinned",
     "host_write_after_read 1 2"},
    {"what comes after a memory's users comes after all known ones",
     "a writes x; b waits a; b reads x; c awaits x; c writes x; a writes y; host awaits y; b "
     "writes y",
     ""},
    {"users that heddle does not know are not waited for",
     "a allocates x; b waits a; a writes x*; b awaits x; b writes x", "write_after_write 3 5"},
    {"pageable_destination_read_before_the_copy_is_waited_for",
     "a copies y2 destination; host reads destination", "host_read_after_write 1 2"},
    {"managed_memory_after_synchronize",
     "a writes managed; host waits a; host reads managed; a writes managed", ""},
    {"", "a writes managed; -host waits a; host reads managed; a writes managed",
     "host_read_after_write 1 3"},
    {"host_write_then_launch_needs_nothing", "host writes x; s1 reads x", ""},
    {"threads_hand_over_by_queue_and_event",
     "thread 1: a writes x; a records e1; thread 2: b waits e1; b reads x", ""},
    {"", "thread 1: a writes x; a records e1; -thread 2: b waits e1; b reads x",
     "read_after_write 1 4"},
    // Host functions.
    {"host_function_reads_declared_in_order", "a writes x; a calls, reads x; a writes x", ""},
    {"host_function_writes_what_another_stream_reads", "b reads x; a calls, writes x",
     "write_after_read 1 2"},
    {"a host function before the access does not hide it", "a calls; a writes x; b reads x",
     "read_after_write 2 3"},
    {"host_function_enqueues_on_another_stream",
     "a writes x; a calls; parent 2: b reads x; parent 0: b writes x", ""},
    // Allocated memory.
    {"allocation_ordered_by_event", "a allocates x; a records e1; b waits e1; b writes x", ""},
    {"heddle frees after the users that it knows, in ways that are not told",
     "a allocates x; b waits a; b writes x; a frees x", ""},
    {"use of memory that was freed", "a allocates x; a frees x; b waits a; b reads x",
     "use_after_free 2 4"},
    {"", "a allocates x; a frees x; b waits a; b reads x; b reads x*", "use_after_free 2 4"},
    {"moved_array_keeps_history", "a allocates x; a writes x; b reads x", "read_after_write 2 3"},
    {"the host may free what streams still use",
     "host allocates pinned; a reads pinned; host frees pinned", ""},
    // Order by streams.
    {"unordered_write_then_read_on_two_streams", "a writes x; b reads x", "read_after_write 1 2"},
    {"same_stream_needs_nothing", "a writes x; a reads x; a writes x", ""},
    {"wait_stream_orders", "a writes x; b waits a; b reads x", ""},
    {"", "a writes x; -b waits a; b reads x", "read_after_write 1 3"},
    {"reads_check_last_write_not_first", "a writes x; b waits a; a writes x; b reads x",
     "read_after_write 3 4"},
    {"two_branches_join", "a writes x; b writes y; b waits a; a waits b; a writes x, writes y", ""},
    {"", "a writes x; b writes y; b waits a; -a waits b; a writes x, writes y",
     "write_after_write 2 5"},
    {"chain_of_three_streams", "a writes x; b waits a; b reads x; c waits b; c writes x", ""},
    {"", "a writes x; -b waits a; b reads x; c waits b; c writes x",
     "read_after_write 1 3, write_after_write 1 5"},
    {"", "a writes x; b waits a; b reads x; -c waits b; c writes x",
     "write_after_write 1 5, write_after_read 3 5"},
    {"all_readers_are_checked_one_unordered",
     "a reads x; b reads x; c reads x; d waits a; d waits c; d writes x", "write_after_read 2 6"},
    {"all_readers_ordered", "a reads x; b reads x; c waits a; c waits b; c writes x", ""},
    {"transitive_through_a_stream_that_did_no_work", "a writes x; b waits a; c waits b; c reads x",
     ""},
    {"elided_wait_counts_as_edge",
     "a allocates y; a writes x; b waits a; b elides a; b reads x, writes y", ""},
    {"fault_in_elision_is_reported_as_heddles", "a writes y1; b waits a; b elides a", ""},
    {"", "a writes y1; b waits a; b elides a; a writes y2; b elides a", "elision_fault 0 5"},
    {"", "a writes y1; b waits a; b elides a; a writes y2; b elides a; c waits b; b elides c",
     "elision_fault 0 5"},
    {"an elided wait may bring what needs no wait",
     "a writes y1; b waits a; c waits b; a records e1; a allocates z2; b elides a; c elides b", ""},
    {"an elided wait that was needed for a third stream's work is a fault",
     "b writes y1; c waits b; a writes y2; b waits a; c elides b", "elision_fault 0 5"},
    {"waits for users of memory say nothing about other work",
     "a writes x; b waits a; b awaits x; c elides b", "elision_fault 0 4"},
    {"an elided wait may say more than the thread knew",
     "a writes y1; b waits a; thread 1: a writes y2; thread 0: b elides a", ""},
    {"three_streams_two_write_one_waits_for_the_other_only", "a writes x; c waits b; c writes x",
     "write_after_write 1 3"},
    {"new_stream_is_not_ordered_after_unfinished_work", "a writes x; s2 reads x",
     "read_after_write 1 2"},
    {"new_stream_is_ordered_after_what_the_host_waited_for", "a writes x; host waits a; s2 reads x",
     ""},
    // Parts of arrays.
    {"halves_on_two_streams", "s1 writes x[0+50]; s2 writes x[50+50]", ""},
    {"const_view_of_a_part_against_write_of_the_whole", "s1 reads x[10+5]; s2 writes x",
     "write_after_read 1 2"},
    {"same_array_twice_in_one_launch", "s1 reads x, writes x, reads x[3+4]", ""},
    {"", "s1 reads x, writes x, reads x[3+4]; s2 writes x", "write_after_write 1 2"},
    {"concurrent_views_do_not_conflict", "s1 adds x; s2 adds x", ""},
    {"concurrent_against_plain", "s1 adds x; s2 adds x; s3 reads x",
     "read_after_write 1 3, read_after_write 2 3"},
};

}  // namespace

TEST_CASE("check: lists in words have the findings that stand beside them", "[check]") {
    for (const Case& one : cases) {
        INFO(one.name << ": " << one.list);
        CHECK(ListReader(one.list).findings() == one.findings);
    }
}
