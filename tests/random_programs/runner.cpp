#include "runner.hpp"

#include "algorithms.hpp"
#include "asking.hpp"
#include "dawdling.hpp"
#include "kernels.hpp"
#include "lend.hpp"
#include "pests.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include <heddle/by_data.hpp>

namespace heddle_test::programs {

namespace {

/// Thrown to leave a scope.
struct Out {};

using Prepared = PreparedLaunch<Scale, 1, View<int>, Word, Word, int>;

class Runner {
public:
    Runner(const Program& p, Mode mode, RunOptions options)
        : program_(p), mode_(mode), options_(options),
          named_(mode == Mode::named || (mode != Mode::eager && p.seed % 2 == 0)),
          owned_(p.streams.size()), streams_(p.streams.size()), buffers_(p.buffers.size()),
          recorded_(p.events.size()), current_(p.current) {
        for (const Device d : p.devices) pools_.push_back(std::make_unique<StreamPool>(d));
        for (std::size_t i = 0; i < p.streams.size(); ++i) {
            const StreamInfo& info = p.streams[i];
            if (info.role != StreamRole::base) continue;
            owned_[i].emplace(device(info.device), StreamOptions{.priority = info.priority,
                                                                 .name = "s" + std::to_string(i)});
            streams_[i].emplace(*owned_[i]);
            if (dawdles() && owned_[i]->device().is_cpu()) dawdling_.take(*owned_[i]);
        }
        for (std::size_t i = 0; i < p.buffers.size(); ++i) make_buffer(static_cast<int>(i));
        for (const int d : p.events) events_.emplace_back(device(d));
        for (const GraphInfo& info : p.graphs) graphs_.push_back(made_before(info));
    }

    /// Waits for all work before memory is freed. Does so even if streams have failed.
    ~Runner() {
        for (const Device d : program_.devices) {
            try {
                if (options_.alone) synchronize_device(d);
            } catch (const Error&) {}
        }
        for (const auto& s : owned_) {
            try {
                if (s) s->synchronize();
            } catch (const Error&) {}
        }
        dawdling_.give_back();
    }

    Outcome run() {
        {
            const Pests pests(options_.pests, view_for_pests(), program_.seed);
            const Currents here(*this, current_, 0);
            for (const Segment& s : program_.segments) segment(s);
        }
        if (program_.fails) end_failed();
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            // If work has failed, to_host() throws. On CPU devices, all work is complete.
            const bool is_read = !program_.fails || program_.devices[0].is_cpu();
            if (program_.buffers[i].local || !is_read) outcome_.buffers.emplace_back();
            else if (!program_.fails) outcome_.buffers.push_back(to_host(buffers_[i]));
            else
                outcome_.buffers.emplace_back(buffers_[i].data(),
                                              buffers_[i].data() + buffers_[i].size());
        }
        return std::move(outcome_);
    }

private:
    /// Waits for all work, some of which has failed. Stores which streams are poisoned.
    void end_failed() {
        for (const Device d : program_.devices) {
            try {
                synchronize_device(d);
            } catch (const WorkFailed&) {}
        }
        for (const auto& s : owned_)
            if (s) outcome_.failed.push_back(s->clear_error() != nullptr);
        for (const Device d : program_.devices) (void)clear_errors(d);
        // The CPU's current stream has inherited failures from reads of pinned memory.
        (void)clear_errors(Device("cpu:0"));
    }

    /// Makes the program's current streams current on this thread, too.
    struct Currents {
        Currents(Runner& runner, const std::vector<int>& current, int device) {
            const auto enter = [&](int s) {
                scopes.push_back(std::make_unique<ScopedStream>(
                    runner.ref(s), ScopeOptions{.wait_on_enter = false}));
            };
            for (const int s : current) enter(s);
            enter(current[static_cast<std::size_t>(device)]);
        }
        ~Currents() {
            while (!scopes.empty()) scopes.pop_back();
        }
        Currents(const Currents&) = delete;
        Currents& operator=(const Currents&) = delete;
        std::vector<std::unique_ptr<ScopedStream>> scopes;
    };

