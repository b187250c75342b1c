// Holds threads after core has queried the state of a stream, and before the backend acts.
#pragma once

#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"
#include "cpu/device/backend.hpp"
#include "support.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace heddle_test {

/// A CPU backend for some streams. Some calls can hold a thread after core has queried the stream's
/// flags, and before anything is enqueued.
class HoldingBackend : public detail::cpu::CpuBackend {
public:
    using Call = std::function<void()>;
    Call in_enqueue, in_wait_completion, in_wait, in_instantiate;

    HoldingBackend() = default;
    HoldingBackend(const HoldingBackend&) = delete;
    HoldingBackend& operator=(const HoldingBackend&) = delete;
    ~HoldingBackend() override {
        for (const StreamRef stream : streams_)
            detail::record_of(stream).backend = &detail::cpu_backend();
    }
    /// Replaces the stream's backend as long as this object exists.
    void take(StreamRef stream) {
        detail::record_of(stream).backend = this;
        streams_.push_back(stream);
    }

    void enqueue(detail::StreamRecord& stream, const detail::OpType& type, void* self,
                 std::size_t count, const SourceLocation& where) override {
        call(in_enqueue);
        CpuBackend::enqueue(stream, type, self, count, where);
    }
    void wait_completion(detail::StreamRecord& waiter, detail::CompletionRef done,
                         const SourceLocation& where) override {
        call(in_wait_completion);
        CpuBackend::wait_completion(waiter, std::move(done), where);
    }
    void wait_stream(detail::StreamRecord& waiter, detail::StreamRecord& other,
                     const SourceLocation& where) override {
        call(in_wait);
        CpuBackend::wait_stream(waiter, other, where);
    }
    std::shared_ptr<detail::GraphExec> instantiate(const detail::GraphData& graph,
                                                   const SourceLocation& where) override {
        call(in_instantiate);
        return CpuBackend::instantiate(graph, where);
    }

protected:
    /// Calls the function once, on the first thread that arrives.
    static void call(Call& function) {
        if (const Call one = std::exchange(function, nullptr)) one();
    }

private:
    std::vector<StreamRef> streams_;
};

/// Holds a thread at some place: the thread signals its arrival, and waits until it is released.
struct StopPoint {
    Flag reached, go;
    void stop() const {
        reached.set();
        go.wait();
    }
};

}  // namespace heddle_test
