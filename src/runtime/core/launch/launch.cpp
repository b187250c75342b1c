// The path of every launch: checks, users of memory, recording, backend, observers. Also copies
// closures, and throws the errors of launches.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <heddle/code/module.hpp>
#include <heddle/launch/detail/kernel_closures.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/launch/found_views.hpp"
#include "core/launch/launch.hpp"
#include "core/operation/calls.hpp"
#include "core/operation/function_mark.hpp"
#include "core/operation/host_access.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/code_backend.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {
void* kernel_of(const LaunchCall& call) noexcept {
    call.type.addresses(call.closure, call.addresses);
    return call.addresses[0];
}

bool record_work(StreamState& stream, const LaunchCall& call) {
    return detail::record_work(stream, call.type, call.closure, call.count, call.memory,
                               call.how.options, call.where);
}

[[noreturn]] void throw_not_compiled(const StreamState& stream, const LaunchCall& call) {
    usage_error({"launch", call.where, stream},
                "kernel {} was compiled without nvcc, so it runs on CPU devices only: compile this "
                "source file as CUDA (set_source_files_properties(... PROPERTIES LANGUAGE CUDA)), "
                "or use a CPU device",
                kernel_name(call.type.op->pretty));
}

/// Sets the accesses of `op` to those of the memory, and then calls the last argument.
template <class Tell>
void describe_and_tell(OpInfo& op, std::span<const MemoryArgument> memory, const Tell& tell) {
    std::size_t count = 0;
    for (const MemoryArgument& one : memory) count += one.use != nullptr ? one.use->most() : 1;
    constexpr std::size_t few = 32;
    // An array of bytes, because an array of OpAccess would be initialised completely.
    alignas(OpAccess) std::byte room[few * sizeof(OpAccess)];
    auto* accesses = reinterpret_cast<OpAccess*>(room);
    std::vector<OpAccess> many;
    if (count > few) {
        many.resize(count);
        accesses = many.data();
    }
    op.accesses = {accesses, describe_accesses(memory, {accesses, std::max(few, count)})};
    tell();
}
}  // namespace

void DeclaredUse::add(const MemoryRange& part, const MemoryRange& of, const SourceLocation& where) {
    has_parts = true;
    if (part.rows == 0 || part.bytes == 0) return;
    if (part.address() < of.address() || part.end() > of.end())
        usage_error(
            {"touching", where},
            "the view has {} bytes, but a part spans bytes {} to {}: pass parts within the view",
            of.bytes, static_cast<std::ptrdiff_t>(part.address() - of.address()),
            static_cast<std::ptrdiff_t>(part.end() - of.address()));
    if (count == most_parts)
        usage_error({"touching", where}, "more than {} parts are passed: pass the whole view",
                    most_parts);
    parts[count++] = part;
}

namespace {
/// Writes a kernel's accesses through one argument to `to`, as many as fit. `access` covers the
/// whole argument. Returns the number of accesses.
std::size_t describe_use(const DeclaredUse& use, OpAccess access, std::span<OpAccess> to) noexcept {
    if (use.is_concurrent) access.mode = AccessMode::concurrent;
    const std::size_t count = std::min(use.most(), to.size());
    for (std::size_t i = 0; i < count; ++i) {
        if (use.has_parts) static_cast<MemoryRange&>(access) = use.parts[i];
        ::new (&to[i]) OpAccess(access);
    }
    return count;
}
}  // namespace

std::size_t describe_accesses(std::span<const MemoryArgument> memory,
                              std::span<OpAccess> to) noexcept {
    std::size_t count = 0;
    for (const MemoryArgument& one : memory) {
        if (one.data == nullptr || count == to.size()) continue;
        OpAccess access{one, allocation_of(one.block), one.element,
                        one.writes ? AccessMode::read_write : AccessMode::read, one.argument};
        access.rows = std::max<std::size_t>(one.rows, 1);
        if (one.use == nullptr) [[likely]]
            ::new (&to[count++]) OpAccess(access);
        else count += describe_use(*one.use, access, to.subspan(count));
    }
    return count;
}

