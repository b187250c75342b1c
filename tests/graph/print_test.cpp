// Texts for objects, and the comparisons and hashes that sets and maps need. Has no kernels,
// because nvcc cannot compile fmt 9.
#include "support.hpp"

#include <heddle/fmt.hpp>
#include <heddle/format.hpp>

#include <compare>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace heddle_test;

namespace {

std::string here() { return test_device().name(); }

/// Returns the output of <<. If to_string() or fmt::format() differ, returns all three.
template <class T> std::string text(const T& value) {
    std::ostringstream stream;
    stream << value;
    const std::string written = stream.str(), returned = to_string(value);
    const std::string formatted = fmt::format("{}", value);
    if (written != returned || written != formatted)
        return written + " | " + returned + " | " + formatted;
#if defined(__cpp_lib_format) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 170000)
    if (const std::string standard = std::format("{}", value); standard != written)
        return written + " | " + standard;
#endif
    return written;
}

struct Own {
    int value;
};

}  // namespace

TEST_CASE("devices, kinds and error codes have texts") {
    CHECK(text(cpu_device()) == "cpu:0");
    CHECK(text(DeviceKind::cuda) == "cuda");
    CHECK(text(DeviceKind::cpu) == "cpu");
    CHECK(text(MemoryKind::pinned) == "pinned");
    CHECK(text(ErrorCode::out_of_memory) == "out_of_memory");
    CHECK(text(NodeKind::host_function) == "host function");
}

TEST_CASE("the text of a stream has its name, device and priority, and what became of it") {
    const Stream copy(test_device(), {.name = "copy"}), plain(test_device());
    CHECK(text(copy) == "stream 'copy' on " + here());
    CHECK(text(StreamRef(plain)) == "stream " + std::to_string(plain.id()) + " on " + here());
    const Stream urgent(test_device(), {.priority = -1, .name = "urgent"});
    const std::string priority = urgent.priority() == -1 ? ", priority -1" : "";
    CHECK(text(urgent) == "stream 'urgent' on " + here() + priority);
    poison(copy);
    CHECK(text(copy) == "stream 'copy' on " + here() + ", failed");
    (void)copy.clear_error();
    CHECK(text(StreamRef()) == "no stream");
    StreamRef gone;
    {
        const Stream s(test_device());
        gone = s;
    }
    CHECK(text(gone) == "a destroyed stream");
}

TEST_CASE("the text of an event says on which stream it was recorded, if it was") {
    Event event(test_device());
    CHECK(text(event) == "event on " + here() + ", not recorded");
    {
        const Stream copy(test_device(), {.name = "copy"});
        event.record(copy);
        CHECK(text(event) == "event on " + here() + ", recorded on stream 'copy'");
        event.synchronize();
        Graph graph = capture(copy, [&] {
            copy.record_event(event);
            CHECK(text(event) == "event on " + here() + ", recorded in a capture or batch");
        });
    }
    const Event other = std::move(event);
    CHECK(text(event) == "an event that was moved from");
}

TEST_CASE("the text of an array or a view has its type, size and place, and is read from none") {
    const Stream s(test_device());
    Array<float> x = zeros<float>(s, 1000);
    CHECK(text(x) == "Array<float>[1000] on " + here());
    CHECK(text(std::as_const(x).view().first(10)) == "View<const float>[10] on " + here());
    CHECK(text(View2D<float>(x, 20, 10, 50)) == "View2D<float>[20 x 10, pitch 50] on " + here());
    CHECK(text(pinned<int>(3)) == "Array<int>[3] in pinned memory");
    CHECK(text(pageable<int>(3)) == "Array<int>[3] in pageable memory");
    CHECK(text(Array<int>()) == "Array<int>[0], no memory");
    CHECK(text(View<int>()) == "View<int>[0], no memory");
    CHECK_THAT(text(pinned<Own>(1)), contains("Own>[1] in pinned memory"));
    std::vector<int> host(4);
    std::ostringstream address;
    address << "View<int>[4] at " << static_cast<const void*>(host.data());
    CHECK(text(View(host)) == address.str());
    const View<float> outlives = x;
    x.reset();
    CHECK(text(outlives) == "View<float>[1000] of a destroyed array");
    s.synchronize();
}

