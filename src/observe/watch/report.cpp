#include "watch/report.hpp"

#include <algorithm>
#include <ostream>
#include <string_view>

#include "core/base/errors.hpp"
#include "core/base/format.hpp"
#include "core/base/peek.hpp"
#include "core/stream/registry.hpp"
#include "watch/words.hpp"

namespace heddle::detail {

namespace {

/// Returns a stream's name without quotes.
std::string plain(const std::string& name) {
    return name.starts_with('\'') ? name.substr(1, name.size() - 2) : name;
}

/// Describes one stream in words.
class StreamWords {
public:
    StreamWords(const Snapshot& picture, const StreamFacts& stream)
        : picture_(picture), stream_(stream), look_(stream.look) {}

    PendingStream describe() {
        made_.name = plain(stream_.name);
        made_.id = stream_.record->id.load();
        made_.device = stream_.device;
        made_.pending = look_.pending;
        made_.since = std::chrono::nanoseconds(stream_.still_ns);
        made_.where = place_of(look_.where);
        if (look_.at == StreamAt::idle && !stream_.is_recorded()) made_.text.clear();
        else if (look_.at == StreamAt::idle) describe_recording();
        else if (stream_.looked != Looked::seen)
            made_.text = formatted("{} has pending work that cannot be inspected", stream_.name);
        else if (look_.graph.is_there) describe_graph(place_words(made_.where));
        else if (look_.at == StreamAt::wait) describe_wait();
        else if (look_.at == StreamAt::between) describe_between();
        else describe_operation();
        add_rest();
        if (look_.at != StreamAt::idle && stream_.is_recorded())
            made_.text += formatted("; {}", recording_words());
        for (const FlightEntry& one : stream_.flight)
            made_.recent.push_back({one.kind, one.mode, name_words(one.kind, one.name),
                                    place_of(one.where), is_done(one)});
        return std::move(made_);
    }

private:
    bool is_done(const FlightEntry& one) const noexcept {
        return one.mode == OpMode::run && one.submissions < look_.next;
    }
    std::string for_how_long() const {
        return stream_.still_ns > 50'000'000 ? ", for " + time_words(stream_.still_ns) : "";
    }
    std::string views() const {
        if (stream_.at == nullptr || stream_.at->views == 0) return "";
        return formatted(" ({})", count_words(stream_.at->views, "view"));
    }

    void describe_recording() {
        made_.status = StreamStatus::recording;
        made_.operation = stream_.recording.is_capture ? "capture" : "batch";
        made_.where = place_of(stream_.recording.began_at);
        made_.pending = stream_.recording.operations;
        made_.text = formatted("{} has {}", stream_.name, recording_words());
    }
    std::string recording_words() const {
        const RecordingLook& look = stream_.recording;
        const unsigned number = ThreadActivity::number_of(look.owner);
        return formatted("{} in the {} that {} {} at {}", count_words(look.operations, "operation"),
                         std::string_view(look.is_capture ? "capture" : "batch"),
                         number != 0 ? formatted("thread {}", number) : "another thread",
                         std::string_view(look.is_capture ? "began" : "opened"),
                         place_words(look.began_at));
    }

    void describe_operation() {
        const OpWords op = words_of(look_.type);
        made_.operation = op.has_name ? op.name : op.kind;
        const std::string place = place_words(made_.where);
        if (look_.at == StreamAt::ready) {
            made_.status = StreamStatus::ready;
            made_.text =
                formatted("{} has {}{}, enqueued at {}, ready to run, but no worker is free{}",
                          stream_.name, made_.operation, views(), place, for_how_long());
            return;
        }
        made_.status = StreamStatus::running;
        made_.text = formatted("{} runs {}{}, enqueued at {}{}", stream_.name, made_.operation,
                               views(), place, for_how_long());
    }

