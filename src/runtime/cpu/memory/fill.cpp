// Fills on CPU devices.
#include <algorithm>
#include <cstring>
#include <memory>

#include "cpu/device/backend.hpp"
#include "cpu/launch/launch.hpp"
#include "cpu/memory/memory.hpp"

namespace heddle::detail::cpu {

namespace {

/// Fills an operand with copies of a value. Values of up to 64 bytes are stored inline, larger ones
/// in a buffer.
struct FillOp {
    static constexpr std::size_t part = 256 << 10;
    static constexpr std::size_t inline_size = 64;
    Operand to;
    std::size_t size;
    std::byte value[inline_size];
    std::unique_ptr<std::byte[]> large;

    FillOp(const Operand& operand, const void* pattern, std::size_t bytes_of_pattern)
        : to(operand), size(bytes_of_pattern) {
        if (size > inline_size) large = std::make_unique_for_overwrite<std::byte[]>(size);
        std::memcpy(large != nullptr ? large.get() : value, pattern, size);
    }

    const std::byte* bytes() const noexcept { return large != nullptr ? large.get() : value; }
    std::size_t per_part() const noexcept { return std::max<std::size_t>(1, part / size) * size; }
    std::size_t parts() const noexcept {
        return to.rows > 1 ? to.rows : (to.bytes + per_part() - 1) / per_part();
    }

    static void repeat(std::byte* to, std::size_t count, const std::byte* value, std::size_t size) {
        bool same = true;
        for (std::size_t i = 1; i < size; ++i) same &= value[i] == value[0];
        if (same) {
            std::memset(to, std::to_integer<int>(value[0]), count);
            return;
        }
        // Doubles the filled part up to 16 KiB, then copies that block, which stays in the L1
        // cache.
        std::size_t done = std::min(size, count);
        std::memcpy(to, value, done);
        const std::size_t block = std::max<std::size_t>(1, 16384 / size) * size;
        while (done < count) {
            const std::size_t more = std::min({count - done, done, block});
            std::memcpy(to + done, to, more);
            done += more;
        }
    }
    static void run(void* self, std::size_t begin, std::size_t end) {
        const auto& op = *static_cast<const FillOp*>(self);
        auto* const to = writable(op.to);
        if (op.to.rows > 1) {
            for (std::size_t row = begin; row < end; ++row)
                repeat(to + row * op.to.pitch, op.to.bytes, op.bytes(), op.size);
        } else {
            const std::size_t first = begin * op.per_part();
            repeat(to + first, std::min(end * op.per_part(), op.to.bytes) - first, op.bytes(),
                   op.size);
        }
    }
    static const OpType type;
};
const OpType FillOp::type = op_type<FillOp>(&FillOp::run, false, "fill", "fill");

}  // namespace

SharedClosure fill_closure(const Operand& to, const void* value, std::size_t size,
                           const OpType*& type, std::size_t& count) {
    auto op = std::make_shared<FillOp>(to, value, size);
    type = &FillOp::type;
    count = op->parts();
    return op;
}

void CpuBackend::fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
                      const SourceLocation& where) {
    FillOp op(to, value, size);
    const std::size_t parts = op.parts();
    push_work(stream, FillOp::type, &op, parts, where);
}

}  // namespace heddle::detail::cpu
