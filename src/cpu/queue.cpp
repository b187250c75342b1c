#include "cpu/queue.hpp"

#include <chrono>
#include <new>

#include "core/fork.hpp"
#include "core/registry.hpp"

namespace heddle::detail::cpu {

namespace {

constexpr std::size_t alignment = 16;
constexpr std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
constexpr std::size_t link_bytes =
    padded(sizeof(Operation));  // kept free at each chunk's end for Step::next_chunk

/// Chunks of standard size between two queues: kept, because memory fresh from the system costs a page fault each.
class ChunkPool {
public:
    static constexpr std::size_t standard = Chunk::standard - sizeof(Chunk);
    static constexpr int most = 4096;  // 16 MiB

    SpinLock& lock() noexcept { return lock_; }

    Chunk* take(std::size_t size) {
        if (size == standard) {
            const std::lock_guard lock(lock_);
            if (free_ != nullptr) {
                --count_;
                return std::exchange(free_, free_->next);
            }
        }
        auto* chunk = new (::operator new(sizeof(Chunk) + size, std::align_val_t(64))) Chunk;
        chunk->size = size;
        return chunk;
    }
    void give(Chunk* chunk) noexcept {
        if (chunk == nullptr) return;
        if (chunk->size == standard) {
            const std::lock_guard lock(lock_);
            if (count_ < most) {
                ++count_;
                chunk->next = std::exchange(free_, chunk);
                return;
            }
        }
        ::operator delete(chunk, std::align_val_t(64));
    }

private:
    SpinLock lock_;
    Chunk* free_ = nullptr;
    int count_ = 0;
};
constinit ChunkPool chunk_pool;
const ForkRegistration registered{ForkOrder::chunks, chunk_pool.lock()};
ChunkPool& chunks() { return chunk_pool; }

const OpType no_closure{nullptr, nullptr, nullptr, 0, 1, "", "", false};

struct Signal {
    CompletionRef done;
    bool timing;
};
struct Recovery {
    CompletionRef done;
    std::shared_ptr<Fate> next;
};
const OpType signal_type = op_type<Signal>(nullptr, false, "record_event", "signal");
const OpType recover_type = op_type<Recovery>(nullptr, false, "clear_error", "recover");

}  // namespace

const OpType wait_type = op_type<CompletionRef>(nullptr, false, "wait_event", "wait");

Failure failure_from_exception(StreamRecord& stream, const OpType& type, const SourceLocation& where,
                               const std::string* node) noexcept {
    try {
        std::string text;
        try {
            throw;
        } catch (const std::exception& e) {
            text = e.what();
        } catch (...) {
            text = "an exception that is no std::exception";
        }
        ErrorInfo info = stream_error(ErrorCode::work_failed, stream,
                                      (node != nullptr ? "node '" + *node + "', " : "") +
                                          kernel_name(type.pretty) + " threw: " + text +
                                          "; later work on this stream, and on what waits for it, is dropped",
                                      type.call, where);
        info.cause = std::current_exception();
        return make_failure(std::move(info));
    } catch (...) {
        return no_memory_failure();
    }
}

Failure failure_for_want_of_memory(StreamRecord& stream, const char* call,
                                   const SourceLocation& where) noexcept {
    try {
        return make_failure(stream_error(
            ErrorCode::out_of_memory, stream,
            "there was no memory on the host for work that was under way; it was not done, and later work on "
            "this stream, and on what waits for it, is dropped",
            call, where));
    } catch (...) {
        return no_memory_failure();
    }
}

Queue::Queue(StreamRecord& stream, int level) : Runnable(level), spread_(*this, level), stream_(stream) {
    waiting_.queue = this;
    waiting_.wake = [](Waiter& self, const Completion&) noexcept {
        static_cast<Waiting&>(self).queue->resume();
    };
}

Queue::~Queue() {
    chunks().give(head_);
    chunks().give(spare_.load());
}

std::byte* Queue::reserve(std::size_t bytes) {
    if (tail_ == nullptr || tail_offset_ + bytes + link_bytes > tail_->size) {
        const std::size_t wanted = std::max(ChunkPool::standard, bytes + link_bytes);
        Chunk* chunk = spare_.exchange(nullptr, std::memory_order_acquire);
        if (chunk != nullptr && chunk->size < wanted) chunks().give(std::exchange(chunk, nullptr));
        if (chunk == nullptr) chunk = chunks().take(wanted);
        chunk->next = nullptr;
        if (tail_ == nullptr) {
            head_ = chunk;  // nothing was ever pushed: no one drains yet
        } else {
            tail_->next = chunk;
            ::new (tail_->data() + tail_offset_) Operation(Step::next_chunk, 0, no_closure, 1, {});
        }
        tail_ = chunk;
        tail_offset_ = 0;
    }
    std::byte* const room = tail_->data() + tail_offset_;
    tail_offset_ += bytes;
    // The lines ahead were last read by another core, which drained this chunk before: they come while this one is written.
    constexpr std::size_t ahead = 384;
    if (tail_offset_ + ahead < tail_->size) prefetch_to_write(tail_->data() + tail_offset_ + ahead);
    return room;
}

void Queue::put(Operation& op, void* self) noexcept {
    const OpType& type = op.type();
    if (type.size == 0) return;
    if (type.move != nullptr) type.move(self, op.closure());
    else __builtin_memcpy(op.closure(), self, type.size);
}

bool Queue::note_pushed(std::size_t count, bool counts) noexcept {
    pushed_.store(pushed_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    if (counts)
        stream_.submissions.store(stream_.submissions.load(std::memory_order_relaxed) + count,
                                  std::memory_order_release);
    return !std::exchange(scheduled_, true);
}

bool Queue::append(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
                   bool counts) {
    const std::size_t bytes = padded(Operation::size_for(type, count));
    put(*::new (reserve(bytes)) Operation(step, bytes, type, count, where), self);
    return note_pushed(1, counts);
}

bool Queue::append_all(std::initializer_list<Entry> entries) {
    const auto bytes_of = [](const Entry& entry) { return padded(Operation::size_for(entry.type, 1)); };
    std::size_t bytes = 0;
    for (const Entry& entry : entries) bytes += bytes_of(entry);
    std::byte* room = reserve(bytes);
    for (const Entry& entry : entries) {
        put(*::new (room) Operation(entry.step, bytes_of(entry), entry.type, 1, entry.where), entry.self);
        room += bytes_of(entry);
    }
    return note_pushed(entries.size(), true);
}

bool Queue::add(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
                bool counts) {
    const std::lock_guard lock(lock_);
    return append(step, type, self, count, where, counts);
}

void Queue::push(Step step, const OpType& type, void* self, std::size_t count, const SourceLocation& where,
                 bool counts) {
    if (add(step, type, self, count, where, counts)) advance();
}

bool Queue::add_signal(CompletionRef done) {
    Signal signal{std::move(done), false};
    return add(Step::signal, signal_type, &signal, 1, {}, false);
}

bool Queue::add_recover(CompletionRef done) {
    Recovery recovery{std::move(done), std::make_shared<Fate>()};
    return add(Step::recover, recover_type, &recovery, 1, {}, false);
}

bool Queue::push_unless_joined(const OpType& type, void* self, std::size_t count,
                               const SourceLocation& where) {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        if (is_joined()) [[unlikely]]
            return false;
        schedule = append(Step::work, type, self, count, where, true);
    }
    if (schedule) advance();
    return true;
}

void Queue::push_all(std::initializer_list<Entry> entries) {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        schedule = append_all(entries);
    }
    if (schedule) advance();
}

