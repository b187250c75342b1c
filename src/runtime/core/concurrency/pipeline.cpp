// Pipelines: slots, and the events between their stages.
#include <heddle/concurrency/pipeline.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/operation/host_access.hpp>
#include <heddle/stream/scope.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"
#include "core/base/ids.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {
namespace {

/// Returns the default size of a piece in bytes.
std::size_t suitable_bytes(Device device) {
    if (device.is_cuda()) return 8 << 20;  // a copy of 4 MB reaches 98 % of the link's rate
    const auto workers = static_cast<std::size_t>(std::max(1, device.info().processors));
    return std::clamp<std::size_t>(workers << 19, 512 << 10, 8 << 20);
}

}  // namespace

struct HEDDLE_HIDDEN PipelineCore::State {
    struct Slot {
        Array<std::byte> host_in, device_in, device_out, host_out;
        Event arrived, worked, done;
        std::size_t elements = 0;  ///< for progress
        std::size_t outputs = 0;
        explicit Slot(Device device) : arrived(device), worked(device), done(device) {}
    };

    Device device;
    std::size_t in_size, out_size;  ///< bytes of one element
    PipelineOptions options;
    std::size_t piece, out_piece;  ///< number of elements
    bool in_place;
    bool out_as_in;  ///< whether a piece has room for as many outputs as inputs
    Stream copy_in, work, copy_out;
    std::vector<Slot> slots = {};
    std::uint64_t submitted = 0, released = 0;  ///< pieces [released, submitted) occupy their slots
    std::uint64_t elements_done = 0;
    bool acquired = false;  ///< whether slot submitted % depth is being filled
    bool popped = false;    ///< whether the caller reads the result of piece `released`
    bool finished = false;
    bool stopped = false;
    std::exception_ptr failure = nullptr;
    std::atomic<std::uint32_t> user{0};  ///< number of the thread that is in a call, or 0

    State(Device d, std::size_t in, std::size_t out, PipelineOptions o, Where where)
        : device(d), in_size(in), out_size(out), options(std::move(o)),
          piece(options.piece.value_or(
              std::max<std::size_t>(1, suitable_bytes(d) / std::max(in_size, out_size)))),
          out_piece(options.out_piece.value_or(piece)), in_place(d.is_cpu() && options.in_place),
          out_as_in(!options.out_piece.has_value()),
          copy_in(d, {.priority = options.copy_priority, .name = options.name + ": copy in"},
                  where),
          work(d, {.priority = options.work_priority, .name = options.name + ": work"}, where),
          copy_out(d, {.priority = options.copy_priority, .name = options.name + ": copy out"},
                   where) {
        // One slot each for reading, copying in, working, copying out and writing, and an
        // additional slot so that no stage waits for the host.
        if (options.depth == 0) options.depth = in_size != 0 && out_size != 0 ? 6 : 4;
        constexpr std::size_t most_depth = 1024;  // a slot holds memory on both sides, and events
        if (options.depth > most_depth)
            usage_error({"Pipeline", where},
                        "the depth is {} slots: set .depth to at most {} (6 suffice)",
                        options.depth, most_depth);
        if (piece == 0 || out_piece == 0)
            usage_error({"Pipeline", where},
                        "pieces have 0 elements: set .{} to 1 or more, or omit it for the default",
                        piece == 0 ? "piece" : "out_piece");
        const std::size_t element = std::max(in_size, out_size);
        if (piece > SIZE_MAX / element || out_piece > SIZE_MAX / element)
            usage_error({"Pipeline", where}, "a piece is larger than can be addressed: set .piece "
                                             "or .out_piece to fewer elements");
        slots.reserve(options.depth);
        if (current_stream(d).is_capturing(where))
            usage_error({"Pipeline", where},
                        "a pipeline waits for its pieces, so it cannot be part of a capture: "
                        "construct it while a stream outside the capture is current");
    }

    bool is_full() const { return submitted - released == options.depth; }

