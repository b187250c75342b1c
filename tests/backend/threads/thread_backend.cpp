// A small backend whose streams are threads: an example for docs/new-backend.md. All that concerns
// neither streams nor events is the CPU backend's. Graphs are missing, and so are events that
// processes share.
#include "backend/backend_under_test.hpp"
#include "backend/threads/steps.hpp"
#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/base/made_once.hpp"
#include "core/stream/registry.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/memory/memory.hpp"
#include <heddle/memory/interprocess.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace heddle_test {

namespace {

/// Calls `wake` once `from` has completed.
template <class F> void when_done(const CompletionRef& from, F wake) {
    struct Call : Waiter {
        explicit Call(F&& f) : function(std::move(f)) {}
        F function;
    };
    auto call = std::make_unique<Call>(std::move(wake));
    call->wake = [](Waiter& self, const Completion& done) noexcept {
        const std::unique_ptr<Call> owner(static_cast<Call*>(&self));
        owner->function(done);
    };
    if (from->add(*call)) (void)call.release();
    else call->function(*from);
}

/// Returns the closure of a copy from a snapshot of `from`, because the caller may change `from` as
/// soon as the call has returned.
SharedClosure copy_of_snapshot(const Operand& to, const Operand& from, const OpType*& type,
                               std::size_t& count) {
    struct Owner {
        std::vector<std::byte> snapshot;
        SharedClosure copy;
    };
    const auto owner = std::make_shared<Owner>();
    owner->snapshot.resize(from.total());
    const Operand snapshot{{owner->snapshot.data(), from.bytes, from.rows, from.bytes}, from.space};
    const SharedClosure now = cpu::copy_closure(snapshot, from, type, count);
    type->run(now.get(), 0, count);
    owner->copy = cpu::copy_closure(to, snapshot, type, count);
    return SharedClosure(owner, owner->copy.get());
}

/// Returns the completion of the event's newest record, or null.
CompletionRef record_of_event(const EventState& event) {
    return event.native != nullptr ? *static_cast<CompletionRef*>(event.native) : CompletionRef();
}

/// Calls `function` once all work enqueued so far on `users` has completed. Returns false, and does
/// nothing, if memory is exhausted.
template <class F> bool after(const StreamUse* users, std::size_t count, F function) noexcept try {
    struct Last {
        F function;
        bool is_armed = false;
        ~Last() {
            if (is_armed) function();
        }
    };
    const std::shared_ptr<Last> last(new Last{std::move(function)});
    for (std::size_t i = 0; i < count; ++i) {
        const CompletionRef done = make_completion();
        users[i].stream->backend->signal_use(users[i], done);  // the user may be of another backend
        if (!done->is_done()) when_done(done, [last](const Completion&) {});
    }
    last->is_armed = true;
    return true;
} catch (...) {
    return false;
}

[[noreturn]] void lacks(const char* call, const SourceLocation& where) {
    unsupported_error({call, where}, "this backend has no such function yet: implement it");
}

class ThreadBackend final : public cpu::CpuBackend {
public:
    heddle::DeviceInfo describe(int device) override {
        heddle::DeviceInfo info = CpuBackend::describe(device);
        info.priorities = {0, -1};  // without effect
        return info;
    }

    // Streams
    void open_stream(StreamRecord& stream, const SourceLocation&) override {
        stream.priority.store(std::clamp(stream.priority.load(), -1, 0));
        auto steps = std::make_unique<Steps>(stream);
        const std::lock_guard life(stream.life);
        stream.native = steps.release();
    }
    void close_stream(StreamRecord& stream) noexcept override {
        Steps& steps = steps_of(stream);
        {
            const std::lock_guard life(stream.life);
            stream.final_event = &steps.last();
        }
        steps.close();
    }
    void synchronize(StreamRecord& stream, const SourceLocation&) override {
        const CompletionRef done = make_completion();
        steps_of(stream).push({.kind = Step::signal, .done = done});
        block_until(*done);
    }
    bool is_complete(StreamRecord& stream, const SourceLocation&) override {
        return steps_of(stream).is_idle();
    }
    std::uint64_t position(StreamRecord&) noexcept override { return 0; }
    std::uint64_t reached(StreamRecord&) noexcept override { return 0; }
    bool finish_enqueues(StreamRecord& stream) noexcept override {
        steps_of(stream).finish_submissions();
        return true;
    }
    void count_native(StreamRecord& stream) noexcept override { steps_of(stream).count_native(); }
    Failure reset_failure(StreamRecord& stream, std::uint64_t, const SourceLocation&) override {
        if (!stream.has(stream_flag::poisoned)) return nullptr;
        const CompletionRef done = make_completion();
        {
            const std::lock_guard life(stream.life);
            if (stream.native == nullptr || stream.final_event != nullptr) return nullptr;
            steps_of(stream).push(
                {.kind = Step::recover, .done = done, .next = std::make_shared<WorkOutcome>()});
        }
        block_until(*done);
        return done->failure();
    }
    void synchronize_device(int device, std::vector<CompletionRef>& waited,
                            const SourceLocation&) override {
        const std::size_t before = waited.size();
        for_each_stream([&](StreamRecord& stream) {
            if (stream.device == Access::device(heddle::DeviceKind::cpu, device))
                if (CompletionRef done = pending_of({&stream, stream.id.load()}))
                    waited.push_back(std::move(done));
        });
        for (std::size_t i = before; i < waited.size(); ++i) block_until(*waited[i]);
    }
    bool count_steps(StreamRecord&, StreamCounts&) noexcept override { return false; }
    Looked look(StreamRecord&, StreamLook&) override { return Looked::refused; }