    Device device(int d) const { return program_.devices[static_cast<std::size_t>(d)]; }
    StreamRef ref(int s) const { return streams_[static_cast<std::size_t>(s)].value(); }
    Array<int>& array(int b) { return buffers_[static_cast<std::size_t>(b)]; }
    Event& event(int e) { return events_[static_cast<std::size_t>(e)]; }
    int device_of(int s) const { return program_.streams[static_cast<std::size_t>(s)].device; }
    int& current(int d) { return current_[static_cast<std::size_t>(d)]; }
    bool is_left_out(const Statement& s, int part) const {
        return options_.left_out == WaitName{s.id, part};
    }

    void make_buffer(int b) {
        const BufferInfo& info = program_.buffers[static_cast<std::size_t>(b)];
        if (info.local) return;
        const std::vector<int> values = first_values(program_, b);
        if (info.space != Space::device) {
            array(b) =
                info.space == Space::pinned ? pinned<int>(info.size) : pageable<int>(info.size);
            if (b % 2 == 0) std::copy(values.begin(), values.end(), array(b).begin());
            else
                for (std::size_t i = 0; i < values.size(); ++i) array(b)[i] = values[i];
        } else {
            const StreamRef stream = ref(program_.current[static_cast<std::size_t>(info.device)]);
            array(b) = from_host(stream, values);
            stream.synchronize();
        }
    }

    /// Returns whether threads are delayed when they enqueue on the program's CPU streams. Never in
    /// captures: delayed streams count as another kind of device, and a capture spans one kind.
    bool dawdles() const {
        return options_.pests > 0 && !captures(mode_) && !program_.fails && program_.seed % 3 == 1;
    }

    PestsView view_for_pests() const {
        PestsView view;
        for (const auto& s : owned_)
            if (s) view.streams.push_back(*s);
        for (std::size_t i = 0; i < buffers_.size(); ++i)
            if (program_.buffers[i].constant) view.constants.push_back(&buffers_[i]);
        view.wait_on_streams = !captures(mode_);
        view.whole_devices = options_.alone;
        view.enqueues = !captures(mode_) && !program_.fails;
        view.moves_scopes = options_.alone;
        return view;
    }

    // Functions for the work of statements.

    /// On CPU devices, holds the stream until open() has run, but only for a limited time.
    void hold(StreamRef stream) {
        const auto limit = std::chrono::milliseconds(options_.hold_ms);
        if (stream.device().is_cpu())
            launch_host(stream, [opened = opened_, limit] { (void)opened.wait(limit); });
        else launch(stream, Idle{}, dim(1), options_.hold_ms * 1000000);
    }
    void open(StreamRef stream) {
        launch_host(stream, [opened = opened_] { opened.set(); });
    }

    /// Returns the first elements of an array, in the form in which the statement passes them.
    View<int> elements(const Statement& s, int b, std::size_t n) {
        const View<int> view = array(b).view().first(n);
        return is_by_address(s) ? View<int>(view.data(), view.size()) : view;
    }

    void work(const Statement& s, StreamRef stream, int round) {
        if (is_lent(s) && condition_ < 0) lend_for_work(s, stream, round);
        else enqueue_work(s, stream, round);
    }

