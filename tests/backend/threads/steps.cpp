#include "backend/threads/steps.hpp"

#include "core/base/clock.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"

#include <cstring>
#include <new>
#include <thread>
#include <utility>

namespace heddle_test {

SharedClosure moved_closure(const OpType& type, void* from) {
    void* const data = ::operator new(type.size, std::align_val_t(type.align));
    if (type.move != nullptr) type.move(from, data);
    else std::memcpy(data, from, type.size);
    return SharedClosure(data, [&type](void* self) {
        if (type.destroy != nullptr) type.destroy(self);
        ::operator delete(self, std::align_val_t(type.align));
    });
}

Steps::Steps(StreamRecord& stream) : stream_(stream) {
    std::thread([this] { run(); }).detach();
}

void Steps::submit(Step step, const SourceLocation& where) {
    bool may_join = true;
    while (!append(step, may_join)) may_join = make_way(stream_, where);
}

bool Steps::is_idle() noexcept {
    const std::lock_guard lock(mutex_);
    return left_ == 0;
}

void Steps::count_native() noexcept {
    const std::lock_guard lock(mutex_);
    count_submission(stream_);
}

void Steps::close() noexcept {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_one();
}

/// Returns false, and does nothing, if the stream has joined a batch, which the caller has to
/// flush first.
bool Steps::append(Step& step, bool may_join) {
    const std::lock_guard lock(mutex_);
    if (may_join && stream_.has(stream_flag::joined)) return false;
    const bool is_counted = step.is_submission();
    steps_.push_back(std::move(step));
    ++left_;
    if (is_counted) count_submission(stream_);
    changed_.notify_one();
    return true;
}

void Steps::run() noexcept {
    for (;;) {
        Step step;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return !steps_.empty() || is_closed_; });
            if (steps_.empty()) break;
            step = std::move(steps_.front());
            steps_.pop_front();
        }
        execute(step);
    }
    end();
}

void Steps::execute(Step& step) noexcept {
    if (step.is_submission()) ++submission_;
    switch (step.kind) {
    case Step::work: run_work(step); return leave();
    case Step::wait:
        block_until(*step.done);
        fail(step.done->failure());
        return leave();
    case Step::signal:
        leave();
        return step.done->complete(has_failed_ ? stream_.known_failure() : nullptr,
                                   step.is_timed ? now_ns() : 0);
    case Step::recover: {
        Failure forgotten;
        if (std::exchange(has_failed_, false))
            forgotten = stream_.take_failure(~std::uint64_t{0}, std::move(step.next));
        leave();
        return step.done->complete(std::move(forgotten));
    }
    }
}

/// Counts a step as done. Called before a signal completes, so that a thread that waited for it
/// finds the stream idle.
void Steps::leave() noexcept {
    const std::lock_guard lock(mutex_);
    --left_;
}

void Steps::run_work(Step& step) noexcept {
    const InHostFunction mark;
    if (!has_failed_ || step.type->is_cleanup) call(*step.type, step);
    step.closure = nullptr;  // within the mark: destructors may call heddle, too
}

void Steps::call(const OpType& type, const Step& step) noexcept {
    try {
        if (type.complete == nullptr) return type.run(step.closure.get(), 0, step.count);
        type.complete(step.closure.get(),
                      has_failed_ ? told(stream_.known_failure(), &stream_) : nullptr);
    } catch (...) {
        fail(failure_of_throw(stream_, type, step.where, std::current_exception()));
    }
}

void Steps::fail(const Failure& failure) noexcept {
    if (failure == nullptr || has_failed_) return;
    has_failed_ = true;
    stream_.poison(failure, submission_);
}

void Steps::end() noexcept {
    StreamRecord& stream = stream_;
    const CompletionRef last = last_;
    Failure failure;
    {
        const std::lock_guard life(stream.life);
        // If nobody waits for the stream, its failure is reported when its outcome is renewed.
        if (has_failed_ && (last.owners() > 2 || last->is_awaited()))
            failure = stream.known_failure();
    }
    (void)stream.renew_outcome();
    {
        const std::lock_guard life(stream.life);
        stream.native = nullptr;
        stream.final_event = nullptr;
    }
    delete this;
    last->complete(std::move(failure));
    recycle_stream(stream);
}

CompletionRef pending_of(const StreamUse& use) {
    StreamRecord& stream = *use.stream;
    if (stream.has(stream_flag::forked)) return {};
    CompletionRef done = make_completion();
    const std::lock_guard life(stream.life);
    if (!use.is_same() || stream.native == nullptr) return {};  // the stream has ended
    if (stream.final_event != nullptr) return *static_cast<CompletionRef*>(stream.final_event);
    Steps& steps = steps_of(stream);
    if (steps.is_idle() && !stream.has(stream_flag::poisoned)) return {};
    steps.push({.kind = Step::signal, .done = done});
    return done;
}

}  // namespace heddle_test