TEST_CASE("graphs, nodes and shapes have texts") {
    const Here in;
    Array<int> x = zeros<int>(10), y = zeros<int>(10);
    auto ones = fill_node(x, 1).name("ones");
    auto clear = fill_node(x, 0).after(ones);
    auto last = copy_node(y, x).after(clear);
    CHECK(text(ones) == "fill 'ones' on " + here());
    Graph graph = last.build();
    CHECK(text(graph) == "graph of 3 nodes on " + here());
    CHECK(text(clear) == "fill 1 on " + here());
    CHECK(text(last) == "copy 2 on " + here());
    ones.disable();
    CHECK(text(ones) == "fill 'ones' on " + here() + ", disabled");
    CHECK(text(Graph()) == "no graph");
    CHECK(text(GraphNode()) == "no node");
    CHECK(text(empty_node().build()) == "graph of 1 node on " + here());
    CHECK(text(dim(7)) == "dim(7)");
    CHECK(text(dim(7, 8, 9)) == "dim(7, 8, 9)");
    CHECK(text(grid(4, {16, 16})) == "grid({4, 1, 1}, {16, 16, 1})");
    CHECK(text(grid(4, 32, 1024)) == "grid({4, 1, 1}, {32, 1, 1}, 1024)");
}

TEST_CASE("fmt formats what is derived from arrays and views, and ranges without quotes") {
    struct Derived : View<int> {};
    Derived derived;
    Array<int> x = zeros<int>(test_device(), 3);
    static_cast<View<int>&>(derived) = x.view();
    CHECK(fmt::format("{}", derived) == to_string(x.view()));
    struct Owner : Array<int> {
        using Array<int>::Array;
    };
    const Owner owner(test_device(), 3);
    CHECK(fmt::format("{:>30}", owner) == fmt::format("{:>30}", x));
    CHECK(fmt::format("{}", std::vector{cpu_device(), cpu_device()}) == "[cpu:0, cpu:0]");
}

TEST_CASE("texts are padded as strings are") {
    std::ostringstream stream;
    stream << std::setw(8) << std::left << std::setfill('.') << cpu_device();
    CHECK(stream.str() == "cpu:0...");
    CHECK(fmt::format("{:.>8}", cpu_device()) == "...cpu:0");
#if defined(__cpp_lib_format) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 170000)
    CHECK(std::format("{:.^7}", cpu_device()) == ".cpu:0.");
#endif
}

TEST_CASE("devices are ordered, CPU devices first, and by number") {
    static_assert(std::is_same_v<decltype(Device("cpu") <=> Device("cpu")), std::strong_ordering>);
    const std::vector<Device> all = devices();
    const std::set<Device> sorted(all.begin(), all.end());
    CHECK(sorted.size() == all.size());
    CHECK(*sorted.begin() == cpu_device());
    int before = -1;
    for (const Device device : sorted) {
        if (!device.is_cpu()) break;
        CHECK(device.index() == ++before);
    }
    CHECK(std::unordered_set<Device>(all.begin(), all.end()).size() == all.size());
}

TEST_CASE("streams, events and nodes are keys of maps") {
    const Here in;
    const Stream a(test_device()), b(test_device());
    std::map<StreamRef, int> by_stream{{a, 1}, {b, 2}};
    std::unordered_map<StreamRef, int> hashed_streams{{a, 1}, {b, 2}};
    CHECK(by_stream.at(b) == 2);
    CHECK(hashed_streams.at(b) == 2);
    CHECK(std::is_eq(a <=> a));
    CHECK((a < b) != (b < a));

    std::map<Event, int> by_event;
    std::unordered_map<Event, int> hashed_events;
    Event event = a.record_event(), other = a.record_event();
    CHECK(event == event);
    CHECK(event != other);
    CHECK((event < other) != (other < event));
    const std::size_t hash = std::hash<Event>()(event);
    Event moved = std::move(event);
    CHECK(std::hash<Event>()(moved) == hash);
    const Event& kept = by_event.emplace(std::move(moved), 1).first->first;
    by_event.emplace(std::move(other), 2);
    CHECK(by_event.at(kept) == 1);
    hashed_events.emplace(b.record_event(), 3);
    CHECK(hashed_events.at(hashed_events.begin()->first) == 3);

    Array<int> x = zeros<int>(10);
    const GraphNode set = fill_node(x, 1), add = fill_node(x, 2), same = set;
    const std::map<GraphNode, int> by_node{{set, 1}, {add, 2}};
    const std::unordered_map<GraphNode, int> hashed_nodes{{set, 1}, {add, 2}};
    CHECK(by_node.at(same) == 1);
    CHECK(hashed_nodes.at(same) == 1);
    CHECK(std::is_eq(set <=> same));
    CHECK((set < add) != (add < set));
}
