// Ordering operations by the memory that they use.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include <heddle/concurrency/data_order_options.hpp>
#include <heddle/operation/host_access.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
class OrderState;
struct LaunchCall;
struct Region;
struct WorkType;
}  // namespace detail

/// Runs operations as if they were enqueued in sequence on a single stream, and overlaps those that
/// use different memory or only read it.
///
///     DataOrder order{device};
///     launch(order, Load{}, dim(n), x);       // View<T> parameters are written,
///     launch(order, Scale{}, dim(n), x, y);   // View<const T> parameters are read
///     launch(order, Scale{}, dim(n), x, z);   // may overlap the launch before it
///     std::vector<float> host = to_host(order, y);  // waits for y, not for z
///
/// It owns a few streams. An operation runs on the stream whose newest operation it depends on, if
/// there is one, otherwise on the least loaded stream. Arrays count as a whole: two operations on
/// halves of one array are ordered. All memory that heddle does not own counts as one array. All
/// imports of one array of another process, or of parts of it, count as one array.
///
/// Order: its work is ordered after everything enqueued on the device's current stream before
/// construction. Destruction, also by an exception, orders the current stream after all of its
/// work. Each operation waits for earlier work on other streams that uses the same arrays. Later
/// work on other streams is not ordered automatically: call join() first, or end the scope.
///
/// A call declares the arrays and views that it is passed or that its closure captures. A kernel
/// also declares captured addresses within arrays. References, and memory behind other pointers,
/// are not detected. Small closures that can hold nothing else do not compile. Larger ones throw
/// UsageError if no memory is found in them.
///
/// Errors: if an operation fails, operations that use the memory it should have written are
/// dropped; others may be dropped too. to_host() and synchronize() throw the failure. The
/// destructor poisons the current stream with it.
///
/// Thread-safety: construct and use it on one thread, outside host functions; otherwise calls throw
/// UsageError. Construction and join() throw UsageError if the device's current stream is in a
/// native capture, or in a capture or batch of this thread. The destructor reports this error.
/// Other threads' captures may be open.
class DataOrder {
public:
    /// Makes the streams on `device`, by default the current one. Throws UsageError for a negative
    /// number of streams, or more than 32.
    [[nodiscard]] explicit DataOrder(Device device = current_device(),
                                     DataOrderOptions options = {}, Where where = {});
    /// Calls join(). Does not block. Passes errors to the report hook.
    ~DataOrder();
    DataOrder(const DataOrder&) = delete;
    DataOrder& operator=(const DataOrder&) = delete;

    /// Calls function(stream) at once, with `stream` current. The function enqueues work on this
    /// stream, through any library. The work may use only the memory declared by reads() and
    /// writes(), and must be enqueued before the function returns. Without declarations it depends
    /// on no other operation.
    ///
    ///     order.task({reads(a), writes(b)}, [&](StreamRef s) { library_call(native(s), ...); });
    ///
    /// Arrays that it makes need no declaration: later operations that use them are ordered after
    /// its work on the passed stream. Work on other streams is not part of the operation.
    ///
    /// The function must not use the DataOrder itself (UsageError). Its exceptions propagate;
    /// work enqueued before that still counts.
    template <std::invocable<StreamRef> F>
    void task(std::initializer_list<DeclaredAccess> accesses, F&& function, Where where = {}) {
        task(std::span<const DeclaredAccess>(accesses.begin(), accesses.size()),
             std::forward<F>(function), where);
    }
    /// Does the same for a range of any number of accesses.
    template <std::invocable<StreamRef> F>
    void task(std::span<const DeclaredAccess> accesses, F&& function, Where where = {}) {
        const Task running(*this, accesses, where);
        const ScopedStream in(running.stream, {.wait_on_enter = false}, where);
        function(running.stream);
    }

    /// Deleted: write task({reads(x), writes(y)}, function).
    template <class Why = mistake::declare_in_braces_as_task_reads_x_writes_y_f, class... A>
    Why task(const DeclaredAccess&, A&&...) = delete;

    /// Orders later work on the device's current stream after all work enqueued through it so far.
    void join(Where where = {});
    /// Blocks until all work enqueued through it has completed. Throws a failure of that work.
    void synchronize(Where where = {});
    /// Blocks as synchronize() does, and makes the streams usable again after a failure. Returns a
    /// failure, or null if there was none.
    std::exception_ptr clear_error(Where where = {});

    /// Returns the device of its streams.
    Device device() const noexcept;
    /// Returns the counts since construction.
    DataOrderStats stats() const noexcept;

private:
    friend detail::Access;
    struct Task {
        Task(DataOrder& order, std::span<const DeclaredAccess> accesses, Where where);
        ~Task();
        Task(const Task&) = delete;
        Task& operator=(const Task&) = delete;
        detail::OrderState& order;
        StreamRef stream;
    };

    std::unique_ptr<detail::OrderState> order_;
};

/// The old name of DataOrder.
using order_by_data [[deprecated("use DataOrder")]] = DataOrder;

namespace detail {

// Implements the calls by data (by_data_calls.hpp, by_data_arrays.hpp).

/// Enqueues a prepared launch on the chosen stream. Both members are null for other launches.
struct PreparedByData {
    void (*launch)(void* self, StreamRef stream, const SourceLocation& where) = nullptr;
    void* self = nullptr;
};
/// Launches an ordinary or a prepared kernel.
void launch_by_data(DataOrder& order, const LaunchCall& call, const PreparedByData& prepared = {});
/// Enqueues a host function, which is moved out of `self`.
void launch_host_by_data(DataOrder& order, const WorkType& type, void* self,
                         std::span<const MemoryArgument> memory, const SourceLocation& where);
void copy_by_data(DataOrder& order, const Region& to, const Region& from,
                  const SourceLocation& where);
void fill_by_data(DataOrder& order, const Region& to, const void* value, std::size_t size,
                  const SourceLocation& where);
/// Blocks until the host may use the memory.
void wait_by_data(DataOrder& order, const MemoryArgument& memory, const char* call,
                  const SourceLocation& where);
/// Copies to pageable memory, and blocks until the copy has completed.
void read_by_data(DataOrder& order, const Region& to, const Region& from,
                  const SourceLocation& where);
Block& allocate_by_data(DataOrder& order, std::size_t count, std::size_t element, const char* call,
                        const SourceLocation& where);

}  // namespace detail

}  // namespace heddle
