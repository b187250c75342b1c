#include "nodes_builder.hpp"

#include "kernels.hpp"

#include <algorithm>
#include <memory>

namespace heddle_test::programs::nodes {

View<int> Builder::view(int array, std::size_t first, std::size_t count) const {
    // An argument must not be empty, even if the kernel has no elements.
    return const_cast<Array<int>&>(at(arrays, array))
        .view()
        .subview(first, std::max<std::size_t>(count, 1));
}
View<int> Builder::to(const Spec& s) const { return view(s.to, s.at, s.n); }
View<const int> Builder::from(const Spec& s) const {
    return s.from >= 0 ? view(s.from, s.from_at, s.n) : View<const int>();
}

namespace {

View2D<int> rows(View<int> v) { return View2D<int>(v, v.size() / 4, 2, 4); }
View2D<const int> rows(View<const int> v) { return View2D<const int>(v, v.size() / 4, 2, 4); }

template <class N> GraphNode ordered(N node, int id, const std::vector<GraphNode>& first) {
    for (const GraphNode& one : first) node.after(one);
    node.name(name_of(id));
    return node;
}

template <class K> KernelNode<K, 1> as(const GraphNode& node) { return KernelNode<K, 1>(node); }

template <class N, class... A>
void set_kernel(N node, const Spec& s, bool extent_first, const A&... arguments) {
    if (extent_first) node.dim(dim(s.n));
    node.args(arguments...);
    if (!extent_first) node.dim(dim(s.n));
}

/// Like HostWork, but with an object that must be destroyed.
auto host_work(const Spec& s, View<int> to, View<const int> from) {
    return OwningHostWork{{to, from, s.n, s.a, s.b, s.slow}, std::make_shared<Word>(s.a)};
}

}  // namespace

void Builder::change(const GraphNode& node, int id, const Spec& s, bool extent_first) const {
    switch (program_.node(id).kind) {
    case Kind::scale: set_kernel(as<Scale>(node), s, extent_first, to(s), s.a, s.b, s.slow); break;
    case Kind::mix:
        set_kernel(as<Mix>(node), s, extent_first, from(s), to(s), s.a, s.b, s.slow);
        break;
    case Kind::decide:
        set_kernel(as<Decide>(node), s, extent_first, from(s), to(s), Word{4});
        break;
    case Kind::copy:
    case Kind::copy_2d: CopyNode(node).between(to(s), from(s)); break;
    case Kind::fill: FillNode(node).with(to(s), static_cast<int>(s.b)); break;
    case Kind::host: {
        const View<const int> read = from(s);
        if (s.from >= 0) HostNode(node).call(host_work(s, to(s), read), reads(read), writes(to(s)));
        else HostNode(node).call(host_work(s, to(s), read), writes(to(s)));
        return;
    }
    default: return;
    }
    GraphNode(node).enable(s.on);
}

void Builder::prioritise(const GraphNode& node, int id, int priority) const {
    switch (program_.node(id).kind) {
    case Kind::scale: as<Scale>(node).priority(priority); break;
    case Kind::mix: as<Mix>(node).priority(priority); break;
    case Kind::decide: as<Decide>(node).priority(priority); break;
    default: break;
    }
}

GraphNode Builder::make(int id, const State& state, const std::vector<GraphNode>& made) const {
    const NodeInfo& info = program_.node(id);
    const Spec& s = state[static_cast<std::size_t>(id)];
    std::vector<GraphNode> first;
    for (const int before : info.after) first.push_back(at(made, before));
    const Device device = info.on_cpu ? Device("cpu:0") : program_.device;
    const auto finish = [&](auto node) {
        if (may_be_disabled(info.kind)) node.enable(s.on);
        return ordered(node, id, first);
    };
    const auto kernel = [&](auto node) {
        if (s.priority != 0) node.priority(s.priority);
        return finish(node);
    };
    switch (info.kind) {
    case Kind::scale:
        return kernel(kernel_node(device, Scale{}, dim(s.n), to(s), s.a, s.b, s.slow));
    case Kind::mix:
        return kernel(kernel_node(device, Mix{}, dim(s.n), from(s), to(s), s.a, s.b, s.slow));
    case Kind::decide:
        return kernel(kernel_node(device, Decide{}, dim(s.n), from(s), to(s), Word{4}));
    case Kind::copy: return finish(copy_node(to(s), from(s)));
    case Kind::copy_2d:
        if (s.flat) return finish(copy_node(to(s), from(s)));
        return finish(copy_2d_node(rows(to(s)), rows(from(s))));
    case Kind::fill: return finish(fill_node(to(s), static_cast<int>(s.b)));
    case Kind::host: {
        const View<const int> read = from(s);
        if (s.from < 0) return finish(host_node(device, host_work(s, to(s), read), writes(to(s))));
        return finish(host_node(device, host_work(s, to(s), read), reads(read), writes(to(s))));
    }
    case Kind::record: return finish(record_node(const_cast<Event&>(at(events, info.event))));
    case Kind::wait: return finish(wait_node(at(events, info.event)));
    case Kind::memory: return make_memory(id, s, first);
    case Kind::if_else:
    case Kind::loop:
    case Kind::switch_case: return make_condition(id, state, first);
    case Kind::child: return finish(child_node(build(info.bodies[0], state, nullptr)));
    case Kind::empty: break;
    }
    return finish(empty_node(device));
}

GraphNode Builder::make_memory(int id, const Spec& s, const std::vector<GraphNode>& first) const {
    auto memory = alloc_node<int>(program_.device, s.n);
    for (const GraphNode& one : first) memory.after(one);
    const auto store = copy_node(memory.view(), from(s)).after(memory);
    const auto load = kernel_node(program_.device, Mix{}, dim(s.n), View<const int>(memory.view()),
                                  to(s), s.a, s.b, s.slow)
                          .after(store);
    return ordered(free_node(memory).after(load), id, {});
}

GraphNode Builder::make_condition(int id, const State& state,
                                  const std::vector<GraphNode>& first) const {
    const NodeInfo& info = program_.node(id);
    const int array = state[static_cast<std::size_t>(id)].from;
    const View<const int> flag = view(array, 0, 1);
    std::vector<Graph> bodies;
    for (const int body : info.bodies)
        bodies.push_back(build(body, state, nullptr, info.kind == Kind::loop ? array : -1));
    if (info.kind == Kind::loop) return ordered(while_node(flag, bodies[0]), id, first);
    if (info.kind == Kind::switch_case)
        return ordered(switch_node(flag, {bodies[0], bodies[1], bodies[2]}), id, first);
    return ordered(if_else_node(flag, bodies[0], bodies[1]), id, first);
}

/// `flag` is the flag that the graph counts down at its end, or -1.
Graph Builder::build(int index, const State& state, std::vector<GraphNode>* handles,
                     int flag) const {
    std::vector<GraphNode> made(program_.nodes.size());
    EmptyNode end = empty_node(program_.device);
    for (const int id : program_.graph(index)) {
        at(made, id) = make(id, state, made);
        end.after(at(made, id));
    }
    Graph graph = flag < 0 ? end.build()
                           : kernel_node(program_.device, CountDown{}, dim(1), view(flag, 0, 1))
                                 .after(end)
                                 .build();
    if (handles != nullptr) *handles = std::move(made);
    return graph;
}

}  // namespace heddle_test::programs::nodes
