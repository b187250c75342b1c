// Chooses the method of each fill on a CUDA stream. Fills in graphs are in cuda/graph.
#include <cstring>
#include <vector>

#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/memory/memory_kernels.hpp"
#include "cuda/memory/staging.hpp"
#include "cuda/timing/timing.hpp"

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

std::size_t word_of(const MemoryRange& to, const void* value, std::size_t size) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(value);
    for (const std::size_t word : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        if (size % word != 0 || std::memcmp(bytes, bytes + word, size - word) != 0) continue;
        const bool aligned = (to.address() | to.pitch) % word == 0;
        return aligned ? word : 0;
    }
    return 0;
}

namespace {

template <class Word> Word read(const void* value) noexcept {
    Word word;
    std::memcpy(&word, value, sizeof word);
    return word;
}

CUresult set_memory(const MemoryRange& to, const void* value, std::size_t word,
                    cudaStream_t stream) noexcept {
    const auto data = reinterpret_cast<CUdeviceptr>(to.data);
    const auto set = [&](auto line, auto lines, auto with) {
        return to.rows == 1 ? line(data, with, to.bytes / word, stream)
                            : lines(data, to.pitch, with, to.bytes / word, to.rows, stream);
    };
    if (word == 1)
        return set(api.cuMemsetD8Async, api.cuMemsetD2D8Async, read<unsigned char>(value));
    if (word == 2)
        return set(api.cuMemsetD16Async, api.cuMemsetD2D16Async, read<unsigned short>(value));
    return set(api.cuMemsetD32Async, api.cuMemsetD2D32Async, read<unsigned>(value));
}

template <class Kernel> cudaError_t launch_fill(Kernel& kernel, cudaStream_t stream) noexcept {
    return api.cudaLaunchKernel(kernel.function, kernel.grid, kernel.block, kernel.arguments, 0,
                                stream);
}

}  // namespace

void fill_on_host(const MemoryRange& to, const std::vector<std::byte>& pattern) noexcept {
    for (std::size_t row = 0; row < to.rows; ++row) {
        std::byte* line = writable(to) + row * to.pitch;
        std::memcpy(line, pattern.data(), pattern.size());
        // Each step repeats the part that is already filled.
        for (std::size_t filled = pattern.size(); filled < to.bytes;) {
            const std::size_t more = filled < to.bytes - filled ? filled : to.bytes - filled;
            std::memcpy(line + filled, line, more);
            filled += more;
        }
    }
}

namespace {
/// Fills with an element that is too large for a kernel argument: copies the first element, then
/// repeats it by a kernel.
void fill_by_repeating(Gpu& g, StreamRecord& stream, Submission& submission, const MemoryRange& to,
                       const Operand& element, const MemorySpace& space,
                       const SourceLocation& where) {
    if (capture_of(stream) != 0)
        usage_error({"fill", where, stream}, "the stream is capturing, and graphs cannot fill "
                                             "elements of more than 64 bytes: use a kernel");
    submission.count_on_exit();
    const std::size_t size = element.bytes;
    stage_to_device(g, stream, {{to.data, size, 1, size}, space}, element, where);
    RepeatKernel kernel;
    make_repeat(kernel, to, size, g.limits.processors);
    check(launch_fill(kernel, native_of(stream)), "cudaLaunchKernel (fill)", stream, where);
}
}  // namespace

void CudaBackend::fill(StreamRecord& stream, const Operand& operand, const void* value,
                       std::size_t size, const SourceLocation& where) {
    MemoryRange to = operand;
    if (!to.is_strided()) to = {operand.data, operand.total(), 1, operand.total()};
    if (to.bytes == 0 || to.rows == 0) return;
    Gpu& g = gpu_of(stream);
    const bool reachable =
        operand.space.device.is_cuda() || operand.space.kind == MemoryKind::pinned;
    const TimedOp timed(stream, reachable ? RunBy::device : RunBy::host_too);
    Submission submission(stream, where);
    if (!reachable) {
        if (capture_of(stream) != 0) throw_capture_of_host_memory(stream, "fill", where);
        const auto* bytes = static_cast<const std::byte*>(value);
        run_on_host(
            g, stream,
            [to, pattern = std::vector<std::byte>(bytes, bytes + size)] {
                fill_on_host(to, pattern);
            },
            where);
        return submission.count();
    }
    InContext in(g);
    cudaStream_t native = native_of(stream);
    if (const std::size_t word = word_of(to, value, size)) {
        check(set_memory(to, value, word, native), "cuMemsetAsync", stream, where);
        return submission.count();
    }
    if (size <= max_pattern) {
        FillKernel kernel;
        make_fill(kernel, to, value, size, g.limits.processors);
        check(launch_fill(kernel, native), "cudaLaunchKernel (fill)", stream, where);
        return submission.count();
    }
    fill_by_repeating(g, stream, submission, to, {{value, size, 1, size}}, operand.space, where);
}

}  // namespace heddle::detail::cu