    /// Enqueues work on a lent stream, natively if possible. Captured work of CPU streams and host
    /// functions of CUDA streams cannot be enqueued natively.
    void lend_for_work(const Statement& s, StreamRef stream, int round) {
        const std::size_t n = extent(program_, s, round);
        const Word b = added(s, round);
        const View<int> to = array(s.to).view().first(n);
        const View<const int> from =
            s.from >= 0 ? array(s.from).view().first(n) : View<const int>();
        const auto is_native = [&] {
            if (stream.device().is_cpu()) return !stream.is_capturing();
            return can_launch_natively && s.what != What::host;
        };
        if (!is_native()) {
            lend(stream, [&] { enqueue_work(s, stream, round); });
        } else if (stream.device().is_cpu()) {
            lend(
                stream, [&] { enqueue_natively(stream, HostWork{to, from, n, s.a, b, s.slow}); },
                reads(from), writes(to));
        } else {
            launch_natively(stream, s.what == What::mix, {from, to, s.a, b, s.slow});
        }
    }

    void enqueue_work(const Statement& s, StreamRef stream, int round) {
        const std::size_t n = extent(program_, s, round);
        const Word b = added(s, round);
        const View<int> to = elements(s, s.to, n);
        const View<const int> from =
            s.from >= 0 ? View<const int>(elements(s, s.from, n)) : View<const int>();
        const bool implicit = s.implicit && !named_;
        if (s.algorithm) {
            const StreamRef on = implicit ? current_stream() : stream;
            return enqueue_algorithm(on, which_algorithm(s), b, from, to);
        }
        if (s.captures && s.what != What::host)
            return launch_capturing(s, implicit ? nullptr : &stream, {from, to, s.a, b, s.slow});
        switch (s.what) {
        case What::scale:
            if (s.prepared) launch_prepared(s, stream, to, b);
            else if (implicit) launch(Scale{}, dim(n), to, s.a, b, s.slow);
            else launch(stream, Scale{}, dim(n), to, s.a, b, s.slow);
            break;
        case What::mix:
            if (implicit) launch(Mix{}, dim(n), from, to, s.a, b, s.slow);
            else launch(stream, Mix{}, dim(n), from, to, s.a, b, s.slow);
            break;
        case What::fill:
            if (implicit) fill(to, static_cast<int>(b));
            else fill(stream, to, static_cast<int>(b));
            break;
        case What::copy:
            if (implicit) copy(to, from);
            else copy(stream, to, from);
            break;
        case What::copy_2d:
            if (n < 4) break;
            if (implicit) copy_2d(View2D(to, n / 4, 2, 4), View2D(from, n / 4, 2, 4));
            else copy_2d(stream, View2D(to, n / 4, 2, 4), View2D(from, n / 4, 2, 4));
            break;
        default: {
            const HostWork work{to, from, n, s.a, b, s.slow};
            const auto owning = [&] { return OwningHostWork{work, std::make_shared<Word>(s.a)}; };
            if (s.captures) {
                const auto enqueue = [&](auto lambda) {
                    if (implicit) launch_host(std::move(lambda));
                    else launch_host(stream, std::move(lambda));
                };
                if (s.owns) enqueue([all = owning()] { all(); });
                else enqueue([work] { work(); });
                break;
            }
            if (implicit && s.owns) launch_host(owning(), reads(from), writes(to));
            else if (implicit) launch_host(work, reads(from), writes(to));
            else if (s.owns) launch_host(stream, owning(), reads(from), writes(to));
            else launch_host(stream, work, reads(from), writes(to));
            array(s.to).used_on(stream);
            if (s.from >= 0) array(s.from).used_on(stream);
        }
        }
    }

    void launch_prepared(const Statement& s, StreamRef stream, View<int> to, Word b) {
        const auto known = prepared_.find(s.id);
        if (known == prepared_.end()) {
            prepared_
                .emplace(s.id,
                         prepare(stream.device(), Scale{}, dim(to.size()), to, s.a, b, s.slow))
                .first->second.launch(stream);
        } else {
            known->second.set<0>(to).set<2>(b).dim(dim(to.size())).launch(stream);
        }
    }

