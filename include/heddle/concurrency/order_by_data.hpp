// The object that orders what is enqueued through it by the memory that it uses.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <heddle/observe/host_access.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

namespace detail {
class DataOrder;
struct LaunchCall;
struct Region;
struct WorkType;
}  // namespace detail

/// To which point of another stream an order_by_data waits.
enum class DataWaits : std::uint8_t {
    /// exact on CUDA devices, and on CPU devices while the stream's operations take over 0.7 us
    /// each, measured as it goes; newest while they are shorter.
    automatic,
    /// To the newest operation of the other stream. Records nothing in advance,
    /// and waits for more than it must where that stream has gone on.
    newest,
    /// To the operation that conflicts, as far as its stream remembers it: the newest 64 points.
    /// Records an event behind each operation that others may have to wait for.
    exact,
};

/// Which operations of an order_by_data are spread over its streams. Decides what may overlap,
/// never the results.
enum class DataSpread : std::uint8_t {
    /// All on CUDA devices. On CPU devices all but those that are shorter than a wait, measured as
    /// it goes: they stay on one stream.
    automatic,
    /// None: all use one stream, as with ByDataOptions::streams = 1.
    never,
    /// All, however short they are.
    always,
};

/// Options of an order_by_data.
struct ByDataOptions {
    /// How many streams the work is spread over, at most 32; without those for copies between host
    /// and GPU. 0: as many as measured best, which is two on CPU devices with more than one worker
    /// thread, one with one, and eight on CUDA devices.
    int streams = 0;
    DataWaits waits = DataWaits::automatic;     ///< how far its streams wait for each other
    DataSpread spread = DataSpread::automatic;  ///< which operations are spread
};

/// What an order_by_data has done so far.
struct ByDataStats {
    std::uint64_t operations = 0;  ///< enqueued through it
    /// Waits between its own streams, and for work outside of it on the same memory.
    std::uint64_t waits_inserted = 0;
    /// Conflicts with work on another of its streams that were in order already.
    std::uint64_t waits_elided = 0;
    std::uint64_t records = 0;  ///< events recorded, with those inside of waits
};

/// Orders operations by the memory that they use: what is enqueued through it comes to what the
/// same calls would come to one after the other on one stream, and overlaps as far as that allows.
///
///     order_by_data order{device};
///     launch(order, Load{}, dim(n), x);       // View<T> parameters are written,
///     launch(order, Scale{}, dim(n), x, y);   // View<const T> parameters are read
///     launch(order, Scale{}, dim(n), x, z);   // beside the one before
///     std::vector<float> host = to_host(order, y);  // waits for what wrote y, not for z
///
/// It owns a few streams. An operation goes to the stream of what it has to come after, if that is
/// the newest there, and else to the one that has been given least. Arrays count as a whole: two
/// operations on halves of one array are ordered. Memory that is not heddle's counts as one array,
/// all of it together.
///
/// Its work comes after all work that was on the current stream of its device when it was made.
/// When it ends, also by an exception, the current stream comes after all of its work. Work outside
/// of it that was enqueued earlier on the same arrays is waited for at each operation. Work outside
/// that is enqueued later has to wait by itself: for join(), or the end of the scope.
///
/// Two imports of one array of another process count as one array, and so do imports of its parts.
///
/// Only what a call says is ordered: its arrays and views, also those that a closure captures, and
/// addresses within arrays that a kernel captures, launched plainly or prepared. References, and
/// what stands behind pointers, are hidden: closures that can hold nothing else do not compile, and
/// larger ones that name no memory throw UsageError.
///
/// If an operation fails, those that use what it should have written are dropped; others may be,
/// too. to_host() and synchronize() throw the failure, and the current stream has it after the end.
///
/// Made and used by one thread, outside of host functions (UsageError). When it is made, joined or
/// ends, its device's current stream must not be part of a capture or a batch of that thread
/// (UsageError). Those of other threads make no difference.
class order_by_data {
public:
    /// Makes its streams on `device`, by default the current one. Throws UsageError for a number of
    /// streams that is negative or above 32.
    [[nodiscard]] explicit order_by_data(Device device = Device(), ByDataOptions options = {},
                                         Where where = {});
    /// Joins its streams to the current stream of its device, and does not block. Errors go to the
    /// report hook.
    ~order_by_data();
    order_by_data(const order_by_data&) = delete;
    order_by_data& operator=(const order_by_data&) = delete;

