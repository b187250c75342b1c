// Exports and wraps native handles, as declared in <heddle/cuda.hpp>.
#include "cuda/stream/wrapped.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/ids.hpp"
#include "core/base/made_once.hpp"
#include "core/memory/dlpack.hpp"
#include "core/operation/start.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/host_sync/signal.hpp"
#include <heddle/cuda.hpp>

namespace heddle {

namespace detail::cu {

namespace {

/// Streams whose handles are or were held outside heddle. The key is the device and the driver's
/// stream id. Handles are not suitable as keys, because new streams may reuse them.
struct Handles {
    std::mutex mutex;
    std::map<std::pair<int, unsigned long long>, StreamRecord*> records;
};
Handles& handles() {
    static constinit MadeOnce<Handles> all;
    return all.get();
}

unsigned long long id_of(Gpu& g, cudaStream_t native, const SourceLocation& where) {
    OnStream on(g, native);
    unsigned long long id = 0;
    check(api.cuStreamGetId(native, &id), "cuStreamGetId", g.index, where);
    return id;
}

/// Returns the priority of a stream that heddle did not create.
int priority_of(Gpu& g, cudaStream_t native, const SourceLocation& where) {
    InContext in(g);
    int priority = 0;
    check(api.cudaStreamGetPriority(native, &priority), "cudaStreamGetPriority", g.index, where);
    return priority;
}

/// Adds an owner. Returns false if the last owner has just released the stream.
bool share(StreamRecord& stream) noexcept {
    std::uint32_t owners = stream.owners.load(std::memory_order_relaxed);
    while (owners != 0)
        if (stream.owners.compare_exchange_weak(owners, owners + 1, std::memory_order_acq_rel))
            return true;
    return false;
}

int device_of(cudaStream_t native, const SourceLocation& where) {
    if (cuda_backend().device_count() == 0)
        coded_error(ErrorCode::no_device, {"wrap_stream", where}, "{}",
                    cuda_backend().unavailable_reason());
    int device = 0;
    if (native == nullptr || is_default_handle(native)) {
        check(api.cudaGetDevice(&device), "cudaGetDevice", -1, where);
        return device;
    }
    // Makes no context current, because the stream's context may be a green one, which can be
    // current on only one thread at a time.
    CUdevice found = 0;
    check(api.cuStreamGetDevice(native, &found), "cuStreamGetDevice", -1, where);
    return found;
}

/// Throws UsageError if the calling thread's context belongs to this device, but is not the
/// device's primary context. A default handle would then mean different streams to the thread and
/// to heddle.
void refuse_other_context(const Gpu& g, const SourceLocation& where) {
    CUcontext current = nullptr;
    CUdevice device = -1;
    if (api.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr ||
        current == g.context || api.cuCtxGetDevice(&device) != CUDA_SUCCESS || device != g.index)
        return;
    usage_error(
        {"wrap_stream", where, gpu_device(g.index)},
        "the thread's current context is a green context, or was created by cuCtxCreate(), so its "
        "default stream cannot be wrapped: wrap a stream that was created in this context");
}

}  // namespace

void remember_handle(StreamRecord& stream, const SourceLocation& where) {
    Gpu& g = gpu_of(stream);
    const unsigned long long id = id_of(g, native_of(stream), where);
    Handles& all = handles();
    std::lock_guard lock(all.mutex);
    all.records[{g.index, id}] = &stream;
}

void forget_handle(StreamRecord& stream) noexcept {
    if (!stream.has(stream_flag::handed_out | stream_flag::lent)) return;
    Handles& all = handles();
    std::lock_guard lock(all.mutex);
    std::erase_if(all.records, [&](const auto& entry) { return entry.second == &stream; });
}

}  // namespace detail::cu

using namespace detail;

namespace {
[[noreturn]] void throw_no_handle(const ErrorSite& site, const char* what) {
    usage_error(site, "{} of a CPU device has no CUDA handle: use one of a CUDA device", what);
}
/// Records that code outside heddle may keep the handle.
void hand_out(StreamRecord& record, const char* call, const SourceLocation& where) {
    record.set(stream_flag::handed_out);
    note_handed_out(record, where);
    if (is_observed()) notify_on(record, {.kind = OpKind::expose, .name = call, .where = where});
}
void check_is_cuda(Device device, const char* call, const char* what, const SourceLocation& where) {
    if (!device.is_cuda())
        usage_error({call, where},
                    "a CUDA {} belongs to a CUDA device, but {} is not one: pass a CUDA device",
                    what, device);
}
}  // namespace

cudaStream_t native_handle(StreamRef stream, Where where) {
    StreamRecord& record = record_of(stream);
    if (record.has(stream_flag::dead))
        detail::usage_error({"native_handle", where},
                            "this StreamRef refers to no stream, because it is empty or its stream "
                            "was destroyed or moved from: use an existing stream");
    if (!record.device.is_cuda()) throw_no_handle({"native_handle", where, record}, "a stream");
    cu::refuse_forked("native_handle", where);
    if (!record.has(stream_flag::handed_out)) {
        if (!record.has(stream_flag::lent)) cu::remember_handle(record, where);
        hand_out(record, "native_handle", where);
    }
    return cu::native_of(record);
}

cudaEvent_t native_handle(const Event& event, Where where) {
    EventState& state = detail::Access::state(event, "native_handle", where);
    if (!state.device.is_cuda())
        throw_no_handle({"native_handle", where, state.device}, "an event");
    cu::refuse_forked("native_handle", where);
    cu::stop_watching(state, where);
    state.handed_out = true;
    if (is_observed())
        notify({.kind = OpKind::expose,
                .name = "native_handle",
                .device = state.device,
                .event = {state.uid, state.records},
                .where = where});
    return cu::native_of(state);
}

Stream wrap_stream(cudaStream_t native, Where where) {
    cu::refuse_forked("wrap_stream", where);
    return wrap_stream(
        native, detail::Access::device(DeviceKind::cuda, cu::device_of(native, where)), where);
}

Stream wrap_stream(cudaStream_t native, Device device, Where where) {
    check_is_cuda(device, "wrap_stream", "stream", where);
    cu::refuse_forked("wrap_stream", where);
    start_observers();
    cu::Gpu& g = cu::gpu(device.index(), where);
    if (native == nullptr)
        native = cudaStreamLegacy;  // the same stream, through a handle that all functions accept
    if (cu::is_default_handle(native)) cu::refuse_other_context(g, where);
    const unsigned long long id = cu::id_of(g, native, where);
    const int priority = cu::priority_of(g, native, where);
    cu::Handles& all = cu::handles();
    std::unique_lock lock(all.mutex);
    StreamRecord*& known = all.records[{g.index, id}];
    if (known != nullptr && cu::share(*known)) {
        StreamRecord& found = *known;
        lock.unlock();
        Stream same = Access::make<Stream>(found);
        if (!found.has(stream_flag::handed_out)) hand_out(found, "wrap_stream", where);
        return same;
    }
    known = nullptr;
    StreamRecord& record = new_stream_record(device);
    name_stream(record, {});  // removes the name of the record's previous stream
    {
        const std::lock_guard life(record.life);
        record.native = native;
    }
    record.owns_native = false;
    record.priority.store(priority);
    record.processors = static_cast<unsigned>(g.limits.processors);
    record.seen_complete.store(record.submissions.load(std::memory_order_relaxed),
                               std::memory_order_relaxed);
    record.set(stream_flag::handed_out);
    record.clear(stream_flag::dead);
    known = &record;
    if (is_observed())
        notify_on(record, {.kind = OpKind::wrap, .name = "wrap_stream", .where = where});
    return Access::make<Stream>(record);
}

Stream detail::dlpack::wrap_number(Device device, std::intptr_t stream, Where where) {
    return wrap_stream(reinterpret_cast<cudaStream_t>(stream), device, where);
}

Event wrap_event(cudaEvent_t native, Device device, Where where) {
    check_is_cuda(device, "wrap_event", "event", where);
    cu::gpu(device.index(), where);
    auto* state = new EventState;  // give_event() deletes a state that owns no native event
    state->backend = &cuda_backend();
    state->device = device;
    state->native = native;
    state->recorded = true;
    state->owns_native = false;
    state->handed_out = true;
    state->uid = next_id();
    if (is_observed())
        notify({.kind = OpKind::wrap,
                .name = "wrap_event",
                .device = device,
                .event = {state->uid, 0},
                .where = where});
    return Access::make<Event>(*state);
}

void check_cuda(cudaError_t code, const char* call, Where where) {
    if (code == cudaSuccess) return;
    int device = -1;
    if (cu::api.cudaGetDevice(&device) != cudaSuccess) device = -1;
    cu::check(code, call, device, where);
}

}  // namespace heddle
