// Notifications of work on CPU streams, and waits for streams of all kinds of devices.
#include <memory>
#include <utility>

#include "cpu/device/backend.hpp"
#include "cpu/device/native_event.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

namespace {

/// Forwards one completion to another.
struct Relay : Waiter {
    CompletionRef to;
};

void relay(const CompletionRef& from, CompletionRef to) {
    auto relay = std::make_unique<Relay>();
    relay->to = std::move(to);
    relay->wake = [](Waiter& self, const Completion& reached) noexcept {
        const std::unique_ptr<Relay> mine(static_cast<Relay*>(&self));
        reached.see();
        mine->to->complete(reached.failure());
    };
    if (from->add(*relay)) (void)relay.release();
    else relay->wake(*relay.release(), *from);
}

}  // namespace

CompletionRef CpuBackend::completion_of(EventState& event, const SourceLocation&) {
    if (CompletionRef done = newest_record(event)) return done;
    CompletionRef done = make_completion();
    done->complete();
    return done;
}

void CpuBackend::signal(EventState& event, CompletionRef done, const SourceLocation& where) {
    relay(completion_of(event, where), std::move(done));
}

void CpuBackend::signal_use(const StreamUse& use, CompletionRef done) {
    if (const CompletionRef pending = pending_work(use)) relay(pending, std::move(done));
    else done->complete();
}

void CpuBackend::wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) {
    if (CompletionRef pending = pending_work(use)) push_wait(waiter, std::move(pending), where);
}

void CpuBackend::wait_completion(StreamRecord& waiter, CompletionRef done,
                                 const SourceLocation& where) {
    push_wait(waiter, std::move(done), where);
}

void CpuBackend::synchronize_use(const StreamUse& use, const SourceLocation&) {
    if (const CompletionRef done = pending_work(use)) wait_for(*done);
}

}  // namespace heddle::detail::cpu
