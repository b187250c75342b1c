// Runs random graphs of nodes with heddle.
#include "nodes_program.hpp"

#include "kernels.hpp"
#include "nodes_builder.hpp"

#include <algorithm>

namespace heddle_test::programs::nodes {

namespace {

class Runner {
public:
    explicit Runner(const Program& p)
        : program_(p), in_(p.device), builder_(p), slots_(static_cast<std::size_t>(p.slots)) {
        for (int i = 0; i < p.streams; ++i)
            streams_.emplace_back(p.device, StreamOptions{.priority = i == 1 ? -1 : 0,
                                                          .name = "s" + std::to_string(i)});
        for (std::size_t i = 0; i < p.arrays.size(); ++i) make_array(static_cast<int>(i), 0);
        for (int i = 0; i < p.events; ++i) builder_.events.emplace_back(p.device);
    }

    Results run() {
        for (const Step& step : program_.steps) take(step);
        for (std::size_t i = 0; i < program_.arrays.size(); ++i) look(static_cast<int>(i), 0);
        return std::move(seen_);
    }

private:
    struct Slot {
        Graph graph;
        State state;
        std::vector<GraphNode> handles;  ///< handles of the outer graph, if built here
        bool is_captured = false;
    };

    Stream& stream(int i) { return at(streams_, i); }
    Array<int>& array(int i) { return at(builder_.arrays, i); }

    /// Orders a stream after all earlier work.
    void follow(int i) {
        for (const int other : open_) stream(i).wait_stream(stream(other));
        open_ = {i};
        last_launched_ = -1;
    }

    void make_array(int i, Word turn) {
        const ArrayInfo& info = program_.array(i);
        const std::vector<int> values = contents(program_, i, turn);
        if (builder_.arrays.size() <= static_cast<std::size_t>(i)) builder_.arrays.emplace_back();
        if (info.home == Home::pinned) {
            array(i) = pinned<int>(info.size);
            std::copy(values.begin(), values.end(), array(i).begin());
        } else if (info.home == Home::cpu) {
            const StreamRef on_cpu = default_stream(Device("cpu:0"));
            array(i) = from_host(on_cpu, values);
            on_cpu.synchronize();
        } else {
            follow(0);
            array(i) = from_host(stream(0), values);
        }
    }

    void take(const Step& s) {
        Slot& slot = at(slots_, s.slot);
        switch (s.what) {
        case Do::build: return build(s.slot, s.state);
        case Do::drop: return forget(s.slot);
        case Do::work:
            follow(s.stream);
            return heddle::launch(stream(s.stream), Scale{}, dim(array(s.array).size()),
                                  array(s.array), s.spec.a, s.spec.b, 0);
        case Do::aside: return aside(s);
        case Do::wait_here: return stream(s.stream).synchronize();
        case Do::look: return look(s.array, s.stream);
        case Do::replace: return replace(s);
        case Do::new_event: return new_event(s);
        default: break;
        }
        if (!slot.graph) return;  // the program was shrunk, and the step is missing
        switch (s.what) {
        case Do::change:
            at(slot.state, s.node) = kept(slot, s.node, s.spec);
            return builder_.change(handle(slot, s), s.node, s.spec, s.stream == 0);
        case Do::update: {
            State state = s.state;
            for (std::size_t id = 0; id < state.size(); ++id)
                state[id].priority = slot.state[id].priority;
            slot.state = std::move(state);
            return slot.graph.update(builder_.graph(slot.state));
        }
        case Do::clone:
            forget(s.other);
            at(slots_, s.other) = {slot.graph.clone(), slot.state, {}, slot.is_captured};
            return;
        case Do::capture: {
            forget(s.other);
            Graph captured =
                capture(stream(s.stream), [&] { slot.graph.launch(stream(s.stream)); });
            at(slots_, s.other) = {std::move(captured), slot.state, {}, true};
            return;
        }
        case Do::instantiate: return slot.graph.instantiate();
        case Do::upload: follow(s.stream); return slot.graph.upload(stream(s.stream));
        case Do::launch: return launch(s);
        case Do::batch: {
            follow(s.stream);
            Batch batch;
            const ScopedBatch recording(batch, stream(s.stream));
            return slot.graph.launch(stream(s.stream));
        }
        case Do::prioritise: return prioritise(slot, s);
        case Do::misuse:
            if (may_be_disabled(program_.node(s.node).kind)) return;
            return refused("disabling", [&] { find(slot.graph, s.node).disable(); });
        default: return;
        }
    }