    /// Describes a stream of a GPU that is between operations. heddle only knows the operations
    /// that were enqueued, and which of them have completed.
    void describe_between() {
        made_.status = StreamStatus::in_flight;
        const FlightEntry* const first = stream_.at;
        if (first == nullptr) {
            made_.text = formatted("{} has {} pending", stream_.name,
                                   count_words(made_.pending, "operation"));
            return;
        }
        made_.operation = name_words(first->kind, first->name);
        made_.where = place_of(first->where);
        const std::string at = formatted("{} ({})", made_.operation, place_words(first->where));
        if (made_.pending == 1) {
            made_.text = formatted("{} is at {}{}", stream_.name, at, for_how_long());
            return;
        }
        const FlightEntry& last = stream_.flight.back();
        const bool is_first = first->submissions == look_.next;
        made_.text = formatted("{} is between {}{} and {} ({}): {} are pending", stream_.name,
                               std::string_view(is_first ? "" : "operations before "), at,
                               name_words(last.kind, last.name), place_words(last.where),
                               count_words(made_.pending, "operation"));
    }

    void describe_wait() {
        const std::string place = place_words(made_.where);
        made_.status = StreamStatus::waiting;
        made_.operation = "wait";
        const Promised* const target = picture_.target_of(look_.awaited);
        const bool has_event = stream_.at != nullptr && stream_.at->event.event != 0;
        if (has_event) made_.event = stream_.at->event;
        const std::string name =
            target != nullptr ? picture_.streams[target->stream].name : std::string();
        made_.waits_for = plain(name);
        // The number of operations after the current one.
        const std::size_t more = target != nullptr && target->after != 0 ? target->after - 1 : 0;
        const std::string after = more == 0 ? "next"
                                            : formatted("after {} more operation{}", more,
                                                        std::string_view(more == 1 ? "" : "s"));
        const std::string point =
            has_event ? formatted("record {} of event {}", made_.event.record, made_.event.event)
            : target != nullptr ? name
                                : std::string("an unknown point");
        made_.text = formatted("{} waits for {} ({})", stream_.name, point, place);
        if (target != nullptr)
            made_.text += has_event ? formatted(", which {} reaches {}", name, after)
                                    : formatted(", which reaches that point {}", after);
        made_.text += for_how_long();
    }

    void describe_graph(const std::string& place) {
        made_.status = StreamStatus::running;
        made_.operation = "graph";
        made_.text = formatted("{} runs the graph launched at {}", stream_.name, place);
        std::string tasks;
        for (const std::size_t one : stream_.runners) {
            const ActivityWork& work = picture_.threads[one].work;
            const OpWords op = words_of(work.type);
            tasks += formatted("{}{}, made at {}", std::string_view(tasks.empty() ? ": " : "; "),
                               op.has_name ? op.name : op.kind, place_words(work.where));
        }
        for (const void* one : look_.graph.awaited) {
            const Promised* const target = picture_.target_of(one);
            if (target == nullptr) continue;
            const std::string& name = picture_.streams[target->stream].name;
            made_.waits_for = plain(name);
            tasks += formatted("{}a node waits for {}",
                               std::string_view(tasks.empty() ? ": " : "; "), name);
        }
        made_.text += tasks + for_how_long();
        if (look_.graph.has_shared && stream_.runners.empty())
            made_.text += "; tasks are ready, but no worker is free";
    }

    void add_rest() {
        if (made_.status == StreamStatus::recording || made_.status == StreamStatus::in_flight ||
            made_.pending < 2)
            return;
        const std::uint64_t rest = made_.pending - 1;
        made_.text +=
            formatted("; {} more {} pending", rest, std::string_view(rest == 1 ? "is" : "are"));
    }

