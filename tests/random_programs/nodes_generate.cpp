// Generates random graphs of nodes. Nodes that use the same memory are ordered by edges, whatever
// of it they are changed to use; everything else is left to chance.
#include "nodes_program.hpp"
#include "random.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace heddle_test::programs::nodes {

namespace {

/// The arrays that a node and its bodies may use.
struct Uses {
    std::set<int> writes, reads;
};
bool meet(const std::set<int>& a, const std::set<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int one) { return b.contains(one); });
}
bool conflict(const Uses& a, const Uses& b) {
    return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

class Generator {
public:
    Generator(std::uint64_t seed, Device device) : random_(seed * 2 + 1) {
        program_.seed = seed;
        program_.device = device;
    }

    Program run() {
        lay_out();
        const int most = chance(10) ? 40 : 16;
        (void)add_graph(2 + any(most), 0, Inside::nothing);
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
    enum class Inside : std::uint8_t { nothing, child, body };
    struct Slot {
        State state;
        bool is_there = false;
        bool is_captured = false;  ///< cannot be updated with a graph that is built
    };

    bool chance(std::size_t percent) { return random_.below(100) < percent; }
    int any(int n) { return static_cast<int>(random_.below(static_cast<std::size_t>(n))); }
    std::size_t any(std::size_t n) { return random_.below(n); }
    template <class V> auto one_of(const V& v) { return v[random_.below(v.size())]; }
    bool is_cuda() const { return program_.device.is_cuda(); }

    void lay_out() {
        static constexpr std::size_t sizes[] = {4, 5, 33, 200, 1000, 20000};
        for (int i = 3 + any(4); i > 0; --i)
            add_array({chance(25) ? Home::pinned : Home::device,
                       sizes[any(chance(10) ? std::size_t{6} : std::size_t{5})]});
        if (is_cuda() && chance(25)) add_array({Home::cpu, sizes[any(std::size_t{4})]});
        for (int i = 2; i > 0; --i) add_array({chance(25) ? Home::pinned : Home::device, 1, true});
        add_array({Home::device, 200, false, true});
        program_.streams = 2 + any(2);
        program_.events = any(3);
    }
    void add_array(const ArrayInfo& info) { program_.arrays.push_back(info); }

    int pick(bool flag, Inside inside, auto&& fits) {
        std::vector<int> good;
        for (std::size_t i = 0; i < program_.arrays.size(); ++i) {
            const ArrayInfo& info = program_.arrays[i];
            const bool reached = info.home != Home::cpu || inside != Inside::body;
            if (!info.sink && info.flag == flag && reached && fits(static_cast<int>(i)))
                good.push_back(static_cast<int>(i));
        }
        return good.empty() ? -1 : one_of(good);
    }
    bool is_host_memory(int i) const {
        return !is_cuda() || program_.array(i).home != Home::device;
    }

    Kind choose(Inside inside, int depth) {
        static constexpr Kind plain[] = {Kind::scale, Kind::mix,     Kind::scale,  Kind::mix,
                                         Kind::copy,  Kind::copy,    Kind::fill,   Kind::fill,
                                         Kind::fill,  Kind::copy_2d, Kind::decide, Kind::empty};
        static constexpr Kind outside[] = {Kind::host, Kind::host,   Kind::record,
                                           Kind::wait, Kind::memory, Kind::child};
        static constexpr Kind conditions[] = {Kind::if_else, Kind::loop, Kind::switch_case};
        if (depth < 2 && chance(inside == Inside::nothing ? 10 : 4)) return conditions[any(3)];
        if (inside != Inside::body && chance(25)) {
            const Kind kind = outside[any(6)];
            if (kind != Kind::child || depth < 2) return kind;
        }
        return plain[any(12)];
    }

    int add_graph(int count, int depth, Inside inside) {
        const int index = static_cast<int>(program_.graphs.size());
        program_.graphs.emplace_back();
        std::vector<Uses> uses;
        std::vector<std::vector<bool>> before;
        for (int i = 0; i < count; ++i) {
            const int id = add_node(index, depth, inside);
            const Uses mine = uses_of(id);
            std::vector<bool> known(uses.size());
            for (std::size_t j = uses.size(); j-- > 0;) {
                const bool wanted = conflict(mine, uses[j]) || chance(8);
                if (!wanted || (known[j] && !chance(15))) continue;
                at(program_.nodes, id).after.push_back(at(program_.graphs, index)[j]);
                known[j] = true;
                for (std::size_t k = 0; k < j; ++k) known[k] = known[k] || before[j][k];
            }
            at(program_.graphs, index).push_back(id);
            uses.push_back(mine);
            before.push_back(known);
        }
        return index;
    }

    int add_node(int graph, int depth, Inside inside) {
        NodeInfo node;
        node.kind = choose(inside, depth);
        node.graph = graph;
        node.in_body = inside == Inside::body;
        const auto everywhere = [](int) { return true; };
        if (is_cuda() && inside != Inside::body && is_kernel(node.kind)) node.on_cpu = chance(10);
        const auto reached = [&](int i) {
            if (node.kind == Kind::host || node.on_cpu) return is_host_memory(i);
            return !is_kernel(node.kind) && node.kind != Kind::memory
                       ? true
                       : program_.array(i).home != Home::cpu;
        };
        const bool on_flag = node.kind == Kind::decide || (node.kind == Kind::fill && chance(25));
        const bool writes = node.kind <= Kind::host || node.kind == Kind::memory;
        const bool reads = node.kind == Kind::mix || node.kind == Kind::decide ||
                           node.kind == Kind::copy || node.kind == Kind::copy_2d ||
                           node.kind == Kind::memory || (node.kind == Kind::host && chance(50));
        if (is_condition(node.kind)) {
            // Reached by the device, which reads it.
            for (int& from : node.froms) from = pick(true, inside, everywhere);
        }
        if (writes)
            for (int& to : node.tos)
                to = pick(on_flag, inside, [&](int i) { return reached(i) && !counts(i); });
        if (reads)
            for (int& from : node.froms)
                from = pick(false, inside, [&](int i) {
                    return reached(i) && i != node.tos[0] && i != node.tos[1];
                });
        // A fill or copy stays on its kind of memory, which decides on which device it runs.
        if (node.kind == Kind::fill || node.kind == Kind::copy || node.kind == Kind::copy_2d) {
            const auto same = [&](std::array<int, 2>& two) {
                if (two[0] >= 0 && two[1] >= 0 &&
                    program_.array(two[0]).home != program_.array(two[1]).home)
                    two[1] = two[0];
            };
            same(node.tos);
            same(node.froms);
        }
        if ((writes && node.tos[0] < 0) || (reads && node.froms[0] < 0)) node.kind = Kind::empty;
        if (node.kind == Kind::record || node.kind == Kind::wait) {
            node.event = program_.events > 0 ? any(program_.events) : -1;
            if (node.event < 0 || (node.kind == Kind::record && recorded_.contains(node.event)))
                node.kind = Kind::empty, node.event = -1;
            else if (node.kind == Kind::record) recorded_.insert(node.event);
        }
        if (node.kind == Kind::empty) node.tos = node.froms = {-1, -1}, node.on_cpu = false;
        const int id = static_cast<int>(program_.nodes.size());
        program_.nodes.push_back(node);
        if (is_condition(node.kind)) {
            static constexpr int bodies[] = {2, 1, 3};
            for (int i = bodies[static_cast<int>(node.kind) - static_cast<int>(Kind::if_else)];
                 i > 0; --i)
                add_body(id, 1 + any(3), depth, Inside::body);
        } else if (node.kind == Kind::child) {
            add_body(id, 1 + any(4), depth, Inside::child);
        }
        return id;
    }
    /// Returns whether a loop around the node counts this flag down: it would not end.
    bool counts(int array) const {
        return std::find(counted_.begin(), counted_.end(), array) != counted_.end();
    }
    void add_body(int id, int count, int depth, Inside inside) {
        const std::size_t outside = counted_.size();
        if (program_.node(id).kind == Kind::loop)
            for (const int flag : program_.node(id).froms) counted_.push_back(flag);
        const int body = add_graph(count, depth + 1, inside);
        counted_.resize(outside);
        at(program_.nodes, id).bodies.push_back(body);
    }

    Uses uses_of(int id) const {
        const NodeInfo& node = program_.node(id);
        Uses uses;
        for (const int to : node.tos)
            if (to >= 0) uses.writes.insert(to);
        for (const int from : node.froms)
            if (from >= 0) (node.kind == Kind::loop ? uses.writes : uses.reads).insert(from);
        for (const int body : node.bodies)
            for (const int inner : program_.graph(body)) {
                Uses more = uses_of(inner);
                uses.writes.merge(more.writes);
                uses.reads.merge(more.reads);
            }
        return uses;
    }

    /// Returns what the node could be changed to, at random.
    Spec fresh(int id) {
        const NodeInfo& node = program_.node(id);
        static constexpr Word values[] = {0, 0x07070707, 0x00050005};
        Spec s;
        s.a = static_cast<Word>(random_.below(1000)) * 2 + 3;
        s.b = chance(30) ? values[any(3)] : static_cast<Word>(random_.below(1000000007));
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
    /// Returns a state that is like `state` in many of its nodes.
    State changed(State state) {
        for (std::size_t id = 0; id < state.size(); ++id) {
            if (!chance(40)) continue;
            const int priority = state[id].priority;
            state[id] = fresh(static_cast<int>(id));
            state[id].priority = priority;
        }
        return state;
    }

    // Steps.

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

    /// Adds a read of an array by a stream that waits for an event of the launch alone. All writes
    /// of the array are before the node that records it.
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
                    for (const int array : uses_of(other).writes) good.erase(array);
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
            // Often only whether it is enabled, or only what it does.
            if (chance(30)) now = before, now.on = may_be_disabled(node.kind) ? !now.on : now.on;
            else if (chance(30)) now.on = before.on;
            now.flat = node.kind == Kind::copy_2d;  // there is no setter of rectangles
            Step& s = add(Do::change, slot);
            s.node = id;
            s.spec = now;
        }
    }

    void add_step() {
        const int slot = any_slot(), other = any(program_.slots);
        if (slot < 0) return build(0, changed(program_.first));
        Slot& mine = at(slots_, slot);
        const std::size_t dice = random_.below(100);
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
            for (Slot& one : slots_) one.is_captured = false;  // see the runner
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
        s.array = what == Do::work ? pick(false, Inside::nothing, fits)
                                   : any(static_cast<int>(program_.arrays.size()));
        s.spec.a = 3;
        s.spec.b = static_cast<Word>(random_.below(100000)) + 1;
        if (what != Do::replace) return;
        for (Slot& slot : slots_) slot.is_captured = false;  // see the runner
    }

    Random random_;
    Program program_;
    std::vector<Slot> slots_;
    std::set<int> recorded_;
    std::vector<int> counted_;
};

}  // namespace

Program generate(std::uint64_t seed, Device device) { return Generator(seed, device).run(); }

}  // namespace heddle_test::programs::nodes