std::vector<OpAccess> accesses_of(std::span<const MemoryArgument> memory) {
    std::size_t most = 0;
    for (const MemoryArgument& one : memory) most += one.use != nullptr ? one.use->most() : 1;
    std::vector<OpAccess> all(most);
    all.resize(describe_accesses(memory, all));
    return all;
}

namespace {
/// The maximum number of indices of a launch. At 10^12 indices a second, faster than any device,
/// they would take 13 days.
constexpr std::size_t most_indices = std::size_t{1} << 60;

[[noreturn, gnu::cold]] void throw_absurd_product(std::span<const std::size_t> extents,
                                                  const SourceLocation& where) try {
    std::string all;
    for (const std::size_t one : extents) all += formatted("{}{}", all.empty() ? "" : " x ", one);
    usage_error({"dim", where},
                "{} indices are more than any device can run: pass to dim() the number of indices "
                "in each dimension, at most {} in total",
                all, most_indices);
} catch (...) {
    rethrow_as_error("dim", where);
}
}  // namespace

std::size_t count_of(const std::size_t* extent, std::size_t dimensions,
                     const SourceLocation& where) {
    std::size_t count = extent[0];
    bool overflow = false, none = count == 0;
    for (std::size_t i = 1; i < dimensions; ++i) {
        none |= extent[i] == 0;
        overflow |= __builtin_mul_overflow(count, extent[i], &count);
    }
    if (none) return 0;
    if (overflow || count > most_indices) [[unlikely]]
        throw_absurd_product({extent, dimensions}, where);
    return count;
}

void check_grid(StreamState& stream, const WorkType& type, const GridHead& head,
                const PassedOptions& how, const SourceLocation& where) {
    if (type.kernel == KernelKind::in_module) {
        const auto& kernel = *static_cast<const ModuleKernelData*>(head.kernel);
        if (stream.device != kernel.device) [[unlikely]]
            usage_error({"launch", where, stream},
                        "kernel {} is loaded on {}, but the stream belongs to {}: load the "
                        "kernel's module on the stream's device, too",
                        kernel.readable, kernel.device, stream.device);
    } else if (!stream.device.is_cuda()) [[unlikely]] {
        throw_global_on_cpu({"launch", where, stream});
    }
    stream.backend->check_grid(record_of(stream), type, head, how, where);
}

void check_launch(StreamState& stream, const LaunchCall& call, const char* name) {
    if (call.type.kernel == KernelKind::portable) [[likely]] {
        if (call.type.code == nullptr && !stream.device.is_cpu()) [[unlikely]]
            throw_not_compiled(stream, call);
    } else if (call.count != 0) {
        check_grid(stream, call.type, *static_cast<const GridHead*>(kernel_of(call)), call.how,
                   call.where);
    }
    const MemoryArgument* missing = nullptr;
    for (const MemoryArgument& one : call.memory) {
        check_memory(one, stream, call.where);
        if (one.is_array && one.block == nullptr && missing == nullptr) missing = &one;
    }
    if (missing != nullptr && call.count != 0) [[unlikely]]
        throw_no_array(name, call.where, missing->argument + 1);
}

