#include "collective/reduce_typed.hpp"

namespace heddle::detail {

void launch_reduce_of_integers(ElementType type, ReduceOp op, const ReduceOrder& order) {
    switch (type) {
    case ElementType::i8: return launch_typed<std::int8_t>(order, op);
    case ElementType::u8: return launch_typed<std::uint8_t>(order, op);
    case ElementType::i32: return launch_typed<std::int32_t>(order, op);
    case ElementType::u32: return launch_typed<std::uint32_t>(order, op);
    case ElementType::i64: return launch_typed<std::int64_t>(order, op);
    case ElementType::u64: return launch_typed<std::uint64_t>(order, op);
    default: return;
    }
}

}  // namespace heddle::detail
