#include "fake_cupti.hpp"

#include <cstring>
#include <utility>

namespace heddle_test {

using heddle::detail::cu::CuptiApi;

namespace {

FakeCupti* the_fake = nullptr;
thread_local std::vector<std::uint64_t> ids;  ///< ids that this thread has pushed

std::size_t size_of(CUpti_ActivityKind kind) {
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    default: return 0;
    }
}

}  // namespace

struct FakeCupti::Functions {
    static CUptiResult version(std::uint32_t* to) {
        *to = CUPTI_API_VERSION;
        return CUPTI_SUCCESS;
    }
    static CUptiResult result_text(CUptiResult, const char** to) {
        *to = "as the test wants it";
        return CUPTI_SUCCESS;
    }
    static CUptiResult timestamp(std::uint64_t* to) {
        *to = the_fake->now;
        return the_fake->result_of("timestamp");
    }
    static CUptiResult subscribe(CUpti_SubscriberHandle* to, CUpti_CallbackFunc callback,
                                 void* user) {
        const CUptiResult result = the_fake->result_of("subscribe");
        if (result != CUPTI_SUCCESS) return result;
        const std::lock_guard lock(the_fake->mutex_);
        if (the_fake->callback_ != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
        the_fake->callback_ = callback;
        the_fake->user_ = user;
        *to = reinterpret_cast<CUpti_SubscriberHandle>(the_fake);
        return CUPTI_SUCCESS;
    }
    static CUptiResult unsubscribe(CUpti_SubscriberHandle) {
        const std::lock_guard lock(the_fake->mutex_);
        the_fake->callback_ = nullptr;
        return CUPTI_SUCCESS;
    }
    static CUptiResult enable_callback(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                                       CUpti_CallbackId) {
        return the_fake->result_of("enable_callback");
    }
    static CUptiResult graph_node_id(CUgraphNode node, std::uint64_t* to) {
        *to = reinterpret_cast<std::uint64_t>(node);
        return the_fake->result_of("graph_node_id");
    }
    static CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc request,
                                        CUpti_BuffersCallbackCompleteFunc complete) {
        const std::lock_guard lock(the_fake->mutex_);
        the_fake->request_ = request;
        the_fake->complete_ = complete;
        return CUPTI_SUCCESS;
    }
    static CUptiResult enable(CUpti_ActivityKind kind) {
        if (kind == the_fake->fails_to_enable) return CUPTI_ERROR_NOT_COMPATIBLE;
        const std::lock_guard lock(the_fake->mutex_);
        the_fake->enabled_.insert(kind);
        return CUPTI_SUCCESS;
    }
    static CUptiResult disable(CUpti_ActivityKind kind) {
        const std::lock_guard lock(the_fake->mutex_);
        the_fake->enabled_.erase(kind);
        return CUPTI_SUCCESS;
    }
    static CUptiResult flush(std::uint32_t flag) {
        {
            const std::lock_guard lock(the_fake->mutex_);
            ++the_fake->flushes_;
        }
        if (flag != 0 || !the_fake->keeps_incomplete) the_fake->hand_over();
        return CUPTI_SUCCESS;
    }
    static CUptiResult next_record(std::uint8_t* buffer, std::size_t used, CUpti_Activity** at) {
        std::uint8_t* next = buffer;
        if (*at != nullptr) next = reinterpret_cast<std::uint8_t*>(*at) + size_of((*at)->kind);
        if (next >= buffer + used) return CUPTI_ERROR_MAX_LIMIT_REACHED;
        *at = reinterpret_cast<CUpti_Activity*>(next);
        return CUPTI_SUCCESS;
    }
    static CUptiResult dropped(CUcontext, std::uint32_t, std::size_t* to) {
        const std::lock_guard lock(the_fake->mutex_);
        *to = std::exchange(the_fake->dropped_, 0);
        return CUPTI_SUCCESS;
    }
    static CUptiResult push_id(CUpti_ExternalCorrelationKind, std::uint64_t id) {
        ids.push_back(id);
        return CUPTI_SUCCESS;
    }
    static CUptiResult pop_id(CUpti_ExternalCorrelationKind, std::uint64_t*) {
        if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
        ids.pop_back();
        return CUPTI_SUCCESS;
    }
};

FakeCupti::FakeCupti() { the_fake = this; }
FakeCupti::~FakeCupti() { the_fake = nullptr; }

