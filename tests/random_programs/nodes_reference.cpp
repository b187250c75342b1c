// Runs random graphs of nodes on the host, one node after the other.
#include "nodes_program.hpp"

#include <algorithm>

namespace heddle_test::programs::nodes {

std::vector<int> contents(const Program& p, int array, Word turn) {
    const ArrayInfo& info = p.array(array);
    std::vector<int> values(info.size);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<int>(
            static_cast<Word>(i * 7 + static_cast<std::size_t>(array) * 1001) + turn * 77777 + 1);
    if (info.flag) values[0] = static_cast<int>((static_cast<Word>(array) + turn) % 4);
    return values;
}

namespace {

class Interpreter {
public:
    explicit Interpreter(const Program& p)
        : program_(p), slots_(static_cast<std::size_t>(p.slots)) {
        for (std::size_t i = 0; i < p.arrays.size(); ++i)
            arrays_.push_back(contents(p, static_cast<int>(i), 0));
    }

    Results run() {
        for (const Step& step : program_.steps) take(step);
        for (const std::vector<int>& array : arrays_) seen_.push_back(array);
        return std::move(seen_);
    }

private:
    void take(const Step& s) {
        State& slot = at(slots_, s.slot);
        const bool needs_graph = s.what != Do::build && s.what <= Do::batch;
        if (needs_graph && slot.empty()) return;  // the program was shrunk, and the step is missing
        switch (s.what) {
        case Do::change: at(slot, s.node) = s.spec; break;
        case Do::update:
        case Do::build: slot = s.state; break;
        case Do::clone:
        case Do::capture: at(slots_, s.other) = slot; break;
        case Do::drop: slot.clear(); break;
        case Do::launch:
        case Do::batch: graph(0, slot); break;
        case Do::work:
            for (int& x : at(arrays_, s.array)) x = scaled(x, s.spec.a, s.spec.b);
            break;
        case Do::aside: mix(at(arrays_, s.spec.to), at(arrays_, s.array), s.spec); break;
        case Do::look: seen_.push_back(at(arrays_, s.array)); break;
        case Do::replace: at(arrays_, s.array) = contents(program_, s.array, s.spec.b); break;
        default: break;
        }
    }

    static int scaled(int x, Word a, Word b) {
        return static_cast<int>(static_cast<Word>(x) * a + b);
    }
    static void mix(std::vector<int>& to, const std::vector<int>& from, const Spec& s) {
        for (std::size_t i = 0; i < s.n; ++i)
            to[s.at + i] = scaled(to[s.at + i], s.a, s.b + static_cast<Word>(from[s.from_at + i]));
    }

    void graph(int index, const State& state) {
        for (const int id : program_.graph(index)) node(id, state);
    }

    void node(int id, const State& state) {
        const NodeInfo& info = program_.node(id);
        const Spec& s = state[static_cast<std::size_t>(id)];
        if (!s.on) return;
        switch (info.kind) {
        case Kind::scale:
        case Kind::host:
            if (s.from >= 0) return mix(at(arrays_, s.to), at(arrays_, s.from), s);
            for (std::size_t i = 0; i < s.n; ++i) {
                int& x = at(arrays_, s.to)[s.at + i];
                x = scaled(x, s.a, s.b);
            }
            break;
        case Kind::mix:
        case Kind::memory: mix(at(arrays_, s.to), at(arrays_, s.from), s); break;
        case Kind::decide:
            at(arrays_, s.to)[0] =
                static_cast<int>(static_cast<Word>(at(arrays_, s.from)[s.from_at]) % 4);
            break;
        case Kind::copy:
        case Kind::copy_2d:
            for (std::size_t i = 0; i < s.n; ++i)
                if (info.kind == Kind::copy || s.flat || (i % 4 < 2 && i / 4 < s.n / 4))
                    at(arrays_, s.to)[s.at + i] = at(arrays_, s.from)[s.from_at + i];
            break;
        case Kind::fill:
            std::fill_n(at(arrays_, s.to).begin() + static_cast<std::ptrdiff_t>(s.at), s.n,
                        static_cast<int>(s.b));
            break;
        case Kind::if_else: graph(info.bodies[at(arrays_, s.from)[0] != 0 ? 0 : 1], state); break;
        case Kind::loop:
            for (int& flag = at(arrays_, s.from)[0]; flag != 0;) {
                graph(info.bodies[0], state);
                flag = flag > 0 && flag < 100 ? flag - 1 : 0;
            }
            break;
        case Kind::switch_case: {
            const int which = at(arrays_, s.from)[0];
            if (which >= 0 && which < static_cast<int>(info.bodies.size()))
                graph(at(info.bodies, which), state);
            break;
        }
        case Kind::child: graph(info.bodies[0], state); break;
        default: break;
        }
    }

    const Program& program_;
    std::vector<State> slots_;
    Results arrays_, seen_;
};

}  // namespace

Results expected(const Program& p) { return Interpreter(p).run(); }

std::string failure(const Program& p) {
    Results actual;
    try {
        actual = run(p);
    } catch (const std::exception& error) {
        return std::string("threw: ") + error.what();
    }
    const Results wanted = expected(p);
    const std::size_t looks = wanted.size() - p.arrays.size();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (actual[i] == wanted[i]) continue;
        std::size_t j = 0;
        while (actual[i][j] == wanted[i][j]) ++j;
        return (i < looks ? "look " + std::to_string(i) : "x" + std::to_string(i - looks)) + "[" +
               std::to_string(j) + "] is " + std::to_string(actual[i][j]) + ", not " +
               std::to_string(wanted[i][j]);
    }
    return {};
}

}  // namespace heddle_test::programs::nodes
