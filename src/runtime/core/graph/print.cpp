// Texts for heddle's objects. They are in this folder because it may include the headers of all
// these objects.
#include <heddle/print.hpp>

#include <ostream>
#include <span>

#include "core/base/format.hpp"
#include "core/graph/graph.hpp"

namespace heddle {

using detail::formatted;

const char* to_string(DeviceKind kind) noexcept {
    return kind == DeviceKind::cuda ? "cuda" : "cpu";
}

const char* to_string(MemoryKind kind) noexcept {
    switch (kind) {
    case MemoryKind::device: return "device";
    case MemoryKind::pinned: return "pinned";
    case MemoryKind::pageable: return "pageable";
    }
    return "?";
}

std::string to_string(Device device) { return device.name(); }

namespace {
/// Returns "stream 'copy'". For a stream without a name, returns "stream 12".
std::string label_of(detail::StreamRecord& stream) {
    const std::string name = stream.display_name();
    return name == formatted("stream {}", stream.id.load()) ? name : formatted("stream '{}'", name);
}
}  // namespace

std::string to_string(StreamRef stream) {
    if (stream == StreamRef()) return "no stream";
    if (!stream) return "a destroyed stream";
    detail::StreamRecord& record = detail::record_of(stream);
    std::string text = formatted("{} on {}", label_of(record), record.device);
    if (const int priority = record.priority.load(); priority != 0)
        text += formatted(", priority {}", priority);
    if (stream.is_poisoned()) text += ", failed";
    return text;
}

std::string to_string(const Event& event) {
    const detail::EventState* const state = detail::Access::state_or_null(event);
    if (state == nullptr) return "an event that was moved from";
    const std::string text = formatted("event on {}", state->device);
    // Other threads may change the fields while a capture or a batch records the event.
    if (state->recorder.load(std::memory_order_acquire) != nullptr)
        return text + ", recorded in a capture or batch";
    if (!state->recorded) return text + ", not recorded";
    if (state->stream == nullptr || state->handed_out) return text + ", recorded";
    if (state->stream->id.load(std::memory_order_acquire) != state->stream_id)
        return text + ", recorded on a stream that has ended";
    return text + ", recorded on " + label_of(*state->stream);
}

std::string to_string(const Graph& graph) {
    if (!graph) return "no graph";
    const detail::GraphData& data = detail::Access::data(graph);
    return formatted("graph of {} {} on {}", data.nodes.size(),
                     data.nodes.size() == 1 ? "node" : "nodes", data.device);
}

std::string to_string(const GraphNode& node) {
    const detail::NodeData* const data = detail::Access::data_or_null(node);
    if (data == nullptr) return "no node";
    const bool has_name = !data->name.empty() || data->kind == NodeKind::kernel;
    return formatted("{}{} on {}{}", has_name ? formatted("{} ", to_string(data->kind)) : "",
                     has_name ? formatted("'{}'", data->display_name()) : data->display_name(),
                     data->device, data->enabled ? "" : ", disabled");
}

std::string to_string(const LaunchGrid& grid) {
    const auto braced = [](const Extents& e) { return formatted("{{{}, {}, {}}}", e.x, e.y, e.z); };
    std::string text = "grid(" + braced(grid.grid) + ", " + braced(grid.block);
    if (grid.shared_bytes != 0) text += formatted(", {}", grid.shared_bytes);
    return text + ')';
}

namespace detail {

std::string text_of_dim(const std::size_t* extent, std::size_t dimensions) {
    std::string text = "dim(";
    for (const std::size_t n : std::span(extent, dimensions))
        text += formatted("{}{}", text.back() == '(' ? "" : ", ", n);
    return text + ')';
}

namespace {
/// Returns the type T from "... [with T = float]" (g++, and EDG in nvcc) or "... [T = float]"
/// (clang).
std::string_view type_in(std::string_view pretty) {
    const std::size_t equals =
        pretty.rfind("T = ") != pretty.npos ? pretty.find("T = ") + 4 : pretty.find("T=") + 2;
    return pretty.substr(equals, pretty.rfind(']') - equals);
}

std::string place_text(const MemoryText& memory) {
    if (memory.block == nullptr)
        return memory.data == nullptr
                   ? ", no memory"
                   : formatted(" at 0x{:x}", reinterpret_cast<std::uintptr_t>(memory.data));
    if (!memory.block->alive.load(std::memory_order_relaxed) ||
        !holds(*memory.block, memory.data, memory.bytes))
        return " of a destroyed array";
    if (memory.block->kind == MemoryKind::device) return formatted(" on {}", memory.block->device);
    return formatted(" in {} memory", to_string(memory.block->kind));
}
}  // namespace

std::string text_of_memory(const MemoryText& memory) {
    const std::string place = place_text(memory);
    if (memory.pitch == 0)
        return formatted("{}<{}>[{}]{}", memory.kind, type_in(memory.pretty), memory.size, place);
    return formatted("{}<{}>[{} x {}, pitch {}]{}", memory.kind, type_in(memory.pretty),
                     memory.size, memory.columns, memory.pitch, place);
}

void write(std::ostream& to, std::string_view text) { to << text; }

}  // namespace detail

}  // namespace heddle