namespace {
/// Returns whether all memory is on the stream's device, and belongs to arrays that exist.
[[gnu::always_inline]] inline bool is_plain_memory(const StreamState& stream,
                                                   const LaunchCall& call) noexcept {
    for (const MemoryArgument& one : call.memory) {
        const Block* const block = one.block;
        if (block == nullptr || !block->alive.load(std::memory_order_relaxed) ||
            block->device != stream.device || block->kind != MemoryKind::device ||
            !holds(*block, one.data, one.extent()))
            return false;
    }
    return true;
}

/// Returns whether check_not_lost() and check_launch() have nothing to check, except for the grid
/// of a `__global__` function.
[[gnu::always_inline]] inline bool is_plain(const StreamState& stream,
                                            const LaunchCall& call) noexcept {
    if (call.type.kernel == KernelKind::portable) {
        if (call.type.code == nullptr && !stream.device.is_cpu()) return false;
    } else {
        constexpr std::uint32_t unusual =
            stream_flag::dead | stream_flag::forked | stream_flag::poisoned;
        if (call.type.kernel != KernelKind::global || !stream.device.is_cuda() ||
            (stream.flags.load(std::memory_order_acquire) & unusual) != 0)
            return false;
    }
    return is_plain_memory(stream, call);
}

[[gnu::cold, gnu::noinline]] void check_carefully(StreamState& stream, const LaunchCall& call) {
    check_not_lost(record_of(stream), "launch", call.where);
    check_launch(stream, call, "launch");
}

// Separate from submit_launch(), whose exception handler would keep these local variables in memory
// instead of registers. That would cost 4 ns a launch.
template <Telling telling>
[[gnu::noinline]] void launch_on(StreamState& stream, const LaunchCall& call) {
    if (!is_plain(stream, call)) [[unlikely]]
        check_carefully(stream, call);
    else if (call.type.kernel == KernelKind::global && call.count != 0)
        stream.backend->check_grid(record_of(stream), call.type,
                                   *static_cast<const GridHead*>(kernel_of(call)), call.how,
                                   call.where);
    if (call.count == 0) [[unlikely]] {
        (void)admit(stream, "launch", no_uses, call.where);
        return;
    }
    const Operation launch{OpKind::launch, "launch",
                           [&] { return name_of_kernel(call.type, kernel_of(call)); }, call.where,
                           call.memory.size()};
    const auto record = [&] { return record_work(stream, call); };
    const auto enqueue = [&] {
        if constexpr (telling == Telling::asked)
            if (const std::uint64_t id = timed_id(); id != 0)
                return stream.backend->launch_timed(record_of(stream), call, id);
        stream.backend->launch(record_of(stream), call);
    };
    submit<telling>(stream, launch, call.memory, record, enqueue, [&](OpInfo& op, auto&& tell) {
        const Undeclared held = undeclared_in(call.type, call.closure);
        op.may_signal = may_signal(call.type, held, stream.device);
        op.holds_pointers = held.pointers != 0;
        op.pointers = held.kept_pointers();
        describe_and_tell(op, call.memory, tell);
    });
}

[[gnu::cold, gnu::noinline]] void launch_and_tell(StreamState& stream, const LaunchCall& call) {
    const CallMark mark("launch", call.where);
    launch_on<Telling::asked>(stream, call);
}
}  // namespace

void submit_launch(StreamState& stream, const LaunchCall& call) try {
    if (is_noted()) [[unlikely]]
        return launch_and_tell(stream, call);
    launch_on<Telling::nobody>(stream, call);
} catch (...) {
    rethrow_as_error("launch", call.where);
}

namespace {
void submit_function(StreamState& stream, const WorkType& type, void* self,
                     std::span<const MemoryArgument> memory, const SourceLocation& where) {
    for (const MemoryArgument& one : memory) check_alive(one, type.op->call, where);
    const Operation function{OpKind::host_function, type.op->call, type.op->pretty, where};
    std::optional<FunctionMark> mark;
    const auto record = [&] {
        mark.emplace();
        return record_work(stream, type, self, 1, memory, {}, where);
    };
    const auto enqueue = [&] {
        if (!mark) mark.emplace();
        stream.backend->enqueue(record_of(stream), *type.op, self, 1, where);
    };
    const auto describe = [&](OpInfo& op, auto&& tell) {
        op.may_signal = type.may_signal(stream.device);
        describe_and_tell(op, memory, tell);
    };
    if (submit(stream, function, memory, record, enqueue, describe) != Submitted::dropped ||
        type.op->complete == nullptr) [[likely]]
        return;
    // An on_completion() function is always called, after work that a batch has recorded.
    if (record_of(stream).has(stream_flag::recording)) send_batch_of(record_of(stream), where);
    enqueue();
    if (is_noted()) tell(stream, function, false, describe);
}

// Separate from its caller, because HostMemory has a destructor and is large.
[[gnu::noinline]] void search_and_submit(StreamState& stream, const WorkType& type, void* self,
                                         std::span<const MemoryArgument> declared,
                                         const SourceLocation& where) {
    const HostMemory used(type, self, declared);
    submit_function(stream, type, self, used.all(), where);
}
}  // namespace

void submit_host_function(StreamState& stream, const WorkType& type, void* self,
                          std::span<const MemoryArgument> declared, const SourceLocation& where) {
    if (type.opaque_parts != 0) return search_and_submit(stream, type, self, declared, where);
    submit_function(stream, type, self, declared, where);
}