    Graph made_before(const GraphInfo& info) {
        if (info.captured) {
            const Stream stream(device(info.device));
            return capture(stream, [&] {
                for (const Statement& s : info.body)
                    if (s.what == What::fail) fail(s, stream);
                    else work(s, stream, 0);
            });
        }
        // A copy within host memory belongs to the current device.
        const ScopedDevice here(device(info.device));
        GraphNode last;
        for (const Statement& s : info.body) {
            const auto then = [&](auto node) {
                if (last) node.after(last);
                last = node;
            };
            const Device on = device(info.device);
            if (s.what == What::fail) {
                then(host_node(on, [id = s.id] { Fail{}(0, id); }));
                continue;
            }
            const std::size_t n = extent(program_, s, 0);
            const View<int> to = elements(s, s.to, n);
            const auto from = [&] { return View<const int>(elements(s, s.from, n)); };
            if (s.captures)
                last = capturing_node(
                    s, on, {s.what == What::mix ? from() : View<const int>(), to, s.a, s.b, s.slow},
                    last);
            else if (s.what == What::scale)
                then(kernel_node(on, Scale{}, dim(n), to, s.a, s.b, s.slow));
            else if (s.what == What::mix)
                then(kernel_node(on, Mix{}, dim(n), from(), to, s.a, s.b, s.slow));
            else if (s.what == What::fill) then(fill_node(to, static_cast<int>(s.b)));
            else then(copy_node(to, from()));
        }
        return last.build();
    }

    // Functions for segments.

    /// Orders every stream after the work of all streams.
    void barrier(int root) {
        for (const auto& s : owned_)
            if (s) ref(root).wait_stream(*s);
        for (const auto& s : owned_)
            if (s) s->wait_stream(ref(root));
    }

    void body(const Segment& s, int round) {
        const int d = device_of(s.root), before = current(d), outer_device = current_device_;
        current(d) = s.root;
        current_device_ = d;
        block(s.body, round);
        current(d) = before;
        current_device_ = outer_device;
    }

    void at_once(const Segment& s, int round) {
        const int before = current(device_of(s.root));
        if (named_ && s.wait_on_enter) ref(s.root).wait_stream(ref(before));
        const ScopedStream in(ref(s.root), {.wait_on_enter = !named_ && s.wait_on_enter});
        body(s, round);
    }

    Graph recorded(const Segment& s, int round) {
        forget_records();
        ScopedCapture scope(ref(s.root), {.join = s.join});
        start_.emplace(ref(s.root).record_event());
        for (const auto& other : owned_)
            if (other && *other != ref(s.root)) other->wait_event(*start_);
        capturing_ = &s;
        body(s, round);
        capturing_ = nullptr;
        if (!s.join)
            for (const auto& other : owned_)
                if (other) ref(s.root).wait_stream(*other);
        Graph graph = scope.end();
        start_.reset();
        forget_records();
        return graph;
    }

    void forget_records() { recorded_.assign(recorded_.size(), false); }

    void segment(const Segment& s) {
        forget_records();
        if (captures(mode_)) {
            captured(s);
            return block(s.after, 0);
        }
        // Most programs have few operations, so parts are small.
        constexpr std::size_t parts[] = {0, 1, 3, 64};
        Batch batch({.on_cpu = true,
                     .flush_after = parts[static_cast<std::size_t>(s.root + s.rounds) % 4]});
        for (int round = 0; round < s.rounds; ++round) {
            if (mode_ != Mode::batch) {
                if (round > 0) barrier(s.root);
                at_once(s, round);
                continue;
            }
            if (round > 0 && !s.inside) barrier(s.root);
            ScopedBatch in(batch, ref(s.root));
            if (round > 0 && s.inside) barrier(s.root);
            at_once(s, round);
            if (s.inside && round + 1 == s.rounds) block(s.after, 0);
            in.end();
        }
        if (mode_ != Mode::batch || !s.inside) block(s.after, 0);
    }

