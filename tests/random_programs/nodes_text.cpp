// Converts random graphs of nodes to text, and shrinks them.
#include "nodes_program.hpp"

#include "words.hpp"

#include <algorithm>

namespace heddle_test::programs::nodes {

namespace {

std::string text_of(Kind kind) {
    return word_of("scale mix decide copy copy_2d fill host empty record wait memory if_else loop "
                   "switch_case child",
                   kind);
}
std::string text_of(Do what) {
    return word_of("change update build clone capture drop instantiate upload launch batch work "
                   "aside wait_here look replace new_event prioritise misuse",
                   what);
}

std::string text_of(const Spec& s) {
    std::string text;
    if (s.to >= 0)
        text += " x" + std::to_string(s.to) + "[" + std::to_string(s.at) + "+" +
                std::to_string(s.n) + "]";
    if (s.from >= 0)
        text += " from x" + std::to_string(s.from) + "[" + std::to_string(s.from_at) + "]";
    text += " a=" + std::to_string(s.a) + " b=" + std::to_string(s.b);
    if (s.slow != 0) text += " slow=" + std::to_string(s.slow);
    if (s.priority != 0) text += " priority=" + std::to_string(s.priority);
    if (s.flat) text += " flat";
    return text + (s.on ? "" : " off");
}

void write_graph(const Program& p, int index, const State& state, std::size_t depth,
                 std::string& out) {
    for (const int id : p.graph(index)) {
        const NodeInfo& node = p.node(id);
        if (node.kind == Kind::empty && node.after.empty()) continue;
        out += std::string(depth * 4, ' ') + "n" + std::to_string(id) + " " + text_of(node.kind) +
               (node.on_cpu ? " on the CPU" : "") + text_of(at(state, id));
        if (node.event >= 0) out += " e" + std::to_string(node.event);
        for (std::size_t i = 0; i < node.after.size(); ++i)
            out += (i == 0 ? " after n" : ", n") + std::to_string(node.after[i]);
        out += "\n";
        for (const int body : node.bodies) {
            out += std::string(depth * 4 + 2, ' ') + "body:\n";
            write_graph(p, body, state, depth + 1, out);
        }
    }
}

/// Removes a node's work and edges. Its predecessors then directly precede its successors.
void remove_node(Program& p, int id) {
    NodeInfo& gone = at(p.nodes, id);
    for (NodeInfo& node : p.nodes) {
        if (node.graph != gone.graph) continue;
        const auto found = std::find(node.after.begin(), node.after.end(), id);
        if (found == node.after.end()) continue;
        node.after.erase(found);
        for (const int first : gone.after)
            if (std::find(node.after.begin(), node.after.end(), first) == node.after.end())
                node.after.push_back(first);
    }
    const int graph = gone.graph;
    gone = {};
    gone.graph = graph;
    std::erase_if(p.steps, [&](const Step& s) { return s.node == id; });
    const auto clear = [&](State& state) {
        if (!state.empty()) at(state, id) = {};
    };
    clear(p.first);
    for (Step& s : p.steps) clear(s.state);
}

}  // namespace

std::string text_of(const Program& p) {
    std::string out = "graphs of nodes on " + std::string(p.device.name()) + ", seed " +
                      std::to_string(p.seed) + ", " + std::to_string(p.streams) + " streams\n";
    for (std::size_t i = 0; i < p.arrays.size(); ++i) {
        static constexpr const char* homes[] = {"", " pinned", " of the CPU"};
        const ArrayInfo& info = p.arrays[i];
        out += "    x" + std::to_string(i) + " of " + std::to_string(info.size) +
               homes[static_cast<std::size_t>(info.home)] + (info.flag ? ", a flag\n" : "\n");
    }
    for (const Step& s : p.steps) {
        out += std::string(text_of(s.what)) + " g" + std::to_string(s.slot);
        if (s.what == Do::clone || s.what == Do::capture) out += " to g" + std::to_string(s.other);
        out += " on s" + std::to_string(s.stream);
        if (s.node >= 0) out += " n" + std::to_string(s.node) + text_of(s.spec);
        if (s.array >= 0) out += " x" + std::to_string(s.array) + text_of(s.spec);
        if (s.event >= 0) out += " e" + std::to_string(s.event);
        out += s.flag ? " flag\n" : "\n";
        if (!s.state.empty()) write_graph(p, 0, s.state, 1, out);
    }
    return out;
}

Program shrunken(Program best, const std::function<bool(const Program&)>& fails) {
    const auto take = [&](const Program& candidate) {
        if (!fails(candidate)) return false;
        best = candidate;
        return true;
    };
    for (bool better = true; better;) {
        better = false;
        for (const std::size_t many : {std::size_t{8}, std::size_t{1}})
            for (std::size_t end = best.steps.size(); end > 0;) {
                const std::size_t begin = end > many ? end - many : 0;
                Program candidate = best;
                candidate.steps.erase(candidate.steps.begin() + static_cast<std::ptrdiff_t>(begin),
                                      candidate.steps.begin() + static_cast<std::ptrdiff_t>(end));
                better = take(candidate) || better;
                end = begin;
            }
        for (int id = static_cast<int>(best.nodes.size()); id-- > 0;) {
            if (best.node(id).kind == Kind::empty && best.node(id).after.empty()) continue;
            Program candidate = best;
            remove_node(candidate, id);
            better = take(candidate) || better;
        }
    }
    return best;
}

}  // namespace heddle_test::programs::nodes
