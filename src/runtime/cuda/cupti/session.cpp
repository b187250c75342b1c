#include "cuda/cupti/session.hpp"

#include <vector>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "cuda/timing/native_nodes.hpp"

namespace heddle::detail::cu {

namespace {

/// The session that receives CUPTI's buffers. It is global, because the callbacks for buffers have
/// no user data.
constinit CuptiSession* receiver = nullptr;
constinit std::mutex receiver_mutex;  ///< held while the receiver is used or changed

constexpr std::int64_t second_ns = 1'000'000'000;
/// How far CUPTI's clock may be adjusted during a session, in either direction. Records with times
/// beyond that are rejected.
constexpr std::int64_t most_off_ns = 10 * second_ns;

constexpr auto id_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// CUPTI reports the id of a call only if it records that call. Recording only selected calls
// (cuptiActivityEnableDriverApi) lost the ids of most launches (CUPTI 13.0, driver 580).
constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_DRIVER,
                                        CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                        CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2,
                                        CUPTI_ACTIVITY_KIND_MEMSET};

/// Returns the reason why a call failed, or "".
std::string problem(const CuptiApi& api, const char* call, CUptiResult result) {
    if (result == CUPTI_SUCCESS) return "";
    // CUPTI allows only one subscriber. Debuggers and Nsight are subscribers, too.
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return "another profiler or debugger is using CUPTI";
    const char* text = nullptr;
    if (api.result_text(result, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown error";
    return formatted("{} failed: {}", call, text);
}

}  // namespace

CuptiSession::~CuptiSession() {
    if (users_ != 0) turn_off();
    const std::lock_guard lock(receiver_mutex);
    if (receiver == this) receiver = nullptr;
}

std::string CuptiSession::begin() {
    const std::lock_guard lock(mutex_);
    if (users_ == 0) {
        std::string why_not = start();
        if (!why_not.empty()) {
            turn_off();
            return why_not;
        }
        read_clock(16);
    }
    ++users_;
    return "";
}

std::string CuptiSession::start() {
    std::string why;
    const auto done = [&](const char* call, CUptiResult result) {
        why = problem(api_, call, result);
        return why.empty();
    };
    if (!done("cuptiSubscribe", api_.subscribe(&subscriber_, &see_node, this))) {
        subscriber_ = nullptr;
        return why;
    }
    {
        const std::lock_guard lock(receiver_mutex);
        receiver = this;
    }
    // Discards the records written after the end of the last recording.
    for (const RecordBuffers::Filled& one : buffers_.take_filled()) buffers_.give(one.data);
    std::uint64_t now = 0;
    if (!done("cuptiActivityRegisterCallbacks",
              api_.register_buffers(&give_buffer, &accept_buffer)) ||
        !done("cuptiGetTimestamp", api_.timestamp(&now)))
        return why;
    began_ = static_cast<std::int64_t>(now);
    for (const CUpti_CallbackId what :
         {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
        if (!done("cuptiEnableCallback",
                  api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, what)))
            return why;
    for (const CUpti_ActivityKind kind : kinds)
        if (!done("cuptiActivityEnable", api_.enable(kind))) return why;
    return why;
}

void CuptiSession::turn_off() noexcept {
    for (const CUpti_ActivityKind kind : kinds) (void)api_.disable(kind);
    if (subscriber_ != nullptr) (void)api_.unsubscribe(subscriber_);
    subscriber_ = nullptr;
}

void CuptiSession::end() noexcept {
    const std::lock_guard lock(mutex_);
    if (users_ == 0) return;
    --users_;
    if (users_ != 0) return;
    read_clock(16);
    flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    turn_off();
    matcher_.clear();
    buffers_.free_unused();
}

void CuptiSession::push(std::uint64_t operation) noexcept {
    (void)api_.push_id(id_kind, operation);
}

void CuptiSession::pop() noexcept { (void)api_.pop_id(id_kind, nullptr); }

void CuptiSession::tell() noexcept {
    const std::lock_guard lock(mutex_);
    if (users_ == 0) return;
    read_clock(4);
    flush(0);
}

bool CuptiSession::poll() noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;  // another thread is reading
    if (users_ == 0) return true;
    if (now_ns() - clock_read_ns_ > second_ns) {
        read_clock(4);
        flush(0);
    } else {
        tell_read();
    }
    return false;
}

RecordCounts CuptiSession::counts() const noexcept {
    return {.dropped = dropped_.load(), .without_times = without_times_.load()};
}

void CuptiSession::give_buffer(std::uint8_t** data, std::size_t* size, std::size_t* records) {
    const std::lock_guard lock(receiver_mutex);
    *data = receiver != nullptr ? receiver->buffers_.take() : nullptr;
    *size = *data != nullptr ? RecordBuffers::bytes : 0;
    *records = 0;  // no limit
}

void CuptiSession::accept_buffer(CUcontext, std::uint32_t, std::uint8_t* data, std::size_t,
                                 std::size_t used) {
    const std::lock_guard lock(receiver_mutex);
    if (receiver != nullptr) receiver->buffers_.complete(data, used);
    else RecordBuffers::free(data);
}

void CuptiSession::see_node(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId what,
                            const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || !NativeNodes::is_building() || data == nullptr)
        return;
    const auto* const of = static_cast<const CUpti_GraphData*>(
        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    std::uint64_t id = 0;
    if (of == nullptr ||
        static_cast<CuptiSession*>(session)->api_.graph_node_id(of->node, &id) != CUPTI_SUCCESS)
        return;
    const bool is_copy = what == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
    NativeNodes::note(of->node, is_copy ? of->originalNode : nullptr, id);
}

/// Makes CUPTI deliver its records, on this thread or on a thread of CUPTI.
void CuptiSession::flush(std::uint32_t flag) noexcept {
    (void)api_.flush(flag);
    std::size_t dropped = 0;
    if (api_.dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS) dropped_ += dropped;
    tell_read();
}

void CuptiSession::tell_read() noexcept try {
    std::vector<RecordBuffers::Filled> filled = buffers_.take_filled();
    if (filled.empty()) return;
    std::uint64_t now = 0;
    (void)api_.timestamp(&now);
    matcher_.set_possible(began_ - most_off_ns, static_cast<std::int64_t>(now) + most_off_ns);
    for (const RecordBuffers::Filled& one : filled) {
        try {
            read(one);
        } catch (...) {
            ++dropped_;  // out of memory
        }
        buffers_.give(one.data);
    }
    without_times_ = matcher_.without_times();
    for (const OpRun& run : matcher_.take()) notify_run(run);
} catch (...) {
    // Out of memory: a later call reports the remaining records.
}

void CuptiSession::read(const RecordBuffers::Filled& buffer) {
    CUpti_Activity* record = nullptr;
    while (api_.next_record(buffer.data, buffer.used, &record) == CUPTI_SUCCESS)
        read_record(*record);
}

namespace {

// The structures of CUDA 12.4. Those of newer versions, up to 13.5, append members to them.
template <class Record> DeviceRecord device_record(const CUpti_Activity& any) {
    const auto& record = reinterpret_cast<const Record&>(any);
    return {.call = record.correlationId,
            .device = static_cast<int>(record.deviceId),
            .native_node = record.graphNodeId,
            .start_ns = static_cast<std::int64_t>(record.start),
            .end_ns = static_cast<std::int64_t>(record.end)};
}

}  // namespace

void CuptiSession::read_record(const CUpti_Activity& record) {
    switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& id = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
        if (id.externalKind == id_kind) matcher_.add_call(id.correlationId, id.externalId);
        return;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return matcher_.add(device_record<CUpti_ActivityKernel9>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        DeviceRecord copy = device_record<CUpti_ActivityMemcpy5>(record);
        copy.outer_call =
            reinterpret_cast<const CUpti_ActivityMemcpy5&>(record).runtimeCorrelationId;
        return matcher_.add(copy);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return matcher_.add(device_record<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return matcher_.add(device_record<CUpti_ActivityMemset4>(record));
    default: return;  // records of the calls themselves
    }
}

/// Reads the clock several times, and reports the reading with the narrowest bounds.
void CuptiSession::read_clock(int times) noexcept {
    ClockReading best{.device = -1, .clock = DeviceClock::cupti};
    for (int i = 0; i < times; ++i) {
        const std::int64_t before = now_ns();
        std::uint64_t shown = 0;
        if (api_.timestamp(&shown) != CUPTI_SUCCESS) return;
        const std::int64_t after = now_ns();
        if (i != 0 && after - before >= best.after_ns - best.before_ns) continue;
        best.before_ns = before;
        best.device_ns = static_cast<std::int64_t>(shown);
        best.after_ns = after;
    }
    clock_read_ns_ = now_ns();
    notify_clock(best);
}

}  // namespace heddle::detail::cu
