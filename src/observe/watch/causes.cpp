#include "watch/causes.hpp"

#include <algorithm>
#include <string_view>

#include "core/base/format.hpp"
#include "watch/words.hpp"

namespace heddle::detail {

namespace {

/// A graph of waits: each edge leads from a stream or thread to the stream that it waits for. Nodes
/// are numbered: streams first, then threads. Work recorded in an open capture or batch is never a
/// target, because no wait depends on that work.
class Waits {
public:
    explicit Waits(const Snapshot& picture) : picture_(picture) {
        to_.resize(picture.streams.size() + picture.threads.size());
        for (std::size_t i = 0; i < picture.streams.size(); ++i) add_stream(i);
        for (std::size_t i = 0; i < picture.threads.size(); ++i) add_thread(i);
    }
    const std::vector<std::size_t>& of(std::size_t node) const noexcept { return to_[node]; }
    std::size_t node_of_thread(std::size_t thread) const noexcept {
        return picture_.streams.size() + thread;
    }
    std::size_t size() const noexcept { return to_.size(); }

private:
    void add_stream(std::size_t i) {
        const StreamFacts& stream = picture_.streams[i];
        if (!stream.is_steady) return;
        const auto add = [&](const void* completion) {
            if (const Promised* const target = picture_.target_of(completion);
                target != nullptr && target->stream != i)
                to_[i].push_back(target->stream);
        };
        if (stream.look.at == StreamAt::wait && !stream.look.graph.is_there)
            add(stream.look.awaited);
        for (const void* one : stream.look.graph.awaited) add(one);
    }
    void add_thread(std::size_t t) {
        const ThreadActivity::Seen& thread = picture_.threads[t];
        if (!thread.waits() || !picture_.steady_threads[t]) return;
        std::vector<std::size_t>& to = to_[node_of_thread(t)];
        if (const std::ptrdiff_t found = picture_.find(thread.wait.stream); found >= 0)
            return to.push_back(static_cast<std::size_t>(found));
        // The awaited stream has no pending work.
        if (thread.wait.stream != 0 || thread.wait.event.event != 0) return;
        for (std::size_t i = 0; i < picture_.streams.size(); ++i)
            if (picture_.streams[i].device == thread.wait.device) to.push_back(i);
    }

    const Snapshot& picture_;
    std::vector<std::vector<std::size_t>> to_;
};

/// Finds causes in one snapshot.
class Finder {
public:
    Finder(const Snapshot& picture, std::int64_t least_ns)
        : picture_(picture), waits_(picture), least_ns_(least_ns) {}

    std::vector<StuckCause> find() {
        find_busy_workers();
        find_processes();
        for (std::size_t i = 0; i < picture_.streams.size(); ++i)
            if (picture_.streams[i].is_steady && picture_.streams[i].still_ns >= least_ns_) {
                find_late_rank(picture_.streams[i]);
                find_cause(picture_.streams[i]);
            }
        find_cycles();
        find_gone_exporters();
        return std::move(found_);
    }

    /// Returns whether neither the node nor anything that it waits for has advanced.
    bool is_still(std::size_t node) const {
        std::vector<bool> seen(waits_.size(), false);
        return is_still(node, seen);
    }
    const Waits& waits() const noexcept { return waits_; }

private:
    bool is_still(std::size_t node, std::vector<bool>& seen) const {
        if (seen[node]) return true;
        seen[node] = true;
        if (node < picture_.streams.size()) {
            const StreamFacts& stream = picture_.streams[node];
            if (stream.looked != Looked::seen || !stream.is_steady || stream.still_ns < least_ns_)
                return false;
            if (stream.look.at == StreamAt::ready && !are_workers_still() && !is_starved(stream))
                return false;
        }
        return std::ranges::all_of(waits_.of(node),
                                   [&](std::size_t one) { return is_still(one, seen); });
    }
    void add(CauseKind kind, std::string text, int thread = 0) {
        if (std::ranges::find(found_, text, &StuckCause::text) == found_.end())
            found_.push_back({kind, std::move(text), thread});
    }

    const StreamFacts* stream_of(const ThreadActivity::Seen& thread) const noexcept {
        const std::ptrdiff_t found = picture_.find(thread.work.stream);
        return found >= 0 ? &picture_.streams[static_cast<std::size_t>(found)] : nullptr;
    }
    /// Returns whether every worker runs work that has not advanced. An idle worker could still run
    /// a stream's work.
    bool are_workers_still() const {
        int busy = 0;
        for (std::size_t t = 0; t < picture_.threads.size(); ++t) {
            const ThreadActivity::Seen& one = picture_.threads[t];
            if (!one.works()) continue;
            if (!picture_.steady_threads[t]) return false;
            const StreamFacts* const stream = stream_of(one);
            if (stream == nullptr || stream->still_ns < least_ns_) return false;
            ++busy;
        }
        return picture_.workers != 0 && busy >= picture_.workers;
    }

