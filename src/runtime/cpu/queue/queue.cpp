#include "cpu/queue/queue.hpp"

#include "core/seam/debugger.hpp"

namespace heddle::detail::cpu {

namespace {

constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + operation_alignment - 1) / operation_alignment * operation_alignment;
}

const OpType no_closure{nullptr, nullptr, nullptr, 0, 1, "", "", false};

const OpType signal_type = op_type<Signal>(nullptr, false, "record_event", "signal");
const OpType time_type = op_type<TimeWish>(nullptr, true, "", "time");
const OpType recover_type = op_type<Recovery>(nullptr, false, "clear_error", "recover");

}  // namespace

const OpType wait_type = op_type<CompletionRef>(nullptr, false, "wait_event", "wait");

// Starts the run on a failed stream too, because the run must end. Its nodes then do nothing.
const OpType start_type = op_type<StartOp>(&StartOp::go, true, "launch", "graph", true);

const OpType* type_of(Step step) noexcept {
    switch (step) {
    case Step::work: return nullptr;
    case Step::signal: return &signal_type;
    case Step::wait: return &wait_type;
    case Step::recover: return &recover_type;
    case Step::time: return &time_type;
    case Step::next_chunk: return &no_closure;
    }
    return nullptr;
}

Queue::Queue(StreamRecord& stream, int level)
    : Runnable(level), spread_(*this, level), stream_(stream) {
    waiting_.queue = this;
    waiting_.wake = [](Waiter& self, const Completion&) noexcept {
        static_cast<Waiting&>(self).queue->resume();
    };
    stream.level.store(level);
    set_at_rest(true);
}

Queue::~Queue() {
    chunks().give(head_);
    chunks().give(cached_chunk_.load());
    delete fibers_.load();
}

void Queue::add_chunk(std::size_t bytes) {
    const std::size_t wanted = std::max(ChunkPool::standard, bytes + link_bytes);
    Chunk* chunk = cached_chunk_.exchange(nullptr, std::memory_order_acquire);
    if (chunk != nullptr && chunk->size < wanted) chunks().give(std::exchange(chunk, nullptr));
    if (chunk == nullptr) chunk = chunks().take(wanted);
    chunk->next = nullptr;
    if (tail_ == nullptr) {
        head_ = chunk;  // nothing was pushed before, so no thread drains yet
    } else {
        tail_->next = chunk;
        ::new (tail_->data() + tail_offset_) Operation(Step::next_chunk, 0, no_closure, 1, {});
    }
    tail_ = chunk;
    tail_offset_ = 0;
}

inline std::byte* Queue::reserve(std::size_t bytes) {
    if (tail_ == nullptr || tail_offset_ + bytes + link_bytes > tail_->size) [[unlikely]]
        add_chunk(bytes);
    std::byte* const room = tail_->data() + tail_offset_;
    tail_offset_ += bytes;
    // The cache lines ahead were last read by the core that drained this chunk before. Prefetching
    // moves them to this core while the current line is written.
    constexpr std::size_t ahead = 384;
    if (tail_offset_ + ahead < tail_->size) prefetch_to_write(tail_->data() + tail_offset_ + ahead);
    return room;
}

inline void Queue::put(Operation& op, void* self) noexcept {
    const OpType& type = op.type();
    if (type.size == 0) return;
    if (op.step() == Step::work && is_on_fiber(type)) [[unlikely]] {
        *static_cast<void**>(op.closure()) = box(type, self);
        return;
    }
    if (type.move != nullptr) type.move(self, op.closure());
    else __builtin_memcpy(op.closure(), self, type.size);
}

inline bool Queue::note_pushed(std::size_t count, std::size_t submissions) noexcept {
    pushed_.store(pushed_.load(std::memory_order_relaxed) + count, std::memory_order_release);
    if (submissions != 0)
        stream_.submissions.store(stream_.submissions.load(std::memory_order_relaxed) + submissions,
                                  std::memory_order_release);
    if (std::exchange(scheduled_, true)) return false;
    set_at_rest(false);
    return true;
}

inline bool Queue::append(Step step, const OpType& type, void* self, std::size_t count,
                          const SourceLocation& where, bool counts) {
    make_fibers();
    const std::size_t bytes = padded(Operation::size_for(type, count));
    put(*::new (reserve(bytes)) Operation(step, bytes, type, count, where), self);
    return note_pushed(1, counts ? 1 : 0);
}

bool Queue::append_all(std::initializer_list<Entry> entries) {
    const auto bytes_of = [](const Entry& entry) {
        return padded(Operation::size_for(entry.type, 1));
    };
    make_fibers();
    std::size_t bytes = 0;
    for (const Entry& entry : entries) bytes += bytes_of(entry);
    std::byte* room = reserve(bytes);
    for (const Entry& entry : entries) {
        put(*::new (room) Operation(entry.step, bytes_of(entry), entry.type, 1, entry.where),
            entry.self);
        room += bytes_of(entry);
    }
    return note_pushed(entries.size(), entries.size());
}

bool Queue::add(Step step, const OpType& type, void* self, std::size_t count,
                const SourceLocation& where, bool counts) {
    const std::lock_guard lock(lock_);
    if (step == Step::signal) promise(static_cast<Signal*>(self)->done);
    else if (step == Step::recover) promise(static_cast<Recovery*>(self)->done);
    return append(step, type, self, count, where, counts);
}

void Queue::push(Step step, const OpType& type, void* self, std::size_t count,
                 const SourceLocation& where, bool counts) {
    if (add(step, type, self, count, where, counts)) advance();
}

bool Queue::add_signal(CompletionRef done) {
    tsan::release(done->order());
    Signal signal{std::move(done), false};
    return add(Step::signal, signal_type, &signal, 1, {}, false);
}

bool Queue::add_recover(CompletionRef done) {
    tsan::release(done->order());
    Recovery recovery{std::move(done), std::make_shared<WorkOutcome>()};
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

bool Queue::push_wait_unless_joined(CompletionRef& done, const SourceLocation& where) {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        if (is_joined()) [[unlikely]]
            return false;
        schedule = append(Step::wait, wait_type, &done, 1, where, true);
    }
    if (schedule) advance();
    return true;
}

bool Queue::push_timed_unless_joined(TimeWish wish, const OpType& type, void* self,
                                     std::size_t count, const SourceLocation& where) {
    bool schedule = false;
    {
        const std::lock_guard lock(lock_);
        if (is_joined()) [[unlikely]]
            return false;
        make_fibers();
        // Appends both or neither, one directly after the other.
        const std::size_t first = padded(Operation::size_for(time_type, 1));
        const std::size_t second = padded(Operation::size_for(type, count));
        std::byte* const room = reserve(first + second);
        put(*::new (room) Operation(Step::time, first, time_type, 1, {}), &wish);
        put(*::new (room + first) Operation(Step::work, second, type, count, where), self);
        schedule = note_pushed(2, 1);
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
    tsan::release(done->order());
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

// Read by debuggers.
struct QueueOffsets {
    static constexpr std::uint32_t worked = offsetof(Queue, worked_);
};

}  // namespace heddle::detail::cpu

HEDDLE_OFFSET(queue_worked, heddle::detail::cpu::QueueOffsets::worked)