    /// Calls function(stream) at once, to enqueue work on `stream` that uses memory as declared by
    /// reads() and writes(), by whatever library. The stream is current meanwhile. All of the work
    /// has to be enqueued on it before the function returns. Without declarations it is ordered
    /// after nothing.
    ///
    ///     order.task({reads(a), writes(b)}, [&](StreamRef s) { library_call(native(s), ...); });
    ///
    /// Arrays that the function makes need no declaration: what uses them later comes after what
    /// the function does to them. What it enqueues on other streams counts as work outside.
    ///
    /// The function must not use the order_by_data itself (UsageError). An exception from it is
    /// passed on; what it enqueued until then counts.
    template <std::invocable<StreamRef> F>
    void task(std::initializer_list<DeclaredAccess> accesses, F&& function, Where where = {}) {
        task(std::span<const DeclaredAccess>(accesses.begin(), accesses.size()),
             std::forward<F>(function), where);
    }
    /// The same for any number of accesses.
    template <std::invocable<StreamRef> F>
    void task(std::span<const DeclaredAccess> accesses, F&& function, Where where = {}) {
        const Task running(*this, accesses, where);
        const ScopedStream in(running.stream, {.wait_on_enter = false}, where);
        function(running.stream);
    }

    /// Deleted: write task({reads(x), writes(y)}, function).
    template <class Why = mistake::declare_in_braces_as_task_reads_x_writes_y_f, class... A>
    Why task(const DeclaredAccess&, A&&...) = delete;

    /// Orders what is enqueued on the device's current stream from now on after all work given to
    /// this object so far. Does not block.
    void join(Where where = {});
    /// Blocks until all work given to it so far has completed. Throws what failed.
    void synchronize(Where where = {});
    /// Blocks as synchronize() does, makes its streams usable again after a failure, and returns
    /// the first failure; null if there was none.
    std::exception_ptr clear_error(Where where = {});

    /// Returns the device of its streams.
    Device device() const noexcept;
    /// Returns what it has done so far.
    ByDataStats stats() const noexcept;

private:
    friend detail::Access;
    struct Task {
        Task(order_by_data& order, std::span<const DeclaredAccess> accesses, Where where);
        ~Task();
        Task(const Task&) = delete;
        Task& operator=(const Task&) = delete;
        detail::DataOrder& order;
        StreamRef stream;
    };

    std::unique_ptr<detail::DataOrder> order_;
};

namespace detail {

// What the calls by data (by_data_calls.hpp, by_data_arrays.hpp) are made of.

/// What enqueues a launch on the stream that was chosen for it, if it is a prepared one.
struct PreparedByData {
    void (*launch)(void* self, StreamRef stream, const SourceLocation& where) = nullptr;
    void* self = nullptr;
};
/// Launches a kernel, prepared or not: all that by data says of launches is here.
void launch_by_data(order_by_data& order, const LaunchCall& call,
                    const PreparedByData& prepared = {});
/// Enqueues a host function, which is moved out of `self`.
void launch_host_by_data(order_by_data& order, const WorkType& type, void* self,
                         std::span<const MemoryArgument> memory, const SourceLocation& where);
void copy_by_data(order_by_data& order, const Region& to, const Region& from,
                  const SourceLocation& where);
void fill_by_data(order_by_data& order, const Region& to, const void* value, std::size_t size,
                  const SourceLocation& where);
/// Blocks until the host may use the memory.
void wait_by_data(order_by_data& order, const MemoryArgument& memory, const char* call,
                  const SourceLocation& where);
/// Copies to pageable memory, and blocks until that is done.
void read_by_data(order_by_data& order, const Region& to, const Region& from,
                  const SourceLocation& where);
Block& allocate_by_data(order_by_data& order, std::size_t count, std::size_t element,
                        const char* call, const SourceLocation& where);

}  // namespace detail

}  // namespace heddle