    void check(const char* call, Where where) const {
        if (failure != nullptr) std::rethrow_exception(failure);
        if (stopped) usage_error({call, where}, "the pipeline was stopped: construct a new one");
    }

    /// While an InUse exists, calls by other threads throw UsageError. Callbacks on the same thread
    /// may call the pipeline.
    class InUse {
    public:
        InUse(State& state, const char* call, Where where)
            : state_(state), thread_(this_thread_number()) {
            std::uint32_t other = 0;
            is_outer_ =
                state_.user.compare_exchange_strong(other, thread_, std::memory_order_acquire);
            if (!is_outer_ && other != thread_)
                usage_error(
                    {call, where},
                    "another thread is executing a call on this pipeline: use the pipeline on one "
                    "thread only, or hold a lock during all calls and while results are in use");
        }
        ~InUse() {
            if (is_outer_) state_.user.store(0, std::memory_order_release);
        }
        InUse(const InUse&) = delete;
        InUse& operator=(const InUse&) = delete;

    private:
        State& state_;
        std::uint32_t thread_;
        bool is_outer_ = false;
    };

    /// Calls `f`. If `f` throws, waits for all enqueued work, and makes every later call throw the
    /// same error.
    template <class F> auto guarded(F&& f) {
        try {
            return f();
        } catch (...) {
            failure = std::current_exception();
            drain();
            throw;
        }
    }

    std::array<StreamRecord*, 3> streams() noexcept {
        return {&record_of(copy_in), &record_of(work), &record_of(copy_out)};
    }

    /// Waits for all enqueued work. Does not report failures. Where waiting is forbidden (in host
    /// functions), does not wait: the buffers are freed in stream order.
    void drain() noexcept {
        acquired = popped = false;
        for (StreamRecord* const stream : streams()) {
            try {
                block_until_idle(*stream, {});  // no place: no line of the user's caused this wait
            } catch (...) {  // waiting is not allowed here, or the device is lost
            }
        }
        released = submitted;
    }

    /// Reports failures that have not been reported yet. The streams keep the failures, because
    /// arrays that the work used may refer to them.
    void end_failures() {
        for (StreamRecord* const stream : streams())
            if (const Failure failed = stream->known_failure()) report_untold(*failed);
    }

    Slot& slot_of(std::uint64_t number) {
        return slots[static_cast<std::size_t>(number % options.depth)];
    }

    /// Allocates memory that the host shares with the work (if in place) or with copies. Memory
    /// that a CPU device uses in place is not pinned, because pinning would start CUDA on a machine
    /// with GPUs. The caller may use the memory immediately, on any stream.
    Array<std::byte> host_memory(std::size_t bytes, Where where) {
        if (!in_place) return pinned<std::byte>(bytes, where);
        return Access::array<std::byte>(allocate_at_once(device, bytes, where), bytes);
    }

    void make_slot(Where where) {
        Slot slot(device);
        if (in_size != 0 && !in_place)
            slot.device_in = empty<std::byte>(copy_in, piece * in_size, where);
        if (out_size != 0) slot.host_out = host_memory(out_piece * out_size, where);
        if (out_size != 0 && !in_place)
            slot.device_out = empty<std::byte>(work, out_piece * out_size, where);
        slots.push_back(std::move(slot));
    }

    /// Waits for a piece, and throws if one of the streams has failed. After the wait, a failure is
    /// known even if the piece itself was dropped.
    void wait_for(Slot& slot, Where where) {
        slot.done.synchronize(where);
        throw_failure(where);
    }
    void throw_failure(Where where) {
        for (StreamRef stream : {StreamRef(copy_in), StreamRef(work), StreamRef(copy_out)})
            if (stream.is_poisoned()) stream.synchronize(where);
    }

    void tell_progress(const Slot& slot) {
        elements_done += slot.elements;
        if (options.progress) options.progress(released + 1, elements_done);
    }

    void release_popped() {
        if (std::exchange(popped, false)) ++released;
    }