    static Spec kept(Slot& slot, int node, Spec spec) {
        spec.priority = at(slot.state, node).priority;
        return spec;
    }
    GraphNode handle(Slot& slot, const Step& s) const {
        const auto id = static_cast<std::size_t>(s.node);
        if (!s.flag && id < slot.handles.size() && slot.handles[id]) return slot.handles[id];
        return find(slot.graph, s.node);
    }

    void forget(int slot) {
        at(slots_, slot) = {};
        if (last_launched_ == slot) last_launched_ = -1;
    }
    void build(int slot, const State& state) {
        forget(slot);
        Slot& made = at(slots_, slot);
        made.state = state;
        made.graph = builder_.graph(state, &made.handles);
    }

    void launch(const Step& s) {
        if (s.flag && last_launched_ == s.slot) open_ = {s.stream};
        else follow(s.stream);
        at(slots_, s.slot).graph.launch(stream(s.stream));
        last_launched_ = s.slot;
    }

    void aside(const Step& s) {
        const bool by_event = last_launched_ == s.slot && at(slots_, s.slot).graph;
        const std::vector<int> open = open_;
        if (by_event) stream(s.stream).wait_event(at(builder_.events, s.event));
        else follow(s.stream);
        const std::size_t n = s.spec.n;
        heddle::launch(stream(s.stream), Mix{}, dim(n), array(s.array).view().first(n),
                       array(s.spec.to).view().first(n), s.spec.a, s.spec.b, 0);
        if (by_event) open_ = open, open_.push_back(s.stream);
        last_launched_ = -1;
    }

    void look(int i, int on) {
        follow(on);
        if (program_.array(i).home == Home::cpu) {
            stream(on).synchronize();
            seen_.push_back(to_host(default_stream(Device("cpu:0")), array(i)));
        } else {
            seen_.push_back(to_host(stream(on), array(i)));
        }
    }

    template <class F> void refused(const char* what, F&& call) {
        try {
            call();
        } catch (const UsageError&) {
            return;
        }
        throw Wrong(std::string(what) + " is not refused");
    }

    void replace(const Step& s) {
        array(s.array).reset();
        if (s.flag) {
            for (Slot& slot : slots_)
                if (slot.graph && uses(slot.state, s.array))
                    refused("a launch with an array that is gone",
                            [&] { slot.graph.launch(stream(s.stream)); });
        }
        make_array(s.array, s.spec.b);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            Slot& slot = slots_[i];
            if (!slot.graph) continue;
            if (slot.is_captured) build(static_cast<int>(i), State(slot.state));
            else slot.graph.update(builder_.graph(slot.state));
        }
    }
    bool uses(const State& state, int array) const {
        for (std::size_t id = 0; id < state.size(); ++id) {
            const Spec& spec = state[id];
            const bool is_nothing = is_kernel(program_.nodes[id].kind) && spec.n == 0;
            if (spec.on && !is_nothing && (spec.to == array || spec.from == array)) return true;
        }
        return false;
    }

    void new_event(const Step& s) {
        Event& event = at(builder_.events, s.event);
        event = Event();
        bool any = false;
        for (const NodeInfo& node : program_.nodes) any = any || node.event == s.event;
        for (Slot& slot : slots_)
            if (s.flag && any && slot.graph)
                refused("a launch with an event that is gone",
                        [&] { slot.graph.launch(stream(s.stream)); });
        event = Event(program_.device);
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (slots_[i].graph) build(static_cast<int>(i), State(slots_[i].state));
    }

    void prioritise(Slot& slot, const Step& s) {
        const NodeInfo& info = program_.node(s.node);
        if (!is_kernel(info.kind) || info.on_cpu) return;
        const GraphNode node = find(slot.graph, s.node);
        const std::vector<heddle::NodeInfo> all = slot.graph.nodes();
        const auto now = std::ranges::find(all, node.name(), &heddle::NodeInfo::name);
        const bool is_fixed = program_.device.is_cuda() && slot.graph.is_instantiated() &&
                              now->priority != s.spec.priority;
        try {
            builder_.prioritise(node, s.node, s.spec.priority);
            at(slot.state, s.node).priority = s.spec.priority;
        } catch (const Error& error) {
            if (is_fixed && error.code() == ErrorCode::unsupported) return;
            throw;
        }
        if (is_fixed) throw Wrong("a priority of a graph that is instantiated is not refused");
    }

    const Program& program_;
    ScopedDevice in_;
    std::vector<Stream> streams_;
    Builder builder_;
    std::vector<Slot> slots_;
    std::vector<int> open_{0};  ///< the streams that the next step's work follows
    int last_launched_ = -1;    ///< the slot that the last step launched; -1 if it launched none
    Results seen_;
};

}  // namespace

Results run(const Program& p) { return Runner(p).run(); }

}  // namespace heddle_test::programs::nodes
