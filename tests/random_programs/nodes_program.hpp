// Random graphs of nodes as data: their nodes, and the steps that change and launch them.
#pragma once

#include "program.hpp"

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle_test::programs::nodes {

enum class Kind : std::uint8_t {
    scale,   ///< to = to * a + b, a kernel
    mix,     ///< to = to * a + from + b, a kernel
    decide,  ///< to = from % 4, for one element, a kernel
    copy,
    copy_2d,  ///< copies the first half of each row of four
    fill,
    host,  ///< a host function: to = to * a + b, plus from if there is one
    empty,
    record,
    wait,
    /// Memory of the graph: allocated, copied to from `from`, mixed into `to` and freed.
    memory,
    if_else,
    loop,  ///< counts its flag down at the end of each pass
    switch_case,
    child,
};

enum class Home : std::uint8_t { device, pinned, cpu };

struct ArrayInfo {
    Home home = Home::device;
    std::size_t size = 0;
    bool flag = false;  ///< one element from 0 to 3, for conditions
    bool sink = false;  ///< not used by graphs
};

/// The part of a node that may be changed after it was made.
struct Spec {
    int to = -1, from = -1;  ///< arrays; of a condition `from` is the flag
    std::size_t at = 0, n = 0, from_at = 0;
    Word a = 1, b = 0;
    int slow = 0;  ///< turns of a spin loop before the work
    bool on = true;
    bool flat = false;  ///< a copy of kind copy_2d copies all elements between, too
    int priority = 0;
};
/// The specs of all nodes, by id.
using State = std::vector<Spec>;

struct NodeInfo {
    Kind kind = Kind::empty;
    int graph = 0;
    bool on_cpu = false;  ///< a kernel of a CPU device
    bool in_body = false;
    std::array<int, 2> tos{-1, -1}, froms{-1, -1};  ///< the arrays that it may be changed to
    int event = -1;
    std::vector<int> after;   ///< nodes of the same graph
    std::vector<int> bodies;  ///< indices of graphs: of a condition, or the child
};

enum class Do : std::uint8_t {
    change,       ///< applies `spec` to one node
    update,       ///< updates `slot` with a graph of `state`
    build,        ///< builds `slot` again, from `state`
    clone,        ///< other = a clone of slot
    capture,      ///< other = a capture of a launch of slot
    drop,         ///< destroys slot, whose launches may be running
    instantiate,  ///< or applies changes early
    upload,
    launch,
    batch,       ///< launches slot within a batch
    work,        ///< a kernel on an array, on a stream
    aside,       ///< a stream waits for an event that the last launch records, and reads an array
    wait_here,   ///< the host waits for the stream
    look,        ///< reads an array to the host
    replace,     ///< destroys an array and makes another
    new_event,   ///< destroys an event and makes another
    prioritise,  ///< sets a priority, which CUDA refuses once the graph is instantiated
    misuse,      ///< disables a node that cannot be
};

struct Step {
    Do what = Do::launch;
    int slot = 0, other = 0;
    int stream = 0;
    int node = -1;
    int array = -1, event = -1;
    /// A change: finds the node by its name. A launch: names no wait if graphs guarantee the
    /// order. A replacement: launches in between, which is rejected.
    bool flag = false;
    Spec spec;
    State state;
};

struct Program {
    std::uint64_t seed = 0;
    Device device;
    int streams = 2;
    int events = 0;
    int slots = 3;
    std::vector<ArrayInfo> arrays;
    std::vector<NodeInfo> nodes;
    std::vector<std::vector<int>> graphs;  ///< nodes in an order that respects `after`
    State first;
    std::vector<Step> steps;

    const NodeInfo& node(int id) const { return nodes[static_cast<std::size_t>(id)]; }
    const ArrayInfo& array(int i) const { return arrays[static_cast<std::size_t>(i)]; }
    const std::vector<int>& graph(int i) const { return graphs[static_cast<std::size_t>(i)]; }
};
template <class V> decltype(auto) at(V& v, int i) { return v[static_cast<std::size_t>(i)]; }

inline bool is_kernel(Kind kind) { return kind <= Kind::decide; }
inline bool is_condition(Kind kind) { return kind >= Kind::if_else && kind <= Kind::switch_case; }
inline bool may_be_disabled(Kind kind) { return kind <= Kind::fill; }

/// Returns the initial contents of an array, or those of its `turn`th replacement.
std::vector<int> contents(const Program& p, int array, Word turn);

/// Returns the program of a seed. Equal devices produce the same program on every machine.
Program generate(std::uint64_t seed, Device device);

/// The result of a program: the values that it read during the run, and all arrays at the end.
using Results = std::vector<std::vector<int>>;
/// Runs the program on the host, one node after the other.
Results expected(const Program& p);
/// Runs the program with heddle. Throws heddle's exceptions, and Wrong if a misuse is accepted.
Results run(const Program& p);
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Runs the program. Returns the error, or an empty string.
std::string failure(const Program& p);

/// Leaves out steps and nodes while `fails` returns true for the rest.
Program shrunken(Program program, const std::function<bool(const Program&)>& fails);
std::string text_of(const Program& p);

}  // namespace heddle_test::programs::nodes