    /// For pipelines without output: releases the slots of completed pieces. If `wait`, waits for
    /// the oldest piece first.
    void retire(bool wait, Where where) {
        while (released != submitted) {
            Slot& slot = slot_of(released);
            if (wait) wait_for(slot, where);
            else if (!slot.done.is_complete(where)) return;
            wait = false;
            tell_progress(slot);
            ++released;
        }
    }

    void check_count(std::size_t count, Where where) const {
        if (count > piece)
            usage_error({"Pipeline::submit", where},
                        "{} elements do not fit in a piece of {}: submit fewer elements, or set "
                        ".piece to a larger number",
                        count, piece);
    }

    /// Ensures that the next piece has a slot. Throws UsageError if only pop() can free one.
    void make_room(const char* call, Where where) {
        check(call, where);
        if (finished)
            usage_error({call, where}, "finish() was already called on this pipeline: submit all "
                                       "input before calling finish()");
        if (out_size == 0) guarded([&] { retire(is_full(), where); });
        release_popped();
        if (is_full())
            usage_error({call, where}, "all {} slots hold results: call pop() first",
                        options.depth);
        if (submitted == slots.size() && slots.size() < options.depth)
            guarded([&] { make_slot(where); });
    }

    PieceMemory memory_of(Slot& slot, std::size_t count, View<const std::byte> input) {
        const View<const std::byte> in =
            in_place ? input : View<const std::byte>(slot.device_in.view());
        const View<std::byte> out = in_place ? slot.host_out.view() : slot.device_out.view();
        const std::size_t room = out_size == 0 ? 0 : out_as_in ? count : out_piece;
        return {in.data(), in_size == 0 ? 0 : count, Access::block(in), out.data(),
                room,      Access::block(out)};
    }

    /// Enqueues a piece. Returns its number of outputs.
    std::size_t enqueue(std::size_t count, View<const std::byte> input, EnqueueWork* call,
                        void* callee, Where where) {
        Slot& slot = slot_of(submitted);
        copy_piece_in(slot, count, input, where);
        const PieceMemory memory = memory_of(slot, count, input);
        std::size_t outputs = 0;
        {
            const ScopedStream in(work, {}, where);
            outputs = call(callee, work, memory);
        }
        if (outputs > memory.out_count)
            usage_error({"Pipeline::submit", where},
                        "the work on a piece returns {} outputs, but the limit is {}: set "
                        ".out_piece to a larger number",
                        outputs, memory.out_count);
        slot.outputs = outputs;
        slot.elements = in_size != 0 ? count : outputs;
        if (in_size == 0 && outputs == 0) return 0;  // the end of the input, not a piece
        ++submitted;
        copy_piece_out(slot, where);
        return outputs;
    }

    void copy_piece_in(Slot& slot, std::size_t count, View<const std::byte> input, Where where) {
        const Because pipeline(WaitReason::pipeline);
        // The user may have made copy_in wait for the stream that fills the slot.
        if (in_size == 0 || in_place) return work.wait_stream(copy_in, where);
        const std::size_t bytes = count * in_size;
        copy(copy_in, slot.device_in.view().first(bytes), input.first(bytes), where);
        copy_in.record_event(slot.arrived, where);
        work.wait_event(slot.arrived, where);
    }

    void copy_piece_out(Slot& slot, Where where) {
        const Because pipeline(WaitReason::pipeline);
        if (slot.outputs == 0 || in_place) return work.record_event(slot.done, where);
        const std::size_t bytes = slot.outputs * out_size;
        work.record_event(slot.worked, where);
        copy_out.wait_event(slot.worked, where);
        copy(copy_out, slot.host_out.view().first(bytes), slot.device_out.view().first(bytes),
             where);
        copy_out.record_event(slot.done, where);
    }
};

PipelineCore::PipelineCore(Device device, std::size_t in_size, std::size_t out_size,
                           PipelineOptions options, Where where) try
    : state_(std::make_unique<State>(device, in_size, out_size, std::move(options), where)) {
} catch (...) {
    detail::rethrow_as_error("Pipeline", where);
}