bool Queue::push_all_unless_joined(std::initializer_list<Entry> entries) {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        if (is_joined()) [[unlikely]]
            return false;
        schedule = append_all(entries);
    }
    if (schedule) advance();
    return true;
}

void Queue::push_signal(CompletionRef done, bool timing) {
    Signal signal{std::move(done), timing};
    push(Step::signal, signal_type, &signal, 1, {}, false);
}

void Queue::push_wait(CompletionRef done, const SourceLocation& where) {
    push(Step::wait, wait_type, &done, 1, where, true);
}

void Queue::retire() noexcept {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        retired_ = true;
        schedule = !std::exchange(scheduled_, true);
    }
    if (schedule) advance();
}

void Queue::run() noexcept { drain(nullptr); }

void Queue::resume() noexcept { advance(); }

void Queue::advance() noexcept {
    // A signal can resume another queue, and so on: not deeper than the stack is sure to hold.
    static thread_local int depth = 0;
    constexpr int deepest = 32, most = 256;
    if (depth == deepest) return executor().schedule(*this);
    ++depth;
    Next next = Next::more;
    for (int i = 0; i < most && next == Next::more; ++i) next = step();
    --depth;
    if (next == Next::work || next == Next::more) executor().schedule(*this);
}

void Queue::help(const Completion& until) noexcept {
    if (executor().unschedule(*this)) drain(&until);
}

