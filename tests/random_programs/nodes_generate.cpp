// Generates random graphs of nodes, and the steps that change and launch these graphs.
#include "nodes_graph_maker.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace heddle_test::programs::nodes {

namespace {

class Generator {
public:
    Generator(std::uint64_t seed, Device device) : maker_(seed, device) {}

    Program run() {
        maker_.lay_out();
        const int most = chance(10) ? 40 : 16;
        (void)maker_.add_graph(2 + any(most), 0, Inside::nothing);
        for (std::size_t id = 0; id < program_.nodes.size(); ++id)
            program_.first.push_back(fresh(static_cast<int>(id)));
        slots_.resize(static_cast<std::size_t>(program_.slots));
        build(0, program_.first);
        for (int left = 6 + any(14); left > 0; --left) add_step();
        for (int slot = 0; slot < program_.slots; ++slot)
            if (at(slots_, slot).is_there) launch(slot, false);
        return std::move(program_);
    }

private:
    using Inside = GraphMaker::Inside;
    struct Slot {
        State state;
        bool is_there = false;
        bool is_captured = false;  ///< then no graph of built nodes can update it
    };

    bool chance(std::size_t percent) { return maker_.chance(percent); }
    int any(int n) { return maker_.any(n); }
    std::size_t any(std::size_t n) { return maker_.any(n); }
    template <class V> auto one_of(const V& v) { return maker_.one_of(v); }

    /// Returns a new, random spec for the node.
    Spec fresh(int id) {
        const NodeInfo& node = program_.node(id);
        static constexpr Word values[] = {0, 0x07070707, 0x00050005};
        Spec s;
        s.a = static_cast<Word>(any(std::size_t{1000})) * 2 + 3;
        s.b = chance(30) ? values[any(3)] : static_cast<Word>(any(std::size_t{1000000007}));
        s.to = one_of(node.tos);
        s.from = one_of(node.froms);
        std::size_t room = s.to >= 0 ? program_.array(s.to).size : 1;
        if (s.from >= 0 && node.kind != Kind::decide)
            room = std::min(room, program_.array(s.from).size);
        s.n = node.kind == Kind::decide ? 1 : room;
        if (node.kind != Kind::decide && s.to >= 0) {
            if (program_.array(s.to).flag) s.b %= 4;
            if (chance(30)) s.n = room > 4 ? 4 + any(room - 3) : room;
            if (is_kernel(node.kind) && chance(6)) s.n = 0;
            s.at = any(program_.array(s.to).size - std::max<std::size_t>(s.n, 1) + 1);
        }
        if (s.from >= 0 && !is_condition(node.kind))
            s.from_at = any(program_.array(s.from).size - std::max<std::size_t>(s.n, 1) + 1);
        if (chance(10) && (node.kind <= Kind::mix || node.kind == Kind::host))
            s.slow = 1000 + any(40) * 1000;
        s.on = !may_be_disabled(node.kind) || !chance(20);
        if (is_kernel(node.kind) && !node.on_cpu && chance(10)) s.priority = -any(6);
        return s;
    }
    /// Returns a state in which many nodes are as in `state`, and the others are changed.
    State changed(State state) {
        for (std::size_t id = 0; id < state.size(); ++id) {
            if (!chance(40)) continue;
            const int priority = state[id].priority;
            state[id] = fresh(static_cast<int>(id));
            state[id].priority = priority;
        }
        return state;
    }

    // Functions that add steps.

    Step& add(Do what, int slot) {
        Step& s = program_.steps.emplace_back();
        s.what = what;
        s.slot = slot;
        s.stream = any(program_.streams);
        s.flag = chance(50);
        return s;
    }
    int any_slot() {
        std::vector<int> there;
        for (int i = 0; i < program_.slots; ++i)
            if (at(slots_, i).is_there) there.push_back(i);
        return there.empty() ? -1 : one_of(there);
    }
    void build(int slot, const State& state) {
        add(Do::build, slot).state = state;
        at(slots_, slot) = {state, true, false};
    }
    void launch(int slot, bool in_batch) {
        Step& s = add(in_batch ? Do::batch : Do::launch, slot);
        if (!in_batch && chance(25)) add_aside(s);
    }

