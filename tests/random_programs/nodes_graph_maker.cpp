#include "nodes_graph_maker.hpp"

#include <algorithm>

namespace heddle_test::programs::nodes {

namespace {

bool meet(const std::set<int>& a, const std::set<int>& b) {
    return std::any_of(a.begin(), a.end(), [&](int one) { return b.contains(one); });
}
bool conflict(const Uses& a, const Uses& b) {
    return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

}  // namespace

void GraphMaker::lay_out() {
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

void GraphMaker::add_array(const ArrayInfo& info) { program_.arrays.push_back(info); }

bool GraphMaker::is_host_memory(int i) const {
    return !is_cuda() || program_.array(i).home != Home::device;
}

Kind GraphMaker::choose(Inside inside, int depth) {
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

int GraphMaker::add_graph(int count, int depth, Inside inside) {
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

int GraphMaker::add_node(int graph, int depth, Inside inside) {
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
        // The device of the node reads these arrays, so it must be able to access them.
        for (int& from : node.froms) from = pick(true, inside, everywhere);
    }
    if (writes)
        for (int& to : node.tos)
            to = pick(on_flag, inside, [&](int i) { return reached(i) && !counts(i); });
    if (reads)
        for (int& from : node.froms)
            from = pick(false, inside,
                        [&](int i) { return reached(i) && i != node.tos[0] && i != node.tos[1]; });
    // A fill or copy keeps its kind of memory, because that kind decides which device runs the
    // node.
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
        for (int i = bodies[static_cast<int>(node.kind) - static_cast<int>(Kind::if_else)]; i > 0;
             --i)
            add_body(id, 1 + any(3), depth, Inside::body);
    } else if (node.kind == Kind::child) {
        add_body(id, 1 + any(4), depth, Inside::child);
    }
    return id;
}

/// Returns whether a loop around the node counts down this flag. If so, other nodes must not write
/// the flag.
bool GraphMaker::counts(int array) const {
    return std::find(counted_.begin(), counted_.end(), array) != counted_.end();
}

void GraphMaker::add_body(int id, int count, int depth, Inside inside) {
    const std::size_t outside = counted_.size();
    if (program_.node(id).kind == Kind::loop)
        for (const int flag : program_.node(id).froms) counted_.push_back(flag);
    const int body = add_graph(count, depth + 1, inside);
    counted_.resize(outside);
    at(program_.nodes, id).bodies.push_back(body);
}

Uses GraphMaker::uses_of(int id) const {
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

}  // namespace heddle_test::programs::nodes
