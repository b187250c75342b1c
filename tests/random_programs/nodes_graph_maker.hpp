// Makes the arrays and nodes of random graphs. These parts do not change later.
#pragma once

#include "nodes_program.hpp"
#include "random.hpp"

#include <set>
#include <vector>

namespace heddle_test::programs::nodes {

/// The arrays that may be used by a node and its bodies.
struct Uses {
    std::set<int> writes, reads;
};

/// Makes random graphs. Only the order of nodes that use the same memory is fixed, by edges. This
/// includes uses that a later change causes.
class GraphMaker {
public:
    enum class Inside : std::uint8_t { nothing, child, body };

    GraphMaker(std::uint64_t seed, Device device) : random_(seed * 2 + 1) {
        program_.seed = seed;
        program_.device = device;
    }

    /// Adds all arrays.
    void lay_out();
    /// Adds a graph with `count` nodes, and the graphs inside these nodes. Returns its index.
    int add_graph(int count, int depth, Inside inside);
    Uses uses_of(int id) const;
    Program& program() { return program_; }

    bool chance(std::size_t percent) { return random_.below(100) < percent; }
    int any(int n) { return static_cast<int>(random_.below(static_cast<std::size_t>(n))); }
    std::size_t any(std::size_t n) { return random_.below(n); }
    template <class V> auto one_of(const V& v) { return v[random_.below(v.size())]; }
    bool is_cuda() const { return program_.device.is_cuda(); }

    /// Returns a random array that fits. Returns -1 if none does.
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

private:
    void add_array(const ArrayInfo& info);
    bool is_host_memory(int i) const;
    Kind choose(Inside inside, int depth);
    int add_node(int graph, int depth, Inside inside);
    bool counts(int array) const;
    void add_body(int id, int count, int depth, Inside inside);

    Random random_;
    Program program_;
    std::set<int> recorded_;
    std::vector<int> counted_;
};

}  // namespace heddle_test::programs::nodes