    /// Adds a read of an array by a stream that only waits for an event of the launch. All writes
    /// of the array precede the node that records the event.
    void add_aside(const Step& launch) {
        const Step made = launch;
        for (const int id : program_.graph(0)) {
            if (program_.node(id).kind != Kind::record) continue;
            std::set<int> before, good;
            collect_before(id, before);
            for (std::size_t i = 0; i < program_.arrays.size(); ++i)
                if (!program_.arrays[i].sink && program_.arrays[i].home != Home::cpu)
                    good.insert(static_cast<int>(i));
            for (const int other : program_.graph(0))
                if (!before.contains(other))
                    for (const int array : maker_.uses_of(other).writes) good.erase(array);
            if (good.empty()) continue;
            const int array = *std::next(good.begin(), any(static_cast<int>(good.size())));
            Step& s = add(Do::aside, made.slot);
            s.stream = (made.stream + 1) % program_.streams;
            s.event = program_.node(id).event;
            s.array = array;
            s.spec.to = static_cast<int>(program_.arrays.size()) - 1;
            s.spec.n = std::min(program_.array(array).size, program_.array(s.spec.to).size);
            s.spec.a = 5;
            s.spec.b = 1;
            return;
        }
    }
    void collect_before(int id, std::set<int>& before) const {
        for (const int first : program_.node(id).after)
            if (before.insert(first).second) collect_before(first, before);
    }

    void change(int slot) {
        for (int i = 1 + any(3); i > 0; --i) {
            const int id = any(static_cast<int>(program_.nodes.size()));
            const NodeInfo& node = program_.node(id);
            const bool fits = node.kind <= Kind::host && !node.in_body;
            if (!fits) continue;
            Spec& now = at(at(slots_, slot).state, id);
            const Spec next = fresh(id);
            const Spec before = std::exchange(now, next);
            now.priority = before.priority;
            // Often changes only `on`, and often everything except `on`.
            if (chance(30)) now = before, now.on = may_be_disabled(node.kind) ? !now.on : now.on;
            else if (chance(30)) now.on = before.on;
            now.flat = node.kind == Kind::copy_2d;  // rectangles have no setter
            Step& s = add(Do::change, slot);
            s.node = id;
            s.spec = now;
        }
    }

    void add_step() {
        const int slot = any_slot(), other = any(program_.slots);
        if (slot < 0) return build(0, changed(program_.first));
        Slot& mine = at(slots_, slot);
        const std::size_t dice = any(std::size_t{100});
        if (dice < 40) change(slot);
        else if (dice < 48) {
            if (!mine.is_captured) add(Do::update, slot).state = mine.state = changed(mine.state);
        } else if (dice < 51) build(other, changed(program_.first));
        else if (dice < 58) add_copy(dice < 55 ? Do::clone : Do::capture, slot, other);
        else if (dice < 60) add(Do::drop, slot), mine = {};
        else if (dice < 63) add(Do::instantiate, slot);
        else if (dice < 65) add(Do::upload, slot);
        else if (dice < 70) add_work(Do::work);
        else if (dice < 73) add_work(Do::look);
        else if (dice < 75) add(Do::wait_here, slot);
        else if (dice < 80) add_work(Do::replace);
        else if (dice < 82 && program_.events > 0) {
            add(Do::new_event, slot).event = any(program_.events);
            for (Slot& one : slots_) one.is_captured = false;  // see nodes_runner.cpp
        } else if (dice < 86) {
            Step& s = add(dice < 84 ? Do::prioritise : Do::misuse, slot);
            s.node = one_of(program_.graph(0));
            s.spec.priority = -any(3);
        }
        const int launched = any_slot();
        if (launched >= 0 && !chance(15)) launch(launched, chance(5));
    }
    void add_copy(Do what, int slot, int other) {
        if (slot == other) return;
        add(what, slot).other = other;
        at(slots_, other) = at(slots_, slot);
        if (what == Do::capture) at(slots_, other).is_captured = true;
    }
    void add_work(Do what) {
        Step& s = add(what, 0);
        const auto fits = [&](int i) { return program_.array(i).home != Home::cpu; };
        s.array = what == Do::work ? maker_.pick(false, Inside::nothing, fits)
                                   : any(static_cast<int>(program_.arrays.size()));
        s.spec.a = 3;
        s.spec.b = static_cast<Word>(any(std::size_t{100000})) + 1;
        if (what != Do::replace) return;
        for (Slot& slot : slots_) slot.is_captured = false;  // see nodes_runner.cpp
    }

    GraphMaker maker_;
    Program& program_ = maker_.program();
    std::vector<Slot> slots_;
};

}  // namespace

Program generate(std::uint64_t seed, Device device) { return Generator(seed, device).run(); }

}  // namespace heddle_test::programs::nodes