    /// Launches the graph on `root`. If the graph has nodes on another GPU, every second launch is
    /// on a stream of that GPU instead. Waits then order the launch as if it were on `root`.
    void launch_on_any(Graph& graph, int root, int round) {
        const auto has = [&](Device device) {
            return std::ranges::any_of(graph.nodes(),
                                       [&](const NodeInfo& node) { return node.device == device; });
        };
        if (round % 2 == 1)
            for (const auto& other : owned_)
                if (other && other->device().is_cuda() && other->device() != graph.device() &&
                    has(other->device())) {
                    other->wait_stream(ref(root));
                    graph.launch(*other);
                    return ref(root).wait_stream(*other);
                }
        graph.launch(ref(root));
    }

    void captured(const Segment& s) {
        Graph graph = recorded(s, 0);
        barrier(s.root);
        if (mode_ == Mode::capture) {
            for (int i = 0; i < s.rounds; ++i) launch_on_any(graph, s.root, i);
        } else if (mode_ == Mode::clone) {
            Graph other = graph.clone();
            for (int i = 0; i < s.rounds; ++i) {
                launch_on_any(i % 2 == 0 ? graph : other, s.root, i / 2);
                if (i == 0 && s.rounds < 3) graph.reset();
            }
        } else if (mode_ == Mode::nested) {
            const bool at_once = s.rounds % 2 == 0;
            Graph outer = capture(ref(s.root), [&] {
                for (int i = 0; i < (at_once ? s.rounds : 1); ++i) launch_on_any(graph, s.root, i);
            });
            for (int i = 0; i < (at_once ? 1 : s.rounds); ++i) launch_on_any(outer, s.root, i);
        } else {
            for (int i = 0; i < s.rounds; ++i) {
                if (i > 0) graph.update(recorded(s, i));
                launch_on_any(graph, s.root, i);
            }
        }
        barrier(s.root);
    }

    // Functions for statements.

    void block(const Statements& block, int round) {
        for (const Statement& s : block) {
            if (programs::is_left_out(s, mode_, round)) continue;
            statement(s, round);
            if (s.id == options_.opens && s.stream >= 0) open(ref(s.stream));
        }
    }

    void statement(const Statement& s, int round) {
        if (s.id == options_.held && s.what != What::local) hold(ref(s.stream));
        switch (s.what) {
        case What::wait_stream:
            if (!is_left_out(s, 0)) ref(s.stream).wait_stream(ref(s.other));
            break;
        case What::record:
            ref(s.stream).record_event(event(s.event));
            recorded_[static_cast<std::size_t>(s.event)] = true;
            break;
        case What::wait_event:
            if (!is_left_out(s, 0) && recorded_[static_cast<std::size_t>(s.event)])
                ref(s.stream).wait_event(event(s.event));
            break;
        case What::mark:
            if (is_left_out(s, 0)) break;
            ref(s.stream).wait_event(ref(s.other).record_event());
            break;
        case What::set_current: {
            int& now = current(device_of(s.stream));
            if (named_) ref(s.stream).wait_stream(ref(now));
            else set_stream(ref(s.stream));
            now = s.stream;
            break;
        }
        case What::copy_across: copy_across(s, round); break;
        case What::copy_here: {
            const std::size_t n = extent(program_, s, round);
            copy(ref(s.stream), elements(s, s.to, n), elements(s, s.from, n));
            break;
        }
        case What::fail: fail(s, ref(s.stream)); break;
        case What::ask: ask(s); break;
        case What::clear:
            if (s.owns) (void)clear_errors(ref(s.stream).device());
            else (void)ref(s.stream).clear_error();
            break;
        case What::by_data: by_data(s); break;
        case What::captured: capture_inside(s, round); break;
        case What::scope: scope(s, round); break;
        case What::fork: fork(s, round); break;
        case What::temporary: temporary(s, round); break;
        case What::local:
            array(s.to) = s.implicit && !named_
                              ? empty<int>(program_.buffers[static_cast<std::size_t>(s.to)].size)
                              : empty<int>(ref(s.stream),
                                           program_.buffers[static_cast<std::size_t>(s.to)].size);
            if (s.id == options_.held) hold(ref(s.stream));
            fill(ref(s.stream), array(s.to), static_cast<int>(s.b));
            block(s.bodies[0], round);
            if (s.owns) launch_host(ref(s.stream), [array = std::move(array(s.to))] {});
            else array(s.to).reset();
            break;
        case What::thread: on_thread(s, round); break;
        case What::condition:
        case What::loop: condition(s, round); break;
        case What::graph: graphs_[static_cast<std::size_t>(s.event)].launch(ref(s.stream)); break;
        case What::wait_here: ref(s.stream).synchronize(); break;
        case What::wait_here_event:
            if (recorded_[static_cast<std::size_t>(s.event)]) event(s.event).synchronize();
            break;
        case What::wait_here_all: synchronize_device(device(device_of(s.stream))); break;
        case What::look: look(s); break;
        case What::upload: {
            std::vector<int> values = uploaded(program_, s);
            copy(ref(s.stream), array(s.to), values);
            values.assign(values.size(), -1);
            break;
        }
        case What::download: {
            std::vector<int> values(array(s.from).size(), -1);
            copy(ref(s.stream), values, array(s.from));
            outcome_.seen.push_back(values);
            break;
        }
        case What::make_anew:
            array(s.to).reset();
            array(s.to) =
                full<int>(ref(s.stream), program_.buffers[static_cast<std::size_t>(s.to)].size,
                          static_cast<int>(s.b));
            break;
        default: work(s, ref(s.stream), round);
        }
    }

