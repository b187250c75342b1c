#include "collective/reduce_typed.hpp"

namespace heddle::detail {

void launch_reduce_of_floats(ElementType type, ReduceOp op, const ReduceOrder& order) {
    switch (type) {
    case ElementType::f16: return launch_typed<Float16>(order, op);
    case ElementType::bf16: return launch_typed<BFloat16>(order, op);
    case ElementType::f32: return launch_typed<float>(order, op);
    case ElementType::f64: return launch_typed<double>(order, op);
    default: return;
    }
}

}  // namespace heddle::detail