    const Snapshot& picture_;
    const StreamFacts& stream_;
    const StreamLook& look_;
    PendingStream made_;
};

PendingThread describe_thread(const Snapshot& picture, std::size_t index,
                              std::vector<std::string>& unseen) {
    const ThreadActivity::Seen& thread = picture.threads[index];
    PendingThread made;
    made.number = thread.number;
    made.thread = thread.thread;
    made.call = peek_text(thread.wait.call);
    made.where = place_of(thread.wait.where);
    made.since = std::chrono::nanoseconds(picture.now_ns - thread.wait.since_ns);
    const EventPoint& event = thread.wait.event;
    const std::ptrdiff_t found = picture.find(thread.wait.stream);
    if (found >= 0) made.waits_for = picture.streams[static_cast<std::size_t>(found)].name;
    else if (thread.wait.stream != 0)
        made.waits_for = name_of_stream(*use_of(thread.wait.stream).stream, unseen);
    else if (event.event == 0) made.waits_for = thread.wait.device.name();
    std::string target = made.waits_for;
    if (event.event != 0)
        target = formatted("record {} of event {}{}{}", event.record, event.event,
                           std::string_view(target.empty() ? "" : " on "), target);
    made.waits_for = plain(made.waits_for);
    made.text = formatted("thread {} waits in {}() at {} for {}, for {}", made.number, made.call,
                          place_words(made.where), target, time_words(made.since.count()));
    return made;
}

}  // namespace

PendingWork describe(const Snapshot& picture, const std::vector<StuckCause>& causes) {
    PendingWork made;
    made.unseen = picture.unseen;
    for (const FailedStream& one : picture.failed)
        made.failed.push_back(formatted("{} has failed: {}", one.name, Error(*one.failure).what()));
    for (const StreamFacts& one : picture.streams)
        made.streams.push_back(StreamWords(picture, one).describe());
    for (std::size_t i = 0; i < picture.threads.size(); ++i)
        if (picture.threads[i].waits())
            made.threads.push_back(describe_thread(picture, i, made.unseen));
    std::ranges::sort(made.threads, {}, &PendingThread::number);
    for (const StuckCause& one : causes) made.causes.push_back({one.kind, one.text, {}, {}});
    return made;
}

std::string signature_of(const Snapshot& picture, const std::vector<StuckCause>& causes,
                         std::int64_t least_ns) {
    std::string text;
    for (const StreamFacts& one : picture.streams)
        if (one.still_ns >= least_ns)
            text += formatted("s{} {} {} {}\n", one.key, one.look.next,
                              static_cast<unsigned>(one.look.at), one.recording.operations);
    for (std::size_t i = 0; i < picture.threads.size(); ++i)
        if (picture.threads[i].waits() && picture.waits_ns[i] >= least_ns)
            text +=
                formatted("t{} {}\n", picture.threads[i].thread, picture.threads[i].wait_serial);
    for (const StuckCause& one : causes) text += one.text + "\n";
    return text;
}

}  // namespace heddle::detail

namespace heddle {

namespace {
void add_recent(std::string& text, const PendingStream& stream) {
    if (stream.recent.empty()) return;
    text += detail::formatted("  last operations of '{}':\n", stream.name);
    std::string last;
    int times = 0;
    const auto add = [&] {
        if (times == 1) text += last + "\n";
        if (times > 1) text += detail::formatted("{}, {} times\n", last, times);
    };
    for (const RecentOperation& one : stream.recent) {
        const std::string line =
            detail::formatted("    {} {} at {}{}", std::string_view(to_string(one.kind)),
                              std::string_view(one.name), detail::place_words(one.where),
                              std::string_view(one.mode != OpMode::run ? " (recorded)"
                                               : one.is_done           ? " (done)"
                                                                       : ""));
        if (line != last) add(), times = 0;
        last = line;
        ++times;
    }
    add();
}
}  // namespace

std::string to_string(const PendingWork& work, bool recent) try {
    std::string text;
    for (const PendingStream& one : work.streams)
        if (!one.text.empty()) text += "  " + one.text + "\n";
    for (const PendingThread& one : work.threads) text += "  " + one.text + "\n";
    for (const std::string& one : work.failed) text += "  " + one + "\n";
    for (const std::string& one : work.unseen) text += "  could not inspect " + one + "\n";
    for (const PendingCause& one : work.causes) {
        text += "  cause: " + one.text + "\n";
        if (!one.stack.empty()) text += "    on " + one.thread + ":\n";
        for (const std::string& frame : one.stack) text += "      " + frame + "\n";
    }
    if (recent)
        for (const PendingStream& one : work.streams) add_recent(text, one);
    return text;
} catch (...) {
    detail::rethrow_as_error("to_string", {});
}

std::ostream& operator<<(std::ostream& out, const PendingWork& work) {
    return out << to_string(work);
}

}  // namespace heddle