    /// Returns whether the workers always preferred the work of more urgent streams.
    bool is_starved(const StreamFacts& stream) const {
        return stream.is_overtaken &&
               std::ranges::any_of(picture_.streams, [&](const StreamFacts& one) {
                   return one.record->priority < stream.record->priority &&
                          one.look.at != StreamAt::idle;
               });
    }
    void add_starved(const StreamFacts& stream) {
        const OpWords op = words_of(stream.look.type);
        add(CauseKind::workers_busy,
            formatted(
                "no worker is free for {}, whose {} at {} is ready: more urgent work occupies {}",
                stream.name, std::string_view(op.has_name ? op.name : op.kind),
                place_words(stream.look.where),
                std::string_view(picture_.workers == 1 ? "the only one" : "all of them")));
    }

    // Other processes ---------------------------------------------------------------------------

    /// Returns a text that names the stream or thread of this process that waits for a record of
    /// another process. Returns an empty text if none waits.
    std::string waiter_of(const SharedWait& wait) const {
        for (const StreamFacts& one : picture_.streams)
            if (one.is_steady && one.look.at == StreamAt::wait &&
                one.look.awaited == wait.completion)
                return formatted("{} waits ({})", one.name, place_words(one.look.where));
        for (std::size_t t = 0; t < picture_.threads.size(); ++t)
            if (const ThreadActivity::Seen& one = picture_.threads[t];
                one.waits() && picture_.steady_threads[t] && one.wait.stream == 0 &&
                one.wait.event.event != 0)
                return formatted("thread {} waits ({})", one.number, place_words(one.wait.where));
        return {};
    }
    void find_processes() {
        for (const SharedWait& one : picture_.shared_waits) {
            if (one.stream_id != 0) continue;
            const std::string waiter = waiter_of(one);
            if (waiter.empty()) continue;
            add(CauseKind::other_process,
                one.is_gone
                    ? formatted("process {}, which recorded the event for which {}, has ended",
                                one.process, waiter)
                    : formatted("process {} has not reached its record of the event for which {}",
                                one.process, waiter));
        }
    }
    /// Adds processes that exported memory or events to this process and have ended. Running work
    /// may depend on them in ways that heddle cannot observe.
    void find_gone_exporters() {
        const bool may_wait =
            found_.empty() || std::ranges::any_of(found_, [](const StuckCause& one) {
                return one.kind == CauseKind::operation_runs;
            });
        if (!may_wait) return;
        for (const Import& one : picture_.imports)
            if (is_gone(one.process))
                add(CauseKind::other_process,
                    formatted("process {}, which exported the {} imported at {}, has ended",
                              one.process.id, std::string_view(one.is_event ? "event" : "array"),
                              place_words(one.where)));
    }

    void find_busy_workers() {
        std::string all;
        int busy = 0;
        for (std::size_t t = 0; t < picture_.threads.size(); ++t) {
            const ThreadActivity::Seen& one = picture_.threads[t];
            const bool works = one.works() && picture_.steady_threads[t];
            const StreamFacts* const stream = works ? stream_of(one) : nullptr;
            if (stream == nullptr || stream->still_ns < least_ns_) continue;
            const OpWords op = words_of(one.work.type);
            if (!op.is_host_function) continue;
            ++busy;
            all += formatted("{}{} at {}", std::string_view(all.empty() ? "" : ", "), op.name,
                             place_words(one.work.where));
        }
        if (picture_.workers == 0 || busy < picture_.workers) return;
        std::string late;
        int count = 0;
        for (const StreamFacts& one : picture_.streams)
            if (one.is_steady && one.still_ns >= least_ns_ &&
                (one.look.at == StreamAt::ready || one.look.graph.has_shared)) {
                late += formatted("{}{}", std::string_view(late.empty() ? "" : ", "), one.name);
                ++count;
            }
        if (count == 0) return;
        const std::string_view is = count == 1 ? "is" : "are", them = count == 1 ? "it" : "them";
        if (picture_.workers == 1)
            return add(CauseKind::workers_busy,
                       formatted("the only worker is in a host function that has not returned "
                                 "({}), but {} {} ready and no worker is free to run {}",
                                 all, late, is, them));
        add(CauseKind::workers_busy,
            formatted("all {} workers are in host functions that have not returned ({}), but {} {} "
                      "ready and no worker is free to run {}",
                      picture_.workers, all, late, is, them));
    }

