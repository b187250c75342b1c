// Fills: which way each goes.
#include <cstring>
#include <memory>
#include <vector>

#include "cuda/backend.hpp"
#include "cuda/fill_kernels.hpp"
#include "cuda/host_function.hpp"
#include "cuda/staging.hpp"

namespace heddle::detail::cu {

namespace {

bool is_one_byte(const void* value, std::size_t size) noexcept {
    const auto* bytes = static_cast<const unsigned char*>(value);
    return size == 1 || std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

void fill_on_host(const Rectangle& to, const std::vector<std::byte>& pattern) noexcept {
    for (std::size_t row = 0; row < to.rows; ++row) {
        std::byte* line = static_cast<std::byte*>(to.data) + row * to.pitch;
        std::memcpy(line, pattern.data(), pattern.size());
        for (std::size_t filled = pattern.size();
             filled < to.bytes;) {  // what is filled so far is the next pattern
            const std::size_t more = filled < to.bytes - filled ? filled : to.bytes - filled;
            std::memcpy(line + filled, line, more);
            filled += more;
        }
    }
}

}  // namespace

void CudaBackend::fill(StreamRecord& stream, const Piece& piece, const void* value, std::size_t size,
                       const SourceLocation& where) {
    Rectangle to{piece.data, piece.bytes, piece.rows, piece.pitch};
    if (to.rows > 1 && to.pitch == to.bytes)
        to = {piece.data, piece.bytes * piece.rows, 1, piece.bytes * piece.rows};
    if (to.bytes == 0 || to.rows == 0) return;
    Gpu& g = gpu_of(stream);
    const bool reachable = piece.place.device.is_cuda() || piece.place.kind == MemoryKind::pinned;
    if (!reachable) {
        if (capture_of(stream) != 0)
            throw_usage("the stream is capturing, and a graph can fill only device and pinned memory: use "
                        "heddle::pinned()",
                        "fill", &stream, where);
        const auto* bytes = static_cast<const std::byte*>(value);
        run_on_host(
            g, stream,
            [to, pattern = std::vector<std::byte>(bytes, bytes + size)] { fill_on_host(to, pattern); },
            where);
        return count_submission(stream);
    }
    OnStream on(g, stream.native);
    cudaStream_t native = native_of(stream);
    if (is_one_byte(value, size)) {
        const int byte = *static_cast<const unsigned char*>(value);
        if (to.rows == 1)
            check(cudaMemsetAsync(to.data, byte, to.bytes, native), "cudaMemsetAsync", stream, where);
        else
            check(cudaMemset2DAsync(to.data, to.pitch, byte, to.bytes, to.rows, native), "cudaMemset2DAsync",
                  stream, where);
        return count_submission(stream);
    }
    if (size <= max_pattern) {
        check(launch_fill(to, value, size, g.limits.processors, native), "cudaLaunchKernel (fill)", stream,
              where);
        return count_submission(stream);
    }
    // Too large to travel with a launch: the first element is copied there, and the kernel repeats it.
    if (capture_of(stream) != 0)
        throw_usage("the stream is capturing, and elements of more than 64 bytes cannot be filled in a graph",
                    "fill", &stream, where);
    CountOnExit counted(stream);
    const Place host;
    const Piece element{const_cast<void*>(value), size, 1, size, host};
    stage_to_device(g, stream, {to.data, size, 1, size, piece.place}, element, where);
    check(launch_repeat(to, size, g.limits.processors, native), "cudaLaunchKernel (fill)", stream, where);
}

}  // namespace heddle::detail::cu
