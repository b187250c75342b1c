// Implements DataOrder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/concurrency/data_past.hpp"
#include "core/concurrency/data_streams.hpp"
#include <heddle/concurrency/data_order.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/detail/memory_argument.hpp>

namespace heddle::detail {

class HEDDLE_HIDDEN OrderState {
public:
    OrderState(Device device, const DataOrderOptions& options, const SourceLocation& where);
    /// Joins the streams into the current stream. Passes errors to the report hook.
    ~OrderState();
    OrderState(const OrderState&) = delete;
    OrderState& operator=(const OrderState&) = delete;

    Device device() const noexcept { return device_; }
    const DataOrderStats& stats() const noexcept { return stats_; }

    /// Throws UsageError on another thread, in a host function, and within task().
    void check(const char* call, const SourceLocation& where) const {
        if (thread_ != &thread_states || thread_states.in_host_function || is_in_task_) [[unlikely]]
            throw_not_usable(call, where);
    }

    // The steps of an operation: begin(), one use() for each use, start(), the call that enqueues
    // the operation, end(). After an exception before end(), the operation is not recorded.

    void begin(const char* call, const SourceLocation& where) {
        check(call, where);
        uses_.clear();
        found_.clear();
        bytes_ = 0;
        ++this_call_;
    }
    /// Adds memory that the operation uses. If `block` is null, the block is looked up by `data`.
    void use(Block* block, const void* data, std::size_t bytes, bool writes);
    void use(std::span<const MemoryArgument> memory) {
        for (const MemoryArgument& one : memory)
            use(one.block, one.data, one.rows == 0 ? 0 : one.bytes, one.writes);
    }
    void use(const Operand& operand, bool writes) {
        use(operand.owner, operand.data, operand.rows == 0 ? 0 : operand.bytes, writes);
    }
    /// Adds the array that contains an address, if there is one, and counts it as written. start()
    /// adds the stream to the users of this array. The stream is added to the users of the
    /// operation's other arrays when the operation is admitted.
    void use_address(const void* address);
    static constexpr std::size_t any_stream = ~std::size_t{0};
    /// Chooses a stream, unless `number` selects one, and orders the stream after conflicting work.
    StreamRecord& start(const SourceLocation& where, std::size_t number = any_stream);
    /// Records the operation on the stream that start() returned, even if it was dropped. Later
    /// users of the operation's memory then wait for the stream, and inherit the stream's failure.
    void end() noexcept;
    /// Called instead of end() for an allocation, which does not count as an operation.
    void end_allocation() noexcept;
    /// Blocks until the operation that was just enqueued has completed.
    void wait_for_present(const SourceLocation& where);
    /// Called instead of start() and end(). Blocks until the host may use the memory.
    void wait_on_host(const char* call, const SourceLocation& where);

    void begin_task() noexcept {
        is_in_task_ = true;
        task_id_ = next_id();
    }
    /// Called instead of end().
    void end_task() noexcept;
    const DataStreams& streams() const noexcept { return streams_; }

    void join(const SourceLocation& where);
    void synchronize(const SourceLocation& where);
    std::exception_ptr clear_error(const SourceLocation& where);

private:
    struct Use {
        std::uint32_t past;
        bool writes;
    };
    /// A stream with work that conflicts with the operation, and the position of its newest
    /// conflicting work.
    struct Needed {
        std::uint32_t number;
        std::uint64_t position;
    };
    [[noreturn]] void throw_not_usable(const char* call, const SourceLocation& where) const;
    void add_use(std::size_t index, bool writes) {
        uses_.push_back({static_cast<std::uint32_t>(index), writes});
        BlockPast& past = past_[index];
        past.is_written = writes || (past.used_by == this_call_ && past.is_written);
        past.used_by = this_call_;
    }
    void look_at_special(std::size_t index, bool writes);
    void begin_past(std::size_t index);
    void collect_needed();
    void need(std::uint32_t number, std::uint64_t position);
    std::size_t choose() const noexcept;
    std::uint64_t waits_on(std::size_t number) const noexcept;
    void record_newest(std::size_t number, const SourceLocation& where);
    void order(std::size_t number, const SourceLocation& where);
    void order_after_outside(std::size_t number, const SourceLocation& where);
    void look_at_outside(BlockPast& past, std::size_t number, const SourceLocation& where);
    void tell_ended(BlockPast& past, std::size_t number, const SourceLocation& where) noexcept;
    void give_load(std::size_t number) noexcept;

    Device device_;
    const ThreadStates* thread_ = &thread_states;
    bool is_in_task_ = false;
    bool had_tasks_ = false;
    std::uint64_t task_id_ = 0;  ///< an id taken when the newest task began
    std::size_t current_ = 0;    ///< the stream of the current operation
    std::size_t bytes_ = 0;      ///< number of bytes that the operation uses
    std::uint64_t this_call_ = 0;
    ShortCalls::Index call_ = 0;  ///< the call that enqueues the operation
    ShortCalls calls_;
    std::vector<Use> uses_;
    std::vector<Block*> found_;  ///< the blocks that were found by address
    std::vector<Needed> needed_;
    std::vector<std::vector<Use>> newest_uses_;  ///< by stream: uses of its newest operation
    DataStreams streams_;
    DataPast past_;
    DataOrderStats stats_;
};

}  // namespace heddle::detail