    static void fail(const Statement& s, StreamRef stream) {
        if (s.owns) launch_host(stream, [id = s.id] { Fail{}(0, id); });
        else launch(stream, Fail{}, dim(s.b % 100 + 1), s.id);
    }

    void look(const Statement& s) {
        if (!program_.fails) return outcome_.seen.push_back(read_again(s, to_host(array(s.from))));
        const OnCpu own(device(0));
        answer(s, [&] { return to_host(array(s.from)); });
    }

    /// Reads the elements again by the host's own accesses, if it has access. Returns them. All
    /// writers have completed.
    std::vector<int> read_again(const Statement& s, std::vector<int> elements) {
        const Array<int>& x = array(s.from);
        if (x.kind() == MemoryKind::device && x.device().is_cuda()) return elements;
        switch (s.id % 4) {
        case 0:
            for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = x[i];
            break;
        case 1: elements.assign(x.begin(), x.end()); break;
        case 2: elements.assign(x.data(), x.data() + x.size()); break;
        default: break;
        }
        return elements;
    }

    /// In programs for GPUs, makes a new CPU stream current, on which arrays of the host are then
    /// read. That stream inherits failures of the arrays' users. The program's streams do not.
    struct OnCpu {
        std::optional<Stream> stream;
        std::optional<ScopedStream> in;
        explicit OnCpu(Device beside) {
            if (beside.is_cpu()) return;
            stream.emplace(Device("cpu:0"));
            in.emplace(*stream, ScopeOptions{.wait_on_enter = false});
        }
    };

    template <class F> void answer(const Statement& s, F&& ask) {
        Answer answer{.statement = s.id};
        try {
            answer.elements = ask();
            answer.may_give = true;
        } catch (const WorkFailed& error) {
            answer.may_throw = true;
            answer.thrown = error.what();
        }
        outcome_.answers.push_back(std::move(answer));
    }

    void ask(const Statement& s) {
        const Way& way = ways_to_ask()[s.a];
        if (way.hears != Hears::users)
            return answer(s, [&] { return way.ask(ref(s.stream), array(s.from)); });
        const OnCpu on_cpu(device(0));
        const Stream own(device(device_of(s.stream)));
        const ScopedStream in(own, {.wait_on_enter = false});
        answer(s, [&] { return way.ask(own, array(s.from)); });
    }

