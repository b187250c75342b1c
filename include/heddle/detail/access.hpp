// Access to the private parts of public classes, for the library only.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {

class Batch;
class Device;
class Event;
class Graph;
class GraphNode;
class ModuleKernel;
class ProgrammaticEvent;
class StreamRef;
enum class DeviceKind : std::uint8_t;
template <class T> class Array;
template <class T> class KernelView;
template <class T> class View;
template <class T> class View2D;

namespace detail {

class BatchRun;
class OrderState;
struct Block;
struct DeclaredUse;
struct EventState;
struct GraphData;
struct ModuleKernelData;
struct NodeData;
struct StreamState;

/// Orders two handles by the addresses of their states. A state keeps its address while a handle
/// refers to it.
inline std::strong_ordering order_of(const void* a, const void* b) noexcept {
    return reinterpret_cast<std::uintptr_t>(a) <=> reinterpret_cast<std::uintptr_t>(b);
}

/// The library's operations on public objects, and their only friend. Each function is defined
/// beside the class that it concerns.
struct Access {
    /// Makes an object through its private constructor.
    template <class T, class... A> static constexpr T make(A&&... arguments) {
        return T(std::forward<A>(arguments)...);
    }
    /// Returns a device without checking that it exists.
    static constexpr Device device(DeviceKind kind, int index) noexcept;

    static StreamRef stream(StreamState& state) noexcept;
    static StreamState& state(StreamRef stream) noexcept;
    /// Returns the event's state. Throws UsageError naming `call` if the event was moved from.
    static EventState& state(const Event& event, const char* call = "Event", Where where = {});
    /// Returns the event's state, or null if the event was moved from.
    static EventState* state_or_null(const Event& event) noexcept;
    static const Event& event(const ProgrammaticEvent& event) noexcept;

    /// These two throw UsageError if the node was moved from or default-constructed.
    static NodeData& data(const GraphNode& node);
    static const std::shared_ptr<NodeData>& shared(const GraphNode& node);
    /// Returns null if the node was moved from or default-constructed.
    static NodeData* data_or_null(const GraphNode& node) noexcept;
    /// Returns the graph's data. Throws UsageError if the graph is empty.
    static GraphData& data(const Graph& graph, Where where = {});
    static ModuleKernelData& data(ModuleKernel kernel) noexcept;
    static BatchRun* run(const Batch& batch) noexcept;
    /// Returns the OrderState of a DataOrder. (A template, so that programs can compile it
    /// without heddle/by_data.hpp.)
    template <class Order> static auto& order(Order& by_data) noexcept { return *by_data.order_; }

    template <class T> static View<T> view(T* data, std::size_t size, Block* owner) noexcept;
    /// Convert a view to the view inside a View2D, and back.
    template <class T> static View<T> in_rectangle(const View<T>& view) noexcept;
    template <class T> static View<T> alone(const View<T>& view) noexcept;
    template <class T> static Array<T> array(Block& block, std::size_t size) noexcept;
    /// Returns the allocation, or null if heddle does not own the memory.
    template <class T> static Block* block(const View<T>& view) noexcept;
    template <class T> static constexpr Block* block(const Array<T>& array) noexcept;

    template <class T> static const DeclaredUse& use(const KernelView<T>& view) noexcept {
        return view.use_;
    }
    template <class Part> static const auto& memory(const Part& part) noexcept {
        return part.memory_;
    }

    template <class StandIn> static const auto& value(const StandIn& argument) noexcept {
        return argument.value_;
    }

    /// Calls use(call) with the description of a prepared launch.
    template <class Prepared, class Place, class Use>
    static void describe(Prepared& prepared, const Place& where, const Use& use) {
        prepared.describe(where, use);
    }

    /// Replaces one argument of a kernel node.
    template <class Node, class... P>
    static void change_argument(Node& node, std::int8_t argument, const P&... arguments) {
        node.change_argument(argument, arguments...);
    }
};

}  // namespace detail
}  // namespace heddle