void Queue::fail(Failure failure) noexcept {
    if (failure == nullptr || failed_) return;
    failed_ = true;
    stream_.poison(std::move(failure), worked_ + 1);
}

Failure Queue::failure() const { return stream_.known_failure(); }

void Queue::recover(Operation& op) noexcept {
    Recovery recovery = std::move(*static_cast<Recovery*>(op.closure()));
    static_cast<Recovery*>(op.closure())->~Recovery();
    Failure forgotten;
    if (std::exchange(failed_, false))
        forgotten = stream_.take_failure(~std::uint64_t{0}, std::move(recovery.next));
    step_over(op);
    recovery.done->complete(std::move(forgotten));
}

/// By whoever drains, when nothing is left.
void Queue::end() noexcept {
    StreamRecord& stream = stream_;
    const CompletionRef done = final_;
    // Whoever finds the stream gone shall find its failure told, or held by somebody who can be: it is let go of before.
    Failure why;
    if (failed_) {
        const std::lock_guard lock(stream.life);
        if (done.owners() > 2 || done->is_awaited()) why = failure();  // others than `done` and the queue
    }
    (void)stream.renew_fate();
    {
        const std::lock_guard lock(stream.life);
        stream.native = nullptr;
        stream.final_event = nullptr;
    }
    delete this;
    done->complete(std::move(why));
    recycle_stream(stream);
}

