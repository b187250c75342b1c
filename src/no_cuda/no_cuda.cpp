// What stands in the place of the CUDA backend in a build without CUDA: no devices, and the reason.
#include "core/backend.hpp"

namespace heddle::detail {

namespace {

constexpr const char* reason = "heddle was built without CUDA";

[[noreturn]] void refuse(const char* call, const SourceLocation& where) {
    ErrorInfo info;
    info.code = ErrorCode::no_device;
    info.message = reason;
    info.call = call;
    info.where = where;
    throw_error(std::move(info));
}

/// Nothing but device_count() and its like is ever called, because there is no device to call it for.
class NoCuda final : public Backend {
public:
    int device_count() noexcept override { return 0; }
    std::string unavailable_reason() override { return reason; }
    DeviceInfo describe(int) override { refuse("Device::info", {}); }
    std::size_t free_memory(int) override { refuse("Device::free_memory", {}); }
    bool can_access_peer(int, int) override { refuse("Device::can_access_peer", {}); }
    int concurrent_queues(int) override { refuse("concurrent_queues", {}); }
    bool peer_reachable(int, int) noexcept override { return false; }

    void open_stream(StreamRecord&, const SourceLocation& where) override { refuse("Stream", where); }
    void close_stream(StreamRecord&) noexcept override {}
    void synchronize(StreamRecord&, const SourceLocation& where) override { refuse("synchronize", where); }
    bool is_complete(StreamRecord&, const SourceLocation& where) override { refuse("is_complete", where); }
    void synchronize_device(int, const SourceLocation& where) override { refuse("synchronize_device", where); }
    std::uint64_t capture_id(StreamRecord&) override { return 0; }
    void reset_failure(StreamRecord&, const SourceLocation& where) override { refuse("clear_error", where); }

    void wait_stream(StreamRecord&, StreamRecord&, const SourceLocation& where) override { refuse("wait_stream", where); }
    void open_event(EventState&, const SourceLocation& where) override { refuse("Event", where); }
    void close_event(EventState&) noexcept override {}
    void forget_record(EventState&) noexcept override {}
    void record(EventState&, StreamRecord&, const SourceLocation& where) override { refuse("record_event", where); }
    void wait(StreamRecord&, EventState&, const SourceLocation& where) override { refuse("wait_event", where); }
    bool is_complete(EventState&, const SourceLocation& where) override { refuse("is_complete", where); }
    void synchronize(EventState&, const SourceLocation& where) override { refuse("synchronize", where); }
    double elapsed_ms(EventState&, EventState&, const SourceLocation& where) override { refuse("elapsed_time", where); }
    Failure failure_of(EventState&) override { return nullptr; }
    EventHandle export_event(EventState&, const SourceLocation& where) override { refuse("export_event", where); }
    void import_event(EventState&, const EventHandle&, const SourceLocation& where) override {
        refuse("import_event", where);
    }

    void signal(EventState&, CompletionRef, const SourceLocation& where) override { refuse("wait_event", where); }
    void await(StreamRecord&, CompletionRef, const SourceLocation& where) override { refuse("wait_stream", where); }
    void fence(StreamRecord&, CompletionRef done) noexcept override { done->complete(); }

    void enqueue(StreamRecord&, const OpType&, void*, std::size_t, const SourceLocation& where) override {
        refuse("launch", where);
    }
    void copy(StreamRecord&, const Piece&, const Piece&, const SourceLocation& where) override { refuse("copy", where); }
    void fill(StreamRecord&, const Piece&, const void*, std::size_t, const SourceLocation& where) override {
        refuse("fill", where);
    }

    void* allocate(StreamRecord&, std::size_t, const SourceLocation& where) override { refuse("allocate", where); }
    void free(void*, std::size_t, int, StreamRecord* const*, std::size_t) noexcept override {}
    void* allocate_pinned(std::size_t, const SourceLocation& where) override { refuse("pinned", where); }
    void free_pinned(void*, std::size_t, StreamRecord* const*, std::size_t) noexcept override {}
    bool classify(const void*, Place&) noexcept override { return false; }
    void after_fork() noexcept override {}
};

} // namespace

Backend& cuda_backend() {
    static auto* backend = new NoCuda; // leaked: asked for device counts while the process ends, perhaps
    return *backend;
}

void throw_launch_failed(StreamState&, const char*, int, SourceLocation where) { refuse("launch", where); }

} // namespace heddle::detail
