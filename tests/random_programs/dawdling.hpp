// Delays threads after heddle has queried the state of a stream, and before the backend acts.
#pragma once

#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"
#include "cpu/device/backend.hpp"

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <heddle/stream/stream.hpp>

namespace heddle_test::programs {

/// A CPU backend for some streams. Every few calls, it delays a thread until another thread
/// arrives, but only for a limited time. The streams wait for others as if these were on another
/// kind of device.
class Dawdling final : public heddle::detail::cpu::CpuBackend {
    using Record = heddle::detail::StreamRecord;
    using Place = heddle::SourceLocation;

public:
    Dawdling() = default;
    Dawdling(const Dawdling&) = delete;
    Dawdling& operator=(const Dawdling&) = delete;
    ~Dawdling() override { give_back(); }

    void take(heddle::StreamRef stream) {
        heddle::detail::record_of(stream).backend = this;
        streams_.push_back(stream);
    }
    /// Must be called before the streams end.
    void give_back() {
        for (const heddle::StreamRef stream : std::exchange(streams_, {}))
            heddle::detail::record_of(stream).backend = &heddle::detail::cpu_backend();
    }

    void enqueue(Record& stream, const heddle::detail::OpType& type, void* self, std::size_t count,
                 const Place& where) override {
        dawdle();
        CpuBackend::enqueue(stream, type, self, count, where);
    }
    void launch(Record& stream, const heddle::detail::LaunchCall& call) override {
        dawdle();
        CpuBackend::launch(stream, call);
    }
    void wait_stream(Record& waiter, Record& other, const Place& where) override {
        dawdle();
        CpuBackend::wait_stream(waiter, other, where);
    }
    void wait_completion(Record& waiter, heddle::detail::CompletionRef done,
                         const Place& where) override {
        dawdle();
        CpuBackend::wait_completion(waiter, std::move(done), where);
    }
    void wait_use(Record& waiter, const heddle::detail::StreamUse& use,
                  const Place& where) override {
        dawdle();
        CpuBackend::wait_use(waiter, use, where);
    }

private:
    void dawdle() noexcept {
        const std::uint64_t mine = ++calls_;
        if (mine % 5 != 0) return;
        for (int i = 0; i < 20 && calls_ == mine; ++i) std::this_thread::yield();
    }
    std::atomic<std::uint64_t> calls_{0};
    std::vector<heddle::StreamRef> streams_;
};

}  // namespace heddle_test::programs
