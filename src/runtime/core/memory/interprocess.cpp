// Sharing of arrays and events between processes: handles, and checks of handles.
#include <heddle/memory/interprocess.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <unistd.h>

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

#include "core/base/errors.hpp"
#include "core/base/ids.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/imports.hpp"
#include "core/operation/start.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/notify.hpp"

namespace heddle {

namespace {

using BusId = std::array<char, 32>;

BusId bus_id_of(Device device) {
    BusId id{};
    if (device.is_cuda()) {
        const std::string& text = device.info().bus_id;
        std::memcpy(id.data(), text.data(), std::min(text.size(), id.size() - 1));
    }
    return id;
}

Device device_of(const BusId& id, int index, const char* call, const SourceLocation& where) {
    if (id[0] == 0) return Device(DeviceKind::cpu, index, where);
    for (int i = 0; i < device_count(DeviceKind::cuda); ++i) {
        const Device device(DeviceKind::cuda, i, where);
        if (bus_id_of(device) == id) return device;
    }
    const std::string text(id.data(), strnlen(id.data(), id.size()));
    detail::coded_error(ErrorCode::no_device, {call, where},
                        "the shared array or event is on the GPU with PCI address {}, which is not "
                        "visible to this process: check CUDA_VISIBLE_DEVICES",
                        text);
}

/// An XXH3 checksum. It detects damage, but not forgery.
class Check {
public:
    explicit Check(std::uint64_t kind) noexcept : state_(kind) {}
    template <class T> Check& add(const T& value) noexcept {
        static_assert(std::has_unique_object_representations_v<T>);
        state_ = XXH3_64bits_withSeed(&value, sizeof value, state_);
        return *this;
    }
    std::uint64_t value() const noexcept { return state_; }

private:
    std::uint64_t state_;
};

}  // namespace

namespace detail {

std::uint64_t check_of(const ArrayHandle& h) noexcept {
    return Check(1)
        .add(h.memory)
        .add(h.bus_id)
        .add(h.device_index)
        .add(h.process)
        .add(h.bytes)
        .add(h.offset)
        .add(h.size)
        .add(h.element_bytes)
        .value();
}
std::uint64_t check_of(const EventHandle& h) noexcept {
    return Check(3).add(h.bytes).add(h.bus_id).add(h.device_index).add(h.process).value();
}

namespace {
/// Throws UsageError unless this handle was exported, by another process, for this kind of object.
template <class Handle>
void check_handle(const Handle& handle, bool is_whole, const char* call, const char* what,
                  const SourceLocation& where) {
    if (handle.process == 0 || !is_whole || handle.check != check_of(handle))
        usage_error({call, where},
                    "the handle is damaged, or was not returned by export_{}(): transfer all of "
                    "its bytes unchanged",
                    what);
    if (handle.process == getpid())
        usage_error({call, where}, "this process exported the {} itself: use the original {}", what,
                    what);
}
[[noreturn]] void throw_damaged(const char* call, const SourceLocation& where,
                                const std::string& how) {
    usage_error({call, where},
                "the handle is damaged, because {}: transfer all of its bytes unchanged", how);
}
}  // namespace

ArrayHandle export_block(const Block* block, const void* data, std::size_t count,
                         std::size_t element, const SourceLocation& where) try {
    constexpr const char* call = "export_array";
    if (block == nullptr)
        usage_error({call, where}, "the memory does not belong to an array of heddle: export an "
                                   "array that was made with shareable<T>(device, size)");
    if (!block->alive.load(std::memory_order_acquire)) throw_dead_block(*block, call, where);
    if (block->origin == MemoryOrigin::imported)
        usage_error({call, where},
                    "this memory belongs to another process: export it in that process");
    if (block->origin != MemoryOrigin::shared)
        usage_error({call, where}, "pool and host memory cannot be shared between processes: make "
                                   "the array with shareable<T>(device, size)");
    ArrayHandle handle;
    handle.bus_id = bus_id_of(block->device);
    handle.device_index = block->device.index();
    handle.process = static_cast<std::int32_t>(getpid());
    handle.bytes = block->bytes;
    handle.offset = count == 0
                        ? 0
                        : static_cast<std::uint64_t>(static_cast<const std::byte*>(data) -
                                                     static_cast<const std::byte*>(block->data));
    handle.size = count;
    handle.element_bytes = static_cast<std::uint32_t>(element);
    if (block->bytes != 0)
        backend_of(block->device.kind()).export_shared(block->data, handle, where);
    handle.check = check_of(handle);
    return handle;
} catch (...) {
    detail::rethrow_as_error("export_array", where);
}

Block& import_block(const ArrayHandle& handle, std::size_t element, std::size_t alignment,
                    const SourceLocation& where) try {
    constexpr const char* call = "import_array";
    check_handle(handle, handle.element_bytes != 0, call, "array", where);
    if (handle.element_bytes != element)
        usage_error({call, where},
                    "elements of {} bytes are requested, but the exported elements have {} bytes: "
                    "use the exporter's element type",
                    element, handle.element_bytes);
    std::uint64_t end = 0;
    if (__builtin_mul_overflow(handle.size, handle.element_bytes, &end) ||
        __builtin_add_overflow(end, handle.offset, &end) || end > handle.bytes)
        throw_damaged(call, where, "it describes more memory than was exported");
    if (handle.offset % alignment != 0)
        throw_damaged(call, where,
                      formatted("its elements are not aligned to {} bytes", alignment));
    const Device device = device_of(handle.bus_id, handle.device_index, call, where);
    if (handle.bytes == 0) return allocate_shared(device, 0, 1, where);
    return import_shared(device, handle, where);
} catch (...) {
    detail::rethrow_as_error("import_array", where);
}

}  // namespace detail

namespace {
void notify_event(OpKind kind, const char* name, const detail::EventState& event,
                  const SourceLocation& where) noexcept {
    if (detail::is_observed())
        detail::notify({.kind = kind,
                        .name = name,
                        .device = event.device,
                        .event = detail::point_of(event),
                        .where = where});
}
}  // namespace

EventHandle export_event(const Event& event, Where where) try {
    detail::EventState& state = detail::Access::state(event, "export_event", where);
    if (!state.options.interprocess)
        detail::usage_error(
            {"export_event", where, state.device},
            "this event cannot be shared between processes: make it with {{.interprocess = true}}");
    EventHandle handle = state.backend->export_event(state, where);
    handle.bus_id = bus_id_of(state.device);
    handle.device_index = state.device.index();
    handle.process = static_cast<std::int32_t>(getpid());
    handle.check = detail::check_of(handle);
    state.recorded = true;  // other processes may have recorded the event
    state.handed_out = true;
    state.countable = false;
    notify_event(OpKind::export_event, "export_event", state, where);
    return handle;
} catch (...) {
    detail::rethrow_as_error("export_event", where);
}

Event import_event(const EventHandle& handle, Where where) try {
    detail::check_handle(handle, true, "import_event", "event", where);
    // Needed because a thread can wait for the event without making a stream.
    detail::start_observers();
    auto state = std::make_unique<detail::EventState>();
    state->device = device_of(handle.bus_id, handle.device_index, "import_event", where);
    state->backend = &detail::backend_of(state->device.kind());
    state->options.interprocess = true;
    state->handed_out = true;
    state->recorded = true;
    state->backend->import_event(*state, handle, where);
    state->uid = detail::next_id();
    detail::note_import({.key = state->uid,
                         .is_event = true,
                         .process = detail::process_of(handle.process),
                         .where = where});
    notify_event(OpKind::import_event, "import_event", *state, where);
    return detail::Access::make<Event>(*state.release());
} catch (...) {
    detail::rethrow_as_error("import_event", where);
}

}  // namespace heddle