void notify_host_access(const MemoryArgument& memory, const SourceLocation& where) noexcept {
    OpAccess access;
    const std::size_t count = describe_accesses({&memory, 1}, {&access, 1});
    tell_host_access("on_host", WaitReason::user, {&access, count}, memory.bytes, where);
}

void enqueue(StreamState& state, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where) try {
    state.backend->enqueue(record_of(state), type, self, count, where);
} catch (...) {
    rethrow_as_error("launch", where);
}

// Closures, without their types -------------------------------------------------------------------

namespace {
/// The addresses of a closure's parts. Takes no memory for up to 16 parts.
class Parts {
public:
    Parts(const WorkType& type, void* closure) : many_(type.parts() > few ? type.parts() : 0) {
        type.addresses(closure, many_.empty() ? few_ : many_.data());
    }
    void* operator[](std::size_t i) const noexcept { return many_.empty() ? few_[i] : many_[i]; }

private:
    static constexpr std::size_t few = 16;
    std::vector<void*> many_;
    void* few_[few];
};
}  // namespace

const void* kernel_of(const Work& work) { return Parts(*work.type, work.closure.get())[0]; }

void read_extents(const Work& work, std::size_t* to) {
    const Parts parts(*work.type, work.closure.get());
    for (std::size_t i = 0; i < work.type->dimensions; ++i)
        to[i] = *static_cast<const std::size_t*>(parts[1 + i]);
}

namespace {
/// Makes a closure: write(to) writes it to zeroed memory.
template <class Write> SharedClosure make_closure(const WorkType& type, const Write& write) {
    struct alignas(std::max_align_t) Unit {
        std::byte bytes[alignof(std::max_align_t)];
    };
    if (type.op->destroy == nullptr && type.op->align <= alignof(Unit)) {
        // Makes a single, zeroed allocation.
        auto made = std::make_shared<Unit[]>((type.op->size + sizeof(Unit) - 1) / sizeof(Unit));
        write(made.get());
        return made;
    }
    const std::align_val_t align{type.op->align};
    const auto give_back = [align](void* memory) { ::operator delete(memory, align); };
    std::unique_ptr<void, decltype(give_back)> memory(::operator new(type.op->size, align),
                                                      give_back);
    std::memset(memory.get(), 0, type.op->size);
    write(memory.get());
    return {memory.release(), [op = type.op, give_back](void* closure) {
                if (op->destroy != nullptr) op->destroy(closure);
                give_back(closure);
            }};
}
}  // namespace

SharedClosure copy_closure(const WorkType& type, const void* from) {
    return make_closure(type, [&](void* to) { type.copy(from, to); });
}

SharedClosure moved_closure(const WorkType& type, void* from) {
    return make_closure(type, [&](void* to) {
        if (type.op->move != nullptr) type.op->move(from, to);
        else std::memcpy(to, from, type.op->size);
    });
}

SharedClosure resized_closure(const Work& work, const std::size_t* extent) {
    SharedClosure made = copy_closure(*work.type, work.closure.get());
    const Parts parts(*work.type, made.get());
    for (std::size_t i = 0; i < work.type->dimensions; ++i)
        *static_cast<std::size_t*>(parts[1 + i]) = extent[i];
    return made;
}

SharedClosure resized_closure(const Work& work, const LaunchGrid& grid) {
    SharedClosure made = copy_closure(*work.type, work.closure.get());
    auto& head = *static_cast<GridHead*>(Parts(*work.type, made.get())[0]);
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
    usage_error(site, "a __global__ function runs on CUDA devices only: use a portable kernel (an "
                      "object with a HEDDLE_FN operator()), which runs on all devices");
}

void throw_too_many_indices(const SourceLocation& where) {
    usage_error({"launch", where},
                "the product of the extents passed to dim() overflows: pass smaller extents");
}

void throw_negative_extent(std::size_t extent, const SourceLocation& where) {
    usage_error({"dim", where},
                "an extent passed to dim() is {}: pass 0 or more (0 enqueues nothing)",
                static_cast<std::ptrdiff_t>(extent));
}

}  // namespace heddle::detail