    void find_cause(const StreamFacts& stream) {
        if (stream.is_recorded()) find_open_recording(stream);
        if (stream.looked != Looked::seen) return;
        for (const std::size_t one : stream.runners) add_operation(stream, picture_.threads[one]);
        if (stream.runners.empty() && stream.look.at == StreamAt::work &&
            stream.look.type != nullptr && !stream.look.graph.is_there)
            add_operation(words_of(stream.look.type), stream.look.where, nullptr, 0);
        if (stream.look.at == StreamAt::wait) find_lost_wait(stream);
        if (stream.look.at == StreamAt::between && stream.look.pending == 1 && stream.at != nullptr)
            add_noted_operation(*stream.at);
        if (stream.look.at == StreamAt::ready && is_starved(stream)) add_starved(stream);
    }

    /// Adds the noted operation as a cause. It is the only pending operation of a GPU's stream, so
    /// it is running.
    void add_noted_operation(const FlightEntry& one) {
        const bool is_function = one.kind == OpKind::host_function;
        const char* const kind = one.kind == OpKind::launch ? "kernel"
                                 : is_function              ? "host function"
                                 : one.kind == OpKind::copy ? "copy"
                                 : one.kind == OpKind::fill ? "fill"
                                                            : nullptr;
        if (kind == nullptr) return;  // waits and graphs are no cause by themselves
        const bool has_name = is_function || one.kind == OpKind::launch;
        add_operation({is_function, has_name, kind, name_words(one.kind, one.name)}, one.where,
                      nullptr, 0);
    }
    void add_operation(const StreamFacts& stream, const ThreadActivity::Seen& thread) {
        add_operation(words_of(thread.work.type), thread.work.where,
                      thread.work.is_node ? &stream.look.where : nullptr, thread.thread);
    }
    /// `graph` is the place where the operation's graph was launched, or null.
    void add_operation(const OpWords& op, const SourceLocation& where, const SourceLocation* graph,
                       int thread) {
        const std::string in_graph =
            graph != nullptr ? formatted(", in the graph launched at {},", place_words(*graph))
                             : "";
        add(CauseKind::operation_runs,
            formatted("the {}{}{} at {}{} has not {}", op.kind,
                      std::string_view(op.has_name ? " " : ""),
                      std::string_view(op.has_name ? op.name : ""), place_words(where), in_graph,
                      std::string_view(op.is_host_function ? "returned" : "ended")),
            thread);
    }

    void find_lost_wait(const StreamFacts& stream) {
        if (stream.look.graph.is_there || !picture_.is_lost(stream.look.awaited)) return;
        const bool has_event = stream.at != nullptr && stream.at->event.event != 0;
        add(CauseKind::nothing_reaches,
            has_event
                ? formatted(
                      "no pending work reaches record {} of event {}, for which {} waits ({})",
                      stream.at->event.record, stream.at->event.event, stream.name,
                      place_words(stream.look.where))
                : formatted("no pending work reaches the point for which {} waits ({})",
                            stream.name, place_words(stream.look.where)));
    }

    void find_open_recording(const StreamFacts& stream) {
        const RecordingLook& look = stream.recording;
        const OpWords first = words_of(look.first);
        std::string who = "another thread";
        std::string does;
        int tid = 0;
        for (const ThreadActivity::Seen& one : picture_.threads) {
            if (one.id != look.owner) continue;
            if (one.number != 0) who = formatted("thread {}", one.number);
            tid = one.thread;
            if (one.waits())
                does = formatted("; thread {} waits in {}() at {}", one.number,
                                 peek_words(one.wait.call), place_words(one.wait.where));
        }
        const bool is_capture = look.is_capture;
        add(is_capture ? CauseKind::capture_is_open : CauseKind::batch_is_open,
            formatted(
                "the {} that {} {} at {} is still open: {} of {} (first: {} at {}) will run {}{}",
                std::string_view(is_capture ? "capture" : "batch"), who,
                std::string_view(is_capture ? "began" : "opened"), place_words(look.began_at),
                count_words(look.operations, "operation"), stream.name,
                std::string_view(first.has_name ? first.name : first.kind),
                place_words(look.first_where),
                std::string_view(is_capture ? "when its graph is launched" : "when the batch ends"),
                does),
            tid);
    }

