// Implements the calls that take a DataOrder.
#include <cstring>
#include <vector>

#include "core/base/errors.hpp"
#include "core/concurrency/data_order.hpp"
#include "core/launch/found_views.hpp"
#include "core/launch/launch.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/copy.hpp"
#include "core/memory/memory.hpp"
#include "core/stream/notify.hpp"
#include <heddle/detail/access.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/fill.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/memory/to_host.hpp>

namespace heddle {

namespace {
[[noreturn]] void throw_hidden(const char* call, const SourceLocation& where) {
    detail::usage_error(
        {call, where},
        "this function contains addresses, but no view or declaration shows which arrays it uses: "
        "capture Views, pass the arrays, or declare them with reads() and writes(); if the "
        "function uses no arrays, enqueue it in DataOrder::task({{}}, ...)");
}
}  // namespace

DataOrder::DataOrder(Device device, DataOrderOptions options, Where where) try
    : order_(std::make_unique<detail::OrderState>(device, options, where)) {
} catch (...) {
    detail::rethrow_as_error("DataOrder", where);
}
DataOrder::~DataOrder() = default;

Device DataOrder::device() const noexcept { return order_->device(); }
DataOrderStats DataOrder::stats() const noexcept { return order_->stats(); }

void DataOrder::join(Where where) try {
    const detail::CallMark mark("join", where);
    order_->check("join", where);
    order_->join(where);
} catch (...) {
    detail::rethrow_as_error("join", where);
}

void DataOrder::synchronize(Where where) try {
    order_->check("synchronize", where);
    order_->synchronize(where);
} catch (...) {
    detail::rethrow_as_error("synchronize", where);
}

std::exception_ptr DataOrder::clear_error(Where where) try {
    order_->check("clear_error", where);
    return order_->clear_error(where);
} catch (...) {
    detail::rethrow_as_error("clear_error", where);
}

DataOrder::Task::Task(DataOrder& of, std::span<const DeclaredAccess> accesses, Where where) try
    : order(*of.order_) {
    const detail::CallMark mark("task", where);
    order.begin("task", where);
    for (const DeclaredAccess& one : accesses) {
        for (const detail::MemoryArgument& memory : one.memory())
            detail::check_alive(memory, "task", where);
        order.use(one.memory());
    }
    detail::StreamRecord& on = order.start(where);
    for (const DeclaredAccess& one : accesses)
        for (const detail::MemoryArgument& memory : one.memory())
            detail::note_use(memory.block, on, memory.writes);
    stream = detail::Access::stream(on);
    order.begin_task();
} catch (...) {
    detail::rethrow_as_error("task", where);
}

DataOrder::Task::~Task() { order.end_task(); }

namespace detail {

void launch_by_data(DataOrder& by, const LaunchCall& call, const PreparedByData& prepared) try {
    const CallMark mark("launch", call.where);
    OrderState& order = Access::order(by);
    order.begin("launch", call.where);
    order.use(call.memory);
    if (call.type.opaque_parts != 0) {
        const std::vector<const void*> held = addresses_in(call.type, call.closure);
        if (!held.empty() && call.memory.empty()) throw_hidden("launch", call.where);
        for (const void* const address : held) order.use_address(address);
    }
    StreamRecord& stream = order.start(call.where);
    if (prepared.launch != nullptr)
        prepared.launch(prepared.self, Access::stream(stream), call.where);
    else submit_launch(stream, call);
    order.end();
} catch (...) {
    rethrow_as_error("launch", call.where);
}

void launch_host_by_data(DataOrder& by, const WorkType& type, void* self,
                         std::span<const MemoryArgument> declared,
                         const SourceLocation& where) try {
    const CallMark mark("launch_host", where);
    OrderState& order = Access::order(by);
    order.begin("launch_host", where);
    const HostMemory used(type, self, declared);
    if (used.all().empty() && type.opaque_parts != 0) throw_hidden("launch_host", where);
    order.use(used.all());
    submit_host_function(order.start(where), type, self, declared, where);
    order.end();
} catch (...) {
    rethrow_as_error("launch_host", where);
}

namespace {

std::size_t stream_for_copy(const DataStreams& streams, const MemorySpace& to,
                            const MemorySpace& from) noexcept {
    if (is_on_cuda(to) == is_on_cuda(from) || streams.to_device() == 0)
        return OrderState::any_stream;
    if (is_on_cuda(to)) return streams.to_device();
    return to.kind == MemoryKind::pageable ? streams.to_read() : streams.to_host();
}

void copy_ordered(OrderState& order, const char* call, const Operand& to, const Operand& from,
                  const SourceLocation& where) {
    const bool to_host = to.space.kind == MemoryKind::pageable;
    const bool from_host = from.space.kind == MemoryKind::pageable;
    // The host itself accesses pageable memory during the call, so conflicting work must have
    // completed.
    if (to_host || from_host) {
        if (to_host) order.use(to, true);
        if (from_host) order.use(from, false);
        order.wait_on_host(call, where);
        order.begin(call, where);
    }
    if (!to_host) order.use(to, true);
    if (!from_host) order.use(from, false);
    StreamRecord& stream =
        order.start(where, stream_for_copy(order.streams(), to.space, from.space));
    copy_after_users(stream, to, from, where);
    order.end();
}

}  // namespace

void copy_by_data(DataOrder& by, const Region& to, const Region& from,
                  const SourceLocation& where) try {
    const CallMark mark("copy", where);
    OrderState& order = Access::order(by);
    order.begin("copy", where);
    if (!check_regions(to, from, where)) return;
    copy_ordered(order, "copy", located(to, "copy", where), located(from, "copy", where), where);
} catch (...) {
    rethrow_as_error("copy", where);
}

void fill_by_data(DataOrder& by, const Region& to, const void* value, std::size_t size,
                  const SourceLocation& where) try {
    const CallMark mark("fill", where);
    OrderState& order = Access::order(by);
    order.begin("fill", where);
    if (!check_fill(to, where)) return;
    const Operand operand = located(to, "fill", where);
    order.use(operand, true);
    fill_region(Access::stream(order.start(where)), {operand, operand.owner}, value, size, where);
    order.end();
} catch (...) {
    rethrow_as_error("fill", where);
}

void wait_by_data(DataOrder& by, const MemoryArgument& memory, const char* call,
                  const SourceLocation& where) try {
    const CallMark mark(call, where);
    OrderState& order = Access::order(by);
    order.begin(call, where);
    check_alive(memory, call, where);
    order.use({&memory, 1});
    order.wait_on_host(call, where);
} catch (...) {
    rethrow_as_error(call, where);
}

void read_by_data(DataOrder& by, const Region& to, const Region& region,
                  const SourceLocation& where) try {
    const CallMark mark("to_host", where);
    OrderState& order = Access::order(by);
    order.begin("to_host", where);
    if (!check_regions(to, region, where)) return;
    const Operand from = located(region, "to_host", where);
    if (is_on_cuda(from.space)) {
        copy_ordered(order, "to_host", located(to, "to_host", where), from, where);
        return order.wait_for_present(where);
    }
    order.use(from, false);
    order.wait_on_host("to_host", where);
    if (is_observed()) notify_host_access({{from.data, from.bytes}, from.owner}, where);
    std::memcpy(writable(to), from.data, from.bytes);
} catch (...) {
    rethrow_as_error("to_host", where);
}

Block& allocate_by_data(DataOrder& by, std::size_t count, std::size_t element, const char* call,
                        const SourceLocation& where) try {
    const CallMark mark(call, where);
    OrderState& order = Access::order(by);
    order.begin(call, where);
    Block& block = allocate(Access::stream(order.start(where)), count, element, call, where);
    try {
        order.use(&block, block.data, block.bytes, true);
    } catch (...) {
        release(block);
        throw;
    }
    order.end_allocation();
    return block;
} catch (...) {
    rethrow_as_error(call, where);
}

}  // namespace detail

}  // namespace heddle