PipelineCore::~PipelineCore() { stop(); }

void* PipelineCore::acquire(Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::acquire", where);
    if (s.acquired && s.in_size != 0)
        usage_error({"Pipeline::acquire", where},
                    "a slot is already acquired: call submit() first; submit(0) releases the slot");
    s.make_room("Pipeline::acquire", where);
    return s.guarded([&]() -> void* {
        Array<std::byte>& host = s.slot_of(s.submitted).host_in;
        if (s.in_size != 0 && host.empty()) host = s.host_memory(s.piece * s.in_size, where);
        else if (s.in_size != 0) (void)on_host(host, where);  // the caller uses the memory now
        s.acquired = true;
        return host.view().data();
    });
}

std::size_t PipelineCore::submit(std::size_t count, EnqueueWork* enqueue, void* work, Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::submit", where);
    s.check("Pipeline::submit", where);
    if (!s.acquired)
        usage_error({"Pipeline::submit", where}, "no slot was acquired: call acquire() first");
    s.check_count(count, where);
    s.acquired = false;
    s.release_popped();
    if (count == 0) return 0;
    return s.guarded([&] {
        Array<std::byte>& host = s.slot_of(s.submitted).host_in;
        return s.enqueue(count, host.view(), enqueue, work, where);
    });
}

void PipelineCore::submit_from(View<const std::byte> elements, EnqueueWork* enqueue, void* work,
                               Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::submit", where);
    const std::size_t count = elements.size() / s.in_size;
    s.check("Pipeline::submit", where);
    s.check_count(count, where);
    s.make_room("Pipeline::submit", where);
    s.acquired = false;
    if (count != 0) s.guarded([&] { s.enqueue(count, elements, enqueue, work, where); });
}

std::optional<PipelineCore::Result> PipelineCore::pop(Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::pop", where);
    s.check("Pipeline::pop", where);
    s.release_popped();
    if (s.released == s.submitted) return std::nullopt;
    return s.guarded([&]() -> std::optional<Result> {
        State::Slot& slot = s.slot_of(s.released);
        s.wait_for(slot, where);
        s.popped = true;
        (void)on_host(std::as_const(slot.host_out).view().first(slot.outputs * s.out_size), where);
        s.tell_progress(slot);
        return Result{slot.host_out.view().data(), slot.outputs};
    });
}

void PipelineCore::finish(Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::finish", where);
    s.check("Pipeline::finish", where);
    s.finished = true;
    s.acquired = false;
    s.guarded([&] {
        while (s.out_size == 0 && s.released != s.submitted) s.retire(true, where);
        for (StreamRef stream : {StreamRef(s.copy_in), StreamRef(s.work), StreamRef(s.copy_out)})
            stream.synchronize(where);
    });
}

void PipelineCore::stop() noexcept {
    if (std::exchange(state_->stopped, true)) return;
    state_->drain();
    state_->end_failures();
}

bool PipelineCore::is_full() const noexcept {
    return state_->submitted - state_->released - (state_->popped ? 1 : 0) == state_->options.depth;
}

bool PipelineCore::is_ready(Where where) {
    State& s = *state_;
    const State::InUse in_use(s, "Pipeline::is_ready", where);
    s.check("Pipeline::is_ready", where);
    const std::uint64_t oldest = s.released + (s.popped ? 1 : 0);
    if (oldest == s.submitted) return false;
    return s.guarded([&] { return s.slot_of(oldest).done.is_complete(where); });
}

std::size_t PipelineCore::pending() const noexcept {
    return static_cast<std::size_t>(state_->submitted - state_->released -
                                    (state_->popped ? 1 : 0));
}

std::size_t PipelineCore::depth() const noexcept { return state_->options.depth; }
std::size_t PipelineCore::piece() const noexcept { return state_->piece; }

StreamRef PipelineCore::stream(int stage) const noexcept {
    return stage == 0 ? state_->copy_in : stage == 1 ? state_->work : state_->copy_out;
}

}  // namespace heddle::detail