    /// Adds a late rank as a cause, if the stream waits in a collective for another rank's stream.
    void find_late_rank(const StreamFacts& stream) {
        if (stream.look.at != StreamAt::wait || stream.at == nullptr || stream.at->collective == 0)
            return;
        const Promised* const target = picture_.target_of(stream.look.awaited);
        if (target == nullptr) return;
        const StreamFacts& other = picture_.streams[target->stream];
        const std::uint64_t collective = stream.at->collective;
        if (other.at != nullptr && other.at->collective == collective) return;
        const auto mine = std::ranges::find(other.flight, collective, &FlightEntry::collective);
        if (mine == other.flight.end() || other.look.type == nullptr) return;
        const OpWords op = words_of(other.look.type);
        add(CauseKind::rank_missing,
            formatted("rank {} of the {} at {} has not arrived: {} is still at {}, enqueued at {}",
                      mine->share, collective_words(stream.at->name),
                      place_words(stream.look.where), other.name,
                      std::string_view(op.has_name ? op.name : op.kind),
                      place_words(other.look.where)));
    }

    static std::string peek_words(const char* text);
    static std::string collective_words(const char* name) {
        const std::string text = peek_words(name);  // "DeviceGroup::all_reduce"
        const std::size_t scope = text.rfind(':');
        return scope == std::string::npos ? text : text.substr(scope + 1);
    }

    // Cycles ------------------------------------------------------------------------------------

    void find_cycles() {
        std::vector<int> state(waits_.size(), 0);  // 1: on the path, 2: visited
        std::vector<std::size_t> way;
        for (std::size_t i = 0; i < waits_.size(); ++i) visit(i, state, way);
    }
    void visit(std::size_t node, std::vector<int>& state, std::vector<std::size_t>& way) {
        if (state[node] == 2) return;
        if (state[node] == 1) {
            const auto first = std::ranges::find(way, node);
            return add_cycle({first, way.end()});
        }
        state[node] = 1;
        way.push_back(node);
        for (const std::size_t next : waits_.of(node)) visit(next, state, way);
        way.pop_back();
        state[node] = 2;
    }
    std::string name_of(std::size_t node) const {
        if (node < picture_.streams.size()) return picture_.streams[node].name;
        return formatted("thread {}", picture_.threads[node - picture_.streams.size()].number);
    }
    SourceLocation where_of(std::size_t node) const {
        if (node >= picture_.streams.size())
            return picture_.threads[node - picture_.streams.size()].wait.where;
        return picture_.streams[node].look.where;
    }
    void add_cycle(const std::vector<std::size_t>& members) {
        std::string text = "these streams and threads wait for each other: ";
        for (std::size_t i = 0; i < members.size(); ++i)
            text += formatted("{}{} ({}) for {}", std::string_view(i == 0 ? "" : ", "),
                              name_of(members[i]), place_words(where_of(members[i])),
                              name_of(members[(i + 1) % members.size()]));
        add(CauseKind::cycle, text);
    }

    const Snapshot& picture_;
    Waits waits_;
    std::int64_t least_ns_;
    std::vector<StuckCause> found_;
};

std::string Finder::peek_words(const char* text) { return name_words(OpKind::record, text); }

}  // namespace

std::vector<StuckCause> find_causes(const Snapshot& picture, std::int64_t least_ns) {
    return Finder(picture, least_ns).find();
}

bool is_stuck(const Snapshot& picture, Device device, std::int64_t least_ns) {
    const Finder finder(picture, least_ns);
    for (std::size_t i = 0; i < picture.streams.size(); ++i) {
        const StreamFacts& stream = picture.streams[i];
        if (stream.device == device && stream.look.at != StreamAt::idle && finder.is_still(i))
            return true;
    }
    return false;
}

bool is_stuck(const Snapshot& picture, std::size_t thread, std::int64_t least_ns) {
    const ThreadActivity::Seen& seen = picture.threads[thread];
    if (!seen.waits() || picture.waits_ns[thread] < least_ns) return false;
    // The thread waits for an event that another process must record.
    if (seen.wait.stream == 0 && seen.wait.event.event != 0) return true;
    const Finder finder(picture, least_ns);
    // The thread waits for all streams of the device, so one stuck stream is enough.
    return std::ranges::any_of(finder.waits().of(finder.waits().node_of_thread(thread)),
                               [&](std::size_t one) { return finder.is_still(one); });
}

}  // namespace heddle::detail
