// Texts of heddle's objects, for logs and debugging: to_string(), and operator<< of std::ostream.
// For std::format() include <heddle/format.hpp>, and for fmt::format() <heddle/fmt.hpp>.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include <heddle/device/device.hpp>
#include <heddle/error.hpp>
#include <heddle/graph/graph.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/event.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Returns "cpu" or "cuda".
const char* to_string(DeviceKind kind) noexcept;
/// Returns "device", "pinned" or "pageable".
const char* to_string(MemoryKind kind) noexcept;

/// Returns a line that describes an object to people. The text may change between versions. Never
/// waits. Does not throw for an object that was moved from or destroyed.
///
///     to_string(device)  // cuda:0
///     to_string(stream)  // stream 'copy' on cuda:0, priority -1
///     to_string(event)   // event on cuda:0, recorded on stream 'copy'
///     to_string(x)       // Array<float>[1000] on cuda:0
///     to_string(node)    // kernel 'twice' on cuda:0
///     std::cout << x     // the same; the elements are in to_host(x)
std::string to_string(Device device);
/// Describes a stream. Thread-safe.
std::string to_string(StreamRef stream);
/// Describes an event. Thread-safety: that of a query, see Event.
std::string to_string(const Event& event);
/// Describes a graph, a node or a grid. Not thread-safe: see Graph.
std::string to_string(const Graph& graph);
std::string to_string(const GraphNode& node);
std::string to_string(const LaunchGrid& grid);

namespace detail {
std::string text_of_dim(const std::size_t* extent, std::size_t dimensions);
/// `pretty` names the element type. `columns` is 0 except for rectangles.
struct MemoryText {
    const char* kind;
    const char* pretty;
    const Block* block;
    const void* data;
    std::size_t size, bytes;
    std::size_t columns = 0, pitch = 0;
};
std::string text_of_memory(const MemoryText& memory);
template <class T> constexpr const char* pretty_type() noexcept { return __PRETTY_FUNCTION__; }
}  // namespace detail

/// Describes an array or a view. Safe while no other thread changes the object.
template <class T> std::string to_string(const Array<T>& array) {
    return detail::text_of_memory({"Array", detail::pretty_type<T>(), detail::Access::block(array),
                                   array.data(), array.size(), array.size_bytes()});
}
template <class T> std::string to_string(const View<T>& view) {
    return detail::text_of_memory({"View", detail::pretty_type<T>(), detail::Access::block(view),
                                   view.data(), view.size(), view.size_bytes()});
}
template <class T> std::string to_string(const View2D<T>& view) {
    const View<T> memory = view.memory();
    return detail::text_of_memory({"View2D", detail::pretty_type<T>(),
                                   detail::Access::block(memory), memory.data(), view.rows(),
                                   memory.size_bytes(), view.columns(), view.pitch()});
}
/// Returns "dim(1000)", "dim(20, 10)".
template <int N> std::string to_string(const Dim<N>& dim) {
    return detail::text_of_dim(dim.extent, N);
}

namespace detail {
// Declared only, to test whether T is one of these classes or derived from one.
void has_text(const DeviceKind*);
void has_text(const Device*);
void has_text(const MemoryKind*);
void has_text(const ErrorCode*);
void has_text(const NodeKind*);
void has_text(const StreamRef*);
void has_text(const Event*);
void has_text(const Graph*);
void has_text(const GraphNode*);
void has_text(const LaunchGrid*);
template <int N> void has_text(const Dim<N>*);
template <class T> void has_text(const Array<T>*);
template <class T> void has_text(const View<T>*);
template <class T> void has_text(const View2D<T>*);

/// The classes of heddle that to_string() accepts.
template <class T>
concept Printable = requires(const T* value) { detail::has_text(value); };

void write(std::ostream& to, std::string_view text);
}  // namespace detail

/// Writes to_string(value), with the width and fill that are set for strings.
template <detail::Printable T> std::ostream& operator<<(std::ostream& to, const T& value) {
    detail::write(to, to_string(value));
    return to;
}

}  // namespace heddle