    // Order
    void wait_stream(StreamRecord& waiter, StreamRecord& other,
                     const SourceLocation& where) override {
        const CompletionRef done = make_completion();
        steps_of(other).push({.kind = Step::signal, .done = done});
        wait_completion(waiter, done, where);
    }
    void open_event(EventState& event, const SourceLocation& where) override {
        if (event.options.interprocess) lacks("Event", where);
    }
    void close_event(EventState& event) noexcept override { forget_record(event); }
    void forget_record(EventState& event) noexcept override {
        delete static_cast<CompletionRef*>(std::exchange(event.native, nullptr));
    }
    void record(EventState& event, StreamRecord& stream, const SourceLocation&) override {
        auto done = std::make_unique<CompletionRef>(make_completion());
        steps_of(stream).push(
            {.kind = Step::signal, .done = *done, .is_timed = event.options.timing});
        forget_record(event);
        event.native = done.release();
    }
    void wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) override {
        if (CompletionRef done = record_of_event(event))
            wait_completion(waiter, std::move(done), where);
    }
    bool is_complete(EventState& event, const SourceLocation&) override {
        const CompletionRef done = record_of_event(event);
        return !done || done->is_done();
    }
    void synchronize(EventState& event, const SourceLocation&) override {
        if (const CompletionRef done = record_of_event(event)) block_until(*done);
    }
    double elapsed_ms(EventState& start, EventState& end, const SourceLocation&) override {
        const std::int64_t ns = record_of_event(end)->time_ns() - record_of_event(start)->time_ns();
        return static_cast<double>(ns) / 1e6;
    }
    Failure failure_of(EventState& event) override {
        const CompletionRef done = record_of_event(event);
        return done && done->is_done() ? done->failure() : nullptr;
    }
    heddle::EventHandle export_event(EventState&, const SourceLocation& where) override {
        lacks("export_event", where);
    }
    void import_event(EventState&, const heddle::EventHandle&,
                      const SourceLocation& where) override {
        lacks("import_event", where);
    }

    // Between kinds of devices, and streams that the caller does not own
    CompletionRef completion_of(EventState& event, const SourceLocation&) override {
        CompletionRef done = record_of_event(event);
        if (done) return done;
        done = make_completion();
        done->complete();
        return done;
    }
    void signal(EventState& event, CompletionRef to, const SourceLocation& where) override {
        when_done(completion_of(event, where),
                  [to](const Completion& done) { to->complete(done.failure()); });
    }
    void wait_completion(StreamRecord& waiter, CompletionRef done,
                         const SourceLocation& where) override {
        steps_of(waiter).submit({.kind = Step::wait, .done = std::move(done)}, where);
    }
    void signal_use(const StreamUse& use, CompletionRef to) override {
        if (const CompletionRef pending = pending_of(use))
            when_done(pending, [to](const Completion& done) { to->complete(done.failure()); });
        else to->complete();
    }
    void wait_use(StreamRecord& waiter, const StreamUse& use,
                  const SourceLocation& where) override {
        if (CompletionRef pending = pending_of(use))
            wait_completion(waiter, std::move(pending), where);
    }
    void synchronize_use(const StreamUse& use, const SourceLocation&) override {
        if (const CompletionRef pending = pending_of(use)) block_until(*pending);
    }

    // Work
    void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                 const SourceLocation& where) override {
        append(stream, type, moved_closure(type, self), count, where);
    }
    void launch(StreamRecord& stream, const LaunchCall& call) override {
        enqueue(stream, *call.type.op, call.closure, call.count, call.where);
    }
    void launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t) override {
        launch(stream, call);
    }
    void copy(StreamRecord& stream, const Operand& to, const Operand& from,
              const SourceLocation& where) override {
        const bool fills_now = to.space.kind == heddle::MemoryKind::pageable;
        if (fills_now) check_may_wait("copy (to pageable memory)", where);
        const OpType* type = nullptr;
        std::size_t count = 0;
        SharedClosure closure = from.space.kind == heddle::MemoryKind::pageable
                                    ? copy_of_snapshot(to, from, type, count)
                                    : cpu::copy_closure(to, from, type, count);
        append(stream, *type, std::move(closure), count, where);
        if (fills_now) synchronize(stream, where);
    }
    void fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
              const SourceLocation& where) override {
        const OpType* type = nullptr;
        std::size_t count = 0;
        SharedClosure closure = cpu::fill_closure(to, value, size, type, count);
        append(stream, *type, std::move(closure), count, where);
    }
    std::shared_ptr<GraphExec> instantiate(const GraphData&, const SourceLocation& where) override {
        lacks("instantiate", where);
    }

    // Memory: the CPU backend's, freed after the users of this backend's streams
    bool free(void* data, std::size_t bytes, int device, const StreamUse* users,
              std::size_t user_count) noexcept override {
        return after(users, user_count, [this, data, bytes, device] {
            (void)CpuBackend::free(data, bytes, device, nullptr, 0);
        });
    }
    bool free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                     std::size_t user_count) noexcept override {
        return after(users, user_count, [this, data, bytes] {
            (void)CpuBackend::free_pinned(data, bytes, nullptr, 0);
        });
    }
    void after_fork() noexcept override {}

private:
    static void append(StreamRecord& stream, const OpType& type, SharedClosure closure,
                       std::size_t count, const SourceLocation& where) {
        steps_of(stream).submit({.kind = Step::work,
                                 .type = &type,
                                 .closure = std::move(closure),
                                 .count = count,
                                 .where = where},
                                where);
    }
};

constinit NeverDestroyed<ThreadBackend> instance;

}  // namespace

Backend& backend_under_test() noexcept { return instance.get(); }

}  // namespace heddle_test
