// Replaces the CUDA backend in a build without CUDA. It has no devices, and reports why. Without
// devices, there are no streams, events or arrays on them. So the other functions are never called.
#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/memory/dlpack.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/runtime_parts.hpp"
#include <heddle/memory/interprocess.hpp>

namespace heddle::detail {

namespace {

constexpr const char* reason = "heddle was built without CUDA";

class NoCuda final : public Backend {
    [[noreturn]] static void none() {
        coded_error(ErrorCode::no_device, {"cuda", {}}, "{}", reason);
    }

    int device_count() noexcept override { return 0; }
    std::string unavailable_reason() override { return reason; }
    DeviceInfo describe(int) override { none(); }
    std::size_t free_memory(int) override { none(); }
    bool can_access_peer(int, int) override { return false; }
    bool can_access_pool(int, int) override { return false; }
    int concurrent_queues(int) override { none(); }
    bool peer_reachable(int, int) noexcept override { return false; }
    void open_stream(StreamRecord&, const SourceLocation&) override { none(); }
    void close_stream(StreamRecord&) noexcept override {}
    void synchronize(StreamRecord&, const SourceLocation&) override { none(); }
    bool is_complete(StreamRecord&, const SourceLocation&) override { none(); }
    void synchronize_device(int, std::vector<CompletionRef>&, const SourceLocation&) override {
        none();
    }
    std::uint64_t capture_id(StreamRecord&) override { none(); }
    Failure reset_failure(StreamRecord&, std::uint64_t, const SourceLocation&) override { none(); }
    void wait_stream(StreamRecord&, StreamRecord&, const SourceLocation&) override { none(); }
    void open_event(EventState&, const SourceLocation&) override { none(); }
    void close_event(EventState&) noexcept override {}
    void forget_record(EventState&) noexcept override {}
    void record(EventState&, StreamRecord&, const SourceLocation&) override { none(); }
    void wait(StreamRecord&, EventState&, const SourceLocation&) override { none(); }
    bool is_complete(EventState&, const SourceLocation&) override { none(); }
    void synchronize(EventState&, const SourceLocation&) override { none(); }
    double elapsed_ms(EventState&, EventState&, const SourceLocation&) override { none(); }
    Failure failure_of(EventState&) override { none(); }
    EventHandle export_event(EventState&, const SourceLocation&) override { none(); }
    void import_event(EventState&, const EventHandle&, const SourceLocation&) override { none(); }
    void signal(EventState&, CompletionRef, const SourceLocation&) override { none(); }
    void signal_use(const StreamUse&, CompletionRef) noexcept override {}
    void wait_use(StreamRecord&, const StreamUse&, const SourceLocation&) override {}
    void synchronize_use(const StreamUse&, const SourceLocation&) override {}
    void wait_completion(StreamRecord&, CompletionRef, const SourceLocation&) override { none(); }
    void enqueue(StreamRecord&, const OpType&, void*, std::size_t, const SourceLocation&) override {
        none();
    }
    void launch(StreamRecord&, const LaunchCall&) override { none(); }
    void copy(StreamRecord&, const Operand&, const Operand&, const SourceLocation&) override {
        none();
    }
    void fill(StreamRecord&, const Operand&, const void*, std::size_t,
              const SourceLocation&) override {
        none();
    }
    std::shared_ptr<GraphExec> instantiate(const GraphData&, const SourceLocation&) override {
        none();
    }
    void preload(int, const void*, const SourceLocation&) override { none(); }
    void set_access(AccessKind, int, int, bool, const SourceLocation&) override { none(); }
    bool has_access(AccessKind, int, int) noexcept override { return false; }
    PoolUsage pool_usage(int, const SourceLocation&) override { none(); }
    void reset_pool_high_water(int, const SourceLocation&) override { none(); }
    std::size_t pool_release_threshold(int, const SourceLocation&) override { none(); }
    void set_pool_release_threshold(int, std::size_t, const SourceLocation&) override { none(); }
    void trim_pool(int, std::size_t, const SourceLocation&) override { none(); }
    std::unique_ptr<ForeignCapture> capture_foreign(StreamRecord&, bool, CaptureMode,
                                                    const SourceLocation&) override {
        none();
    }
    Allocated allocate_shared(int, std::size_t, const SourceLocation&) override { none(); }
    void export_shared(const void*, ArrayHandle&, const SourceLocation&) override { none(); }
    void* import_shared(int, const ArrayHandle&, const SourceLocation&) override { none(); }
    bool free_shared(const SharedMemory&, const StreamUse*, std::size_t) noexcept override {
        return true;
    }
    void* allocate(StreamRecord&, std::size_t, const SourceLocation&) override { none(); }
    bool free(void*, std::size_t, int, const StreamUse*, std::size_t) noexcept override {
        return true;
    }
    Allocated allocate_pinned(std::size_t, const SourceLocation&) override { none(); }
    bool free_pinned(void*, std::size_t, const StreamUse*, std::size_t) noexcept override {
        return true;
    }
    bool classify(const void*, MemorySpace&) noexcept override { return false; }
    void after_fork() noexcept override {}
};

}  // namespace

namespace {
constinit NeverDestroyed<NoCuda> no_cuda;
}
Backend& cuda_backend() noexcept { return no_cuda.get(); }
void list_cuda_parts(std::vector<RuntimePart>& parts) {
    parts.push_back({.name = "CUDA", .found = {}, .problem = reason});
}
Stream dlpack::wrap_number(Device, std::intptr_t, Where where) {
    coded_error(ErrorCode::no_device, {"dlpack_stream", where}, "{}", reason);
}

}  // namespace heddle::detail