CuptiApi FakeCupti::functions() {
    using F = Functions;
    return {.version = &F::version,
            .result_text = &F::result_text,
            .timestamp = &F::timestamp,
            .subscribe = &F::subscribe,
            .unsubscribe = &F::unsubscribe,
            .enable_callback = &F::enable_callback,
            .graph_node_id = &F::graph_node_id,
            .register_buffers = &F::register_buffers,
            .enable = &F::enable,
            .disable = &F::disable,
            .flush = &F::flush,
            .next_record = &F::next_record,
            .dropped = &F::dropped,
            .push_id = &F::push_id,
            .pop_id = &F::pop_id};
}

CUptiResult FakeCupti::result_of(const char* function) const {
    const auto found = fails.find(function);
    return found != fails.end() ? found->second : CUPTI_SUCCESS;
}

template <class Record> void FakeCupti::write(const Record& record) {
    const std::lock_guard writing(writing_);
    if (enabled().count(record.kind) == 0) return;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    {
        const std::lock_guard lock(mutex_);
        request = request_;
        complete = complete_;
    }
    if (buffer_ != nullptr && used_ + sizeof record > size_)
        complete(nullptr, 0, std::exchange(buffer_, nullptr), size_, used_);
    if (buffer_ == nullptr) {
        std::size_t most = 0;
        request(&buffer_, &size_, &most);
        used_ = 0;
    }
    if (buffer_ == nullptr) {
        const std::lock_guard lock(mutex_);
        ++dropped_;
        return;
    }
    std::memcpy(buffer_ + used_, &record, sizeof record);
    used_ += sizeof record;
}

std::uint32_t FakeCupti::call_quietly() {
    const std::lock_guard lock(mutex_);
    return ++last_call_;
}

std::uint32_t FakeCupti::call() {
    const std::uint32_t made = call_quietly();
    if (!ids.empty()) tell_call(made, ids.back());
    return made;
}

void FakeCupti::tell_call(std::uint32_t call, std::uint64_t operation) {
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = operation;
    record.correlationId = call;
    write(record);
}

void FakeCupti::ran(std::uint32_t call, std::uint64_t start, std::uint64_t end,
                    std::uint64_t node) {
    CUpti_ActivityKernel10 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.correlationId = call;
    record.start = start;
    record.end = end;
    record.graphNodeId = node;
    write(record);
}

void FakeCupti::copied(std::uint32_t call, std::uint32_t runtime_call, std::uint64_t start,
                       std::uint64_t end) {
    CUpti_ActivityMemcpy6 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.correlationId = call;
    record.runtimeCorrelationId = runtime_call;
    record.start = start;
    record.end = end;
    write(record);
}

void FakeCupti::filled(std::uint32_t call, std::uint64_t start, std::uint64_t end) {
    CUpti_ActivityMemset4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.correlationId = call;
    record.start = start;
    record.end = end;
    write(record);
}

void FakeCupti::hand_over() {
    const std::lock_guard writing(writing_);
    if (buffer_ == nullptr) return;
    complete_(nullptr, 0, std::exchange(buffer_, nullptr), size_, used_);
}

void FakeCupti::tell_node(CUpti_CallbackId what, const void* node, const void* original) {
    CUpti_GraphData graph{};
    graph.node = static_cast<CUgraphNode>(const_cast<void*>(node));
    graph.originalNode = static_cast<CUgraphNode>(const_cast<void*>(original));
    CUpti_ResourceData resource{};
    resource.resourceDescriptor = &graph;
    CUpti_CallbackFunc callback = nullptr;
    {
        const std::lock_guard lock(mutex_);
        callback = callback_;
    }
    if (callback != nullptr) callback(user_, CUPTI_CB_DOMAIN_RESOURCE, what, &resource);
}

void FakeCupti::make_node(const void* node) {
    tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, nullptr);
}
void FakeCupti::copy_node(const void* node, const void* original) {
    tell_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
}

std::set<CUpti_ActivityKind> FakeCupti::enabled() const {
    const std::lock_guard lock(mutex_);
    return enabled_;
}
bool FakeCupti::is_subscribed() const {
    const std::lock_guard lock(mutex_);
    return callback_ != nullptr;
}
std::size_t FakeCupti::flushes() const {
    const std::lock_guard lock(mutex_);
    return flushes_;
}

}  // namespace heddle_test
