// The one way of all launches: checks, users of memory, recording, backend, observers. And the
// errors of launches.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include <heddle/code/module.hpp>
#include <heddle/detail/kernel_closures.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/launch/launch.hpp"
#include "core/observe/observers.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/code_backend.hpp"

namespace heddle::detail {

namespace {
void* kernel_of(const LaunchCall& call) noexcept {
    call.type.addresses(call.closure, call.addresses);
    return call.addresses[0];
}

[[noreturn]] void throw_not_compiled(const StreamState& stream, const LaunchCall& call) {
    usage_error({"launch", call.where, stream},
                "the kernel {} was compiled without nvcc, so it runs on CPU devices only: compile "
                "this source file as CUDA (set_source_files_properties(... PROPERTIES LANGUAGE "
                "CUDA)), or use a CPU device",
                kernel_name(call.type.op->pretty));
}

void notify_launch(StreamState& stream, const LaunchCall& call) noexcept {
    const auto none = std::ranges::remove_if(
        call.accesses, [](const OpAccess& access) { return access.data == nullptr; });
    notify_on(stream, {.kind = OpKind::launch,
                       .name = name_of_kernel(call.type, kernel_of(call)),
                       .accesses = {call.accesses.begin(), none.begin()},
                       .where = call.where});
}
}  // namespace

std::size_t count_of(std::span<const std::size_t> extents, const SourceLocation& where) {
    std::size_t count = 1;
    bool overflow = false, none = false;
    for (const std::size_t n : extents) {
        none |= n == 0;
        overflow |= __builtin_mul_overflow(count, n, &count);
    }
    if (none) return 0;
    if (overflow || count > max_indices) [[unlikely]]
        throw_too_many_indices(where);
    return count;
}

void check_grid(StreamState& stream, const WorkType& type, const GridHead& head,
                const GivenOptions& how, const SourceLocation& where) {
    if (type.kernel == KernelKind::in_module) {
        const auto& kernel = *static_cast<const ModuleKernelData*>(head.kernel);
        if (stream.device != kernel.device) [[unlikely]]
            usage_error({"launch", where, stream},
                        "kernel {} is loaded on {}, and the stream is of {}", kernel.readable,
                        kernel.device, stream.device);
    } else if (!stream.device.is_cuda()) [[unlikely]] {
        throw_global_on_cpu({"launch", where, stream});
    }
    stream.backend->check_grid(record_of(stream), type, head, how, where);
}

std::size_t check_launch(StreamState& stream, const LaunchCall& call) {
    const std::size_t count = count_of(call.extents, call.where);
    if (call.type.kernel == KernelKind::portable) {
        if (call.type.code == nullptr && stream.device.is_cuda()) [[unlikely]]
            throw_not_compiled(stream, call);
    } else if (count != 0) {
        check_grid(stream, call.type, *static_cast<const GridHead*>(kernel_of(call)), call.how,
                   call.where);
    }
    for (const MemoryArgument& one : call.memory) check_reach(one.block, stream, call.where);
    if (count == 0) return 0;
    for (const MemoryArgument& one : call.memory)
        if (one.is_array && one.block == nullptr) [[unlikely]]
            throw_no_array(call.where);
    return count;
}

void submit_launch(StreamState& stream, const LaunchCall& call) try {
    const Admission admission = admit(stream, "launch", call.where);
    if (admission == Admission::dropped) [[unlikely]]
        return;
    const std::size_t count = check_launch(stream, call);
    if (count == 0) return;
    for (const MemoryArgument& one : call.memory) note_use(one.block, stream);
    if (admission != Admission::recorded || !record_work(stream, call.type, call.closure, count,
                                                         call.memory, call.how.options, call.where))
        [[likely]]
        stream.backend->launch(record_of(stream), call, count);
    if (is_observed()) [[unlikely]]
        notify_launch(stream, call);
} catch (...) {
    rethrow_as_error("launch", call.where);
}

void enqueue(StreamState& state, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where) try {
    state.backend->enqueue(record_of(state), type, self, count, where);
} catch (...) {
    rethrow_as_error("launch", where);
}

// Closures, without their types -------------------------------------------------------------------

namespace {
/// The addresses of a closure's parts.
std::vector<void*> parts_of(const WorkType& type, void* closure) {
    std::vector<void*> to(type.parts());
    type.addresses(closure, to.data());
    return to;
}
}  // namespace

const void* kernel_of(const Work& work) { return parts_of(*work.type, work.closure.get()).front(); }

void read_extents(const Work& work, std::size_t* to) {
    const std::vector<void*> parts = parts_of(*work.type, work.closure.get());
    for (std::size_t i = 0; i < work.type->dimensions; ++i)
        to[i] = *static_cast<const std::size_t*>(parts[1 + i]);
}

SharedClosure copy_closure(const WorkType& type, const void* from) {
    const std::align_val_t align{type.op->align};
    const auto give_back = [align](void* memory) { ::operator delete(memory, align); };
    std::unique_ptr<void, decltype(give_back)> memory(::operator new(type.op->size, align),
                                                      give_back);
    std::memset(memory.get(), 0, type.op->size);
    type.copy(from, memory.get());
    return {memory.release(), [op = type.op, give_back](void* closure) {
                if (op->destroy != nullptr) op->destroy(closure);
                give_back(closure);
            }};
}

SharedClosure resized_closure(const Work& work, const std::size_t* extent) {
    SharedClosure made = copy_closure(*work.type, work.closure.get());
    const std::vector<void*> parts = parts_of(*work.type, made.get());
    for (std::size_t i = 0; i < work.type->dimensions; ++i)
        *static_cast<std::size_t*>(parts[1 + i]) = extent[i];
    return made;
}

SharedClosure resized_closure(const Work& work, const LaunchGrid& grid) {
    SharedClosure made = copy_closure(*work.type, work.closure.get());
    auto& head = *static_cast<GridHead*>(parts_of(*work.type, made.get()).front());
    head = {head.kernel, grid.grid, grid.block, grid.shared_bytes};
    return made;
}

const char* name_of_kernel(const WorkType& type, const void* kernel) noexcept {
    const auto* const head = static_cast<const GridHead*>(kernel);
    switch (type.kernel) {
    case KernelKind::global: return code_backend().name_of_function(head->kernel);
    case KernelKind::in_module:
        return static_cast<const ModuleKernelData*>(head->kernel)->readable.c_str();
    default: return type.op->pretty;
    }
}

// Errors ------------------------------------------------------------------------------------------

void throw_global_on_cpu(const ErrorSite& site) {
    usage_error(
        site,
        "a __global__ function runs on CUDA devices only; a portable kernel (an object with a "
        "HEDDLE_FN operator()) would run here");
}

void throw_too_many_indices(const SourceLocation& where) {
    usage_error({"launch", where},
                "the extents given to dim() have a product beyond what can be counted");
}

void throw_negative_extent(std::size_t extent, const SourceLocation& where) {
    usage_error({"dim", where},
                "an extent given to dim() is {}: give it the number of indices, 0 or more (0 "
                "enqueues nothing)",
                static_cast<std::ptrdiff_t>(extent));
}

}  // namespace heddle::detail
