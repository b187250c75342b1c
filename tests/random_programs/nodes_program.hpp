// Random graphs of nodes as data: the nodes, and the steps that change and launch the graphs.
#pragma once

#include "program.hpp"

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle_test::programs::nodes {

enum class Kind : std::uint8_t {
    scale,   ///< a kernel: to = to * a + b
    mix,     ///< a kernel: to = to * a + from + b
    decide,  ///< a kernel: to = from % 4, for one element
    copy,
    copy_2d,  ///< copies the first half of each row of four
    fill,
    host,  ///< a host function: to = to * a + b, plus `from` if set
    empty,
    record,
    wait,
    /// Memory of the graph: it is allocated, set to `from`, mixed into `to`, and freed.
    memory,
    if_else,
    loop,  ///< counts down its flag at the end of each pass
    switch_case,
    child,
};

enum class Home : std::uint8_t { device, pinned, cpu };

struct ArrayInfo {
    Home home = Home::device;
    std::size_t size = 0;
    bool flag = false;  ///< a single number from 0 to 3, for conditions
    bool sink = false;  ///< graphs do not use it
};

/// Those properties of a node that may be changed after it was made.
struct Spec {
    int to = -1, from = -1;  ///< arrays; for a condition, `from` is the flag
    std::size_t at = 0, n = 0, from_at = 0;
    Word a = 1, b = 0;
    int slow = 0;  ///< iterations of a spin loop before the work
    bool on = true;
    bool flat = false;  ///< whether a copy_2d copies whole rows
    int priority = 0;
};
/// The specs of all nodes, by id.
using State = std::vector<Spec>;

struct NodeInfo {
    Kind kind = Kind::empty;
    int graph = 0;
    bool on_cpu = false;  ///< a kernel that runs on a CPU device
    bool in_body = false;
    std::array<int, 2> tos{-1, -1}, froms{-1, -1};  ///< arrays that a change may select
    int event = -1;
    std::vector<int> after;   ///< its dependencies, in the same graph
    std::vector<int> bodies;  ///< indices of graphs: a condition's bodies, or the child graph
};

enum class Do : std::uint8_t {
    change,       ///< changes one node to `spec`
    update,       ///< updates the graph in `slot` with a graph of `state`
    build,        ///< builds a new graph in `slot`, from `state`
    clone,        ///< makes `other` a clone of `slot`
    capture,      ///< captures a launch of `slot` into `other`
    drop,         ///< destroys the graph in `slot`, although launches may be running
    instantiate,  ///< instantiates the graph, or applies changes early
    upload,
    launch,
    batch,       ///< launches `slot` in a batch
    work,        ///< launches a kernel on a stream
    aside,       ///< a stream waits for an event of the last launch, and then reads an array
    wait_here,   ///< makes the host wait for the stream
    look,        ///< copies an array to the host
    replace,     ///< destroys an array and makes a new one
    new_event,   ///< destroys an event and makes a new one
    prioritise,  ///< sets a priority; CUDA refuses this once the graph is instantiated
    misuse,      ///< tries to disable a node that must not be disabled
};

struct Step {
    Do what = Do::launch;
    int slot = 0, other = 0;
    int stream = 0;
    int node = -1;
    int array = -1, event = -1;
    /// For a change: finds the node by its name. For a launch: names no wait if graphs ensure the
    /// order. For a replacement: launches before the replacement, which must be rejected.
    bool flag = false;
    Spec spec;
    State state;
};

struct Program {
    std::uint64_t seed = 0;
    Device device = current_device();
    int streams = 2;
    int events = 0;
    int slots = 3;
    std::vector<ArrayInfo> arrays;
    std::vector<NodeInfo> nodes;
    std::vector<std::vector<int>> graphs;  ///< nodes of each graph; each follows its dependencies
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

/// Returns the initial contents of an array, or the contents after it was replaced `turn` times.
std::vector<int> contents(const Program& p, int array, Word turn);

/// Returns the program for a seed. The result is the same on every machine with equal devices.
Program generate(std::uint64_t seed, Device device);

/// The results of a program: the values that it reads while it runs, and all arrays at the end.
using Results = std::vector<std::vector<int>>;
/// Runs the program on the host, one node after the other.
Results expected(const Program& p);
/// Runs the program with heddle. Throws heddle's exceptions, or Wrong if it accepts a misuse.
Results run(const Program& p);
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// Runs the program. Returns the first error, or an empty string.
std::string failure(const Program& p);

/// Leaves out steps and nodes as long as `fails` returns true for the remaining program.
Program shrunken(Program program, const std::function<bool(const Program&)>& fails);
std::string text_of(const Program& p);

}  // namespace heddle_test::programs::nodes
