// Lists of operations in words.
//
// "a writes x; b waits a; b reads x" is a list of three operations of the streams a and b. "host"
// stands for the calling thread, names that begin with e for events, "a@1" for a stream of another
// device. "x[10+5]" is five bytes of x from byte 10, "x[10+5/20*3]" the same in 3 rows that are 20
// bytes apart, and "x*" x by a plain pointer. "as fork: b waits a" is the wait of a fork, and "as
// batched: a writes x" is recorded by a batch. "a joins 5 0/2, writes x" is the first of the two
// shares of collective 5. A finding names its two operations by their numbers in the list; 0 stands
// for none. "-b waits a" is numbered, but not in the list: at most one operation may be so.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "check/op_builder.hpp"

namespace heddle_test {

inline std::vector<std::string> split(const std::string& text, std::string_view separator) {
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
        if (!memories_.contains(name)) memories_[name] = program_.array(200'000);
        const Memory whole = memories_[name];
        if (text.back() == '*') return whole.raw();
        if (text.back() != ']') return whole;
        const auto number = [&](char before) {
            return std::stoul(text.substr(text.find(before) + 1));
        };
        if (text.find('/') == text.npos) return whole.part(number('['), number('+'));
        return whole.columns(number('['), number('+'), number('/'),
                             static_cast<std::uint32_t>(number('*')));
    }
    CheckAccess access(const std::string& verb, const std::string& what) {
        if (verb != "reads" && verb != "writes" && verb != "adds") FAIL("no access: " << verb);
        const Memory x = memory(what);
        return verb == "reads" ? in(x) : verb == "writes" ? out(x) : atomics(x);
    }

    /// Sets why the next operation waits, or that a batch records it.
    void set_circumstance(const std::string& name) {
        static const std::map<std::string, WaitReason> reasons{
            {"copy:", WaitReason::copy},         {"free:", WaitReason::free_memory},
            {"enter:", WaitReason::scope_enter}, {"exit:", WaitReason::scope_exit},
            {"fork:", WaitReason::fork},         {"join:", WaitReason::join},
            {"batch:", WaitReason::batch}};
        program_.recording = 3;
        if (name == "batched:") program_.mode = OpMode::batched;
        else program_.reason = reasons.at(name);
    }

    /// Appends "b reads x, writes y" or "thread 1: host waits e", for example. A thread, or the
    /// parent of work in a host function, applies to later operations, too.
    Line add(const std::string& text) {
        const std::vector<std::string> parts = split(text, ", ");
        std::istringstream words(parts[0]);
        std::string who, verb, what, to;
        program_.reason = WaitReason::user;
        program_.mode = OpMode::run;
        for (words >> who; who == "thread" || who == "parent" || who == "as"; words >> who) {
            if (who == "as" && words >> what) {
                set_circumstance(what);
                continue;
            }
            Line number = 0;
            char colon = 0;
            words >> number >> colon;
            if (who == "thread") program_.thread = number;
            else program_.parent = number != 0 ? program_.id_of(lines_[number - 1]) : 0;
        }
        what.clear();
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
        if (verb == "joins")
            return program_.collective(s, std::stoul(what), static_cast<Line>(to[0] - '0'),
                                       static_cast<Line>(to[2] - '0'), accesses);
        if (verb == "signals") {  // the kernel may set a flag
            const Line line = program_.launch(s, accesses);
            program_.ops.back().may_signal = true;
            return line;
        }
        if (!accesses.empty())
            return program_.add(s.id == 0 ? OpKind::host_access : OpKind::launch, s, accesses);
        if (verb == "copies") return program_.copy(s, memory(to), memory(what));
        if (verb == "records") return program_.record(s, event(what));
        if (verb == "elides") return program_.elided_wait(s, stream(what));
        if (verb == "sends") return program_.send_batch(s, 3);
        if (const auto line = memory_op(s, verb, what)) return *line;
        if (const auto line = rare_op(s, verb, what)) return *line;
        return who == "host" ? host_wait(verb, what) : wait(s, verb, what);
    }
    std::optional<Line> memory_op(Program::StreamName s, const std::string& verb,
                                  const std::string& what) {
        if (verb == "waits_users") return program_.after_users(s, memory(what));
        if (verb == "declares") return program_.used_on(s, memory(what));
        if (verb == "frees") return program_.free(s, memory(what));
        if (verb != "allocates" && verb != "reuses") return std::nullopt;
        // The stream's cache reuses freed memory.
        memories_[what] =
            verb == "reuses" ? program_.allocate_at(s, memory(what).data) : program_.allocate(s);
        program_.ops.back().from_own_cache = verb == "reuses";
        return static_cast<Line>(program_.ops.size());
    }
    std::optional<Line> rare_op(Program::StreamName s, const std::string& verb,
                                const std::string& what) {
        if (verb == "exposes") return program_.add(OpKind::expose, s);
        if (verb == "wraps") return program_.add(OpKind::wrap, s);
        if (verb == "drops") return program_.add(OpKind::dropped, s);
        if (verb == "exports") return program_.event_op(OpKind::export_event, event(what));
        if (verb == "imports") return program_.event_op(OpKind::import_event, event(what));
        return std::nullopt;
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

}  // namespace heddle_test