    void by_data(const Statement& s) {
        const ScopedStream in(ref(s.stream), {.wait_on_enter = false});
        DataOrder order(ref(s.stream).device(), {.streams = 1 + s.id % 3});
        for (const Statement& w : s.bodies[0]) {
            const std::size_t n = extent(program_, w, 0);
            const View<int> to = elements(w, w.to, n);
            const auto from = [&] { return View<const int>(elements(w, w.from, n)); };
            if (w.algorithm) {
                enqueue_algorithm(order, which_algorithm(w), w.b,
                                  w.from >= 0 ? from() : View<const int>(), to);
                continue;
            }
            switch (w.what) {
            case What::scale: launch(order, Scale{}, dim(n), to, w.a, w.b, w.slow); break;
            case What::mix: launch(order, Mix{}, dim(n), from(), to, w.a, w.b, w.slow); break;
            case What::fill: fill(order, to, static_cast<int>(w.b)); break;
            case What::copy: copy(order, to, from()); break;
            default: launch_host(order, [id = w.id] { Fail{}(0, id); }, writes(to));
            }
        }
    }

    void copy_across(const Statement& s, int round) {
        const std::size_t n = extent(program_, s, round);
        const View<int> to = elements(s, s.to, n);
        const View<const int> from = elements(s, s.from, n);
        if (!named_) return copy(to, from);
        ref(s.stream).wait_stream(ref(s.other));
        copy(ref(s.stream), to, from);
        ref(s.other).wait_stream(ref(s.stream));
    }

    void capture_inside(const Statement& s, int round) {
        // A stream that is already being captured cannot be captured again.
        std::optional<Stream> own;
        if (ref(s.stream).is_capturing()) own.emplace(ref(s.stream).device());
        const StreamRef root = own ? StreamRef(*own) : ref(s.stream);
        const std::optional<StreamRef> before = streams_[static_cast<std::size_t>(s.stream)];
        std::optional<ScopedCapture> scope(std::in_place, root);
        streams_[static_cast<std::size_t>(s.stream)] = root;
        block(s.bodies[0], round);
        streams_[static_cast<std::size_t>(s.stream)] = before;
        const auto outside = [&] {
            const Currents here(*this, current_, current_device_);
            block(s.bodies[1], round);
            if (s.from < 0 || captures(mode_)) return;
            // Reads on the array's device, whose current stream inherits failures.
            const OnCpu on_cpu(device(0));
            const BufferInfo& from = program_.buffers[static_cast<std::size_t>(s.from)];
            const Stream reader(device(from.space == Space::device ? from.device : 0));
            const ScopedStream in(reader, {.wait_on_enter = false});
            look(s);
        };
        outside();
        Graph graph = scope->end();
        scope.reset();
        graph.launch(ref(s.stream));
    }

    void scope(const Statement& s, int round) {
        const int d = device_of(s.stream), before = current(d), outer_device = current_device_;
        const bool enter = s.wait_on_enter && !is_left_out(s, 0),
                   leave = s.wait_on_exit && !is_left_out(s, 1);
        current(d) = s.stream;
        current_device_ = d;
        if (named_) {
            if (enter) ref(s.stream).wait_stream(ref(before));
            block(s.bodies[0], round);
            if (leave) ref(before).wait_stream(ref(s.stream));
        } else {
            try {
                const ScopedStream in(ref(s.stream),
                                      {.wait_on_enter = enter, .wait_on_exit = leave});
                block(s.bodies[0], round);
                if (s.throws) throw Out();
            } catch (const Out&) {}
        }
        current(d) = before;
        current_device_ = outer_device;
    }