void Queue::step_over(Operation& op) noexcept {
    if (op.step() == Step::work || op.step() == Step::wait) ++worked_;
    head_offset_ += op.bytes();
    done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void Queue::finish_work(Operation& op, Failure failure) noexcept {
    fail(std::move(failure));
    if (op.type().destroy != nullptr) op.type().destroy(op.closure());
    step_over(op);
}

bool Queue::run_work(Operation& op) noexcept {
    if (failed_ && !op.type().is_cleanup) [[unlikely]] {
        finish_work(op, nullptr);
        return true;
    }
    Failure failure;
    const std::size_t count = op.count();
    const InHostFunction mark;
    try {
        if (op.type().complete != nullptr)
            op.type().complete(op.closure(), failed_ ? told(this->failure(), &stream_) : nullptr);
        else if (count == 1) op.type().run(op.closure(), 0, 1);
        else if (!run_many(op)) return false;
        if (count != 1) failure = spread_.take_failure();
    } catch (...) {
        failure = failure_from_exception(stream_, op.type(), op.where());
    }
    finish_work(op, std::move(failure));
    return true;
}

std::int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// What is soon done stays on this thread, the rest is spread in pieces of some 5 µs or more. What was worth spreading the last time is
// spread at once; less is worth it while nobody has to be woken.
bool Queue::run_many(Operation& op) {
    constexpr double piece_ns = 5'000;
    const double clearly_worth_ns = executor().is_anyone_looking() ? 15'000 : 50'000;
    const std::size_t count = op.count();
    const auto workers = static_cast<std::size_t>(executor().workers());
    if (workers == 1) {
        op.type().run(op.closure(), 0, count);
        return true;
    }
    std::size_t done = 0;
    if (cost_.type != &op.type() || cost_.ns * static_cast<double>(count) < clearly_worth_ns) {
        cost_ = {&op.type(), 0};
        done = run_first(op.type(), op.closure(), count, cost_.ns);
        if (done == count) return true;
    }
    if (!spread_.prepare()) {  // no memory: on this thread then
        op.type().run(op.closure(), done, count);
        return true;
    }
    const std::size_t range = (count - done) / workers + 1;
    const auto smallest = static_cast<std::size_t>(std::min(piece_ns / cost_.ns, static_cast<double>(range)));
    if (!spread_.start(op, done, count, std::max(smallest + 1, range / 8 + 1))) return false;
    learn_cost();
    return true;
}

void Queue::learn_cost() noexcept {
    if (spread_.index_ns() > 0) cost_.ns = spread_.index_ns();
}

void Queue::finish_spread() noexcept {
    auto* op = reinterpret_cast<Operation*>(head_->data() + head_offset_);
    learn_cost();
    finish_work(*op, spread_.take_failure());
}

bool Queue::is_done() noexcept {
    Chunk* large = nullptr;
    bool ends = false;
    {
        const std::lock_guard lock(lock_);
        if (done_.load(std::memory_order_relaxed) != pushed_.load(std::memory_order_relaxed)) return false;
        ends = retired_;
        // Room for large closures is not kept by a queue that has nothing to do.
        if (!ends && head_ != nullptr && head_->size > ChunkPool::standard) {
            large = std::exchange(head_, nullptr);
            tail_ = nullptr;
            head_offset_ = 0;
        }
        scheduled_ = ends;  // nobody else is to take it any more
    }
    if (ends) end();
    else chunks().give(large);
    return true;
}

Queue::Next Queue::step() noexcept {
    if (!has_more()) return is_done() ? Next::idle : Next::more;
    auto& op = *reinterpret_cast<Operation*>(head_->data() + head_offset_);
    switch (op.step()) {
    case Step::work: return Next::work;
    case Step::signal: {
        const Signal signal = std::move(*static_cast<Signal*>(op.closure()));
        static_cast<Signal*>(op.closure())->~Signal();
        step_over(op);
        signal.done->complete(failed_ ? failure() : nullptr, signal.timing ? now_ns() : 0);
        return Next::more;
    }
    case Step::wait: {
        auto& done = *static_cast<CompletionRef*>(op.closure());
        if (!done->is_done() && done->add(waiting_)) return Next::suspended;  // resume() comes back here
        fail(done->failure());
        done.~CompletionRef();
        step_over(op);
        return Next::more;
    }
    case Step::recover: recover(op); return Next::more;
    case Step::next_chunk: {
        Chunk* empty = std::exchange(head_, head_->next);
        head_offset_ = 0;
        if (empty->size == ChunkPool::standard) empty = spare_.exchange(empty, std::memory_order_acq_rel);
        chunks().give(empty);
        return Next::more;
    }
    }
    return Next::more;
}

void Queue::drain(const Completion* until) noexcept {
    constexpr int batch = 512;  // then equally urgent work gets its turn
    constexpr int looks = 10;   // for more, before giving the queue up: cheaper than being scheduled again
    // Pauses between two looks, about 1 µs: each look takes the pushers' cache line away from them.
    constexpr int rest = 16;
    int looked = 0;
    bool first = true;
    for (int ran = 0;; first = false) {
        // Having caught up with those who push, it lets them get ahead before it looks again.
        if (until == nullptr && !first && has_caught_up() && !executor().anything_ready())
            for (int i = 0; i < rest; ++i) pause();
        if (!has_more()) {
            if (until == nullptr && ++looked < looks && !executor().anything_ready()) continue;
        } else {
            looked = 0;
            if ((until != nullptr && until->is_done()) || executor().more_urgent_ready(level()) ||
                (++ran > batch && executor().anything_ready()))
                return executor().schedule(*this);
        }
        switch (step()) {
        case Next::more: break;
        case Next::work:
            if (!run_work(*reinterpret_cast<Operation*>(head_->data() + head_offset_)))
                return;  // whoever finishes it goes on from there
            break;
        case Next::idle:
        case Next::suspended: return;
        }
    }
}

}  // namespace heddle::detail::cpu