    void fork(const Statement& s, int round) {
        const int d = device_of(s.stream), before = current(d), outer_device = current_device_;
        current_device_ = d;
        const auto branch = [&](std::size_t i, StreamRef stream) {
            streams_[static_cast<std::size_t>(s.streams[i])].emplace(stream);
            current(d) = s.streams[i];
            block(s.bodies[i], round);
            if (s.id % 5 == 0 && i + 1 == s.bodies.size()) throw Out();
        };
        try {
            fork_join_n(ref(s.stream), s.bodies.size(), branch);
        } catch (const Out&) {}
        current(d) = before;
        current_device_ = outer_device;
    }

    void temporary(const Statement& s, int round) {
        const auto at = static_cast<std::size_t>(s.stream);
        {
            const int d = device_of(s.stream);
            std::optional<Stream> own;
            StreamPool::Lease lease;
            if (s.pooled) lease = pools_[static_cast<std::size_t>(d)]->lease();
            else own.emplace(device(d), StreamOptions{.name = "temporary"});
            const StreamRef stream = s.pooled ? StreamRef(lease) : StreamRef(*own);
            if (condition_ >= 0) stream.wait_stream(ref(condition_));
            else if (capturing_ != nullptr) stream.wait_event(*start_);
            streams_[at].emplace(stream);
            block(s.bodies[0], round);
            if (condition_ >= 0) ref(condition_).wait_stream(stream);
            else if (capturing_ != nullptr && !capturing_->join)
                ref(capturing_->root).wait_stream(stream);
        }
        streams_[at].reset();
    }

    void on_thread(const Statement& s, int round) {
        if (capturing_ != nullptr) {
            const Currents here(*this, current_, current_device_);
            const std::vector<int> outside = current_;
            block(s.bodies[0], round);
            current_ = outside;
            return;
        }
        std::exception_ptr failed;
        const std::vector<int> before = current_;
        std::thread thread([&] {
            try {
                const Currents here(*this, current_, current_device_);
                block(s.bodies[0], round);
            } catch (...) {
                failed = std::current_exception();
            }
        });
        thread.join();
        current_ = before;
        if (failed) std::rethrow_exception(failed);
    }

    void condition(const Statement& s, int round) {
        const StreamRef stream = ref(s.stream);
        const View<int> flag = array(s.to).view();
        launch(stream, Decide{}, dim(1), array(s.from).view().first(1), flag,
               s.what == What::loop ? Word{4} : Word{2});
        condition_ = s.stream;
        if (s.what == What::condition) {
            capture_if(
                stream, flag, [&] { block(s.bodies[0], round); },
                [&] { block(s.bodies[1], round); });
        } else {
            capture_while(stream, flag, [&] {
                block(s.bodies[0], round);
                launch(stream, CountDown{}, dim(1), flag);
            });
        }
        condition_ = -1;
    }

    const Program& program_;
    Mode mode_;
    RunOptions options_;
    bool named_;  ///< whether all calls name their streams, with waits instead of scopes
    Dawdling dawdling_;
    std::vector<std::optional<Stream>> owned_;
    std::vector<std::optional<StreamRef>> streams_;
    std::vector<Array<int>> buffers_;
    std::vector<Event> events_;
    std::vector<bool> recorded_;
    std::vector<Graph> graphs_;
    std::vector<std::unique_ptr<StreamPool>> pools_;  ///< one for each device
    std::map<int, Prepared> prepared_;                ///< by id of the statement
    /// The stream of the condition whose body is running. -1 outside bodies.
    int condition_ = -1;
    std::vector<int> current_;
    int current_device_ = 0;
    std::optional<Event> start_;  ///< recorded when the capture begins
    const Segment* capturing_ = nullptr;
    Outcome outcome_;
    Flag opened_;
};

}  // namespace

Outcome run(const Program& p, Mode mode, RunOptions options) {
    return Runner(p, mode, options).run();
}

std::string failure(const Program& p, Mode mode, RunOptions options) {
    try {
        return difference(p, expected(p, mode), run(p, mode, options));
    } catch (const std::exception& error) {
        return std::string("threw: ") + error.what();
    }
}

}  // namespace heddle_test::programs
