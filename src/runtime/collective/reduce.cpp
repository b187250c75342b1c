#include "collective/reduce.hpp"

namespace heddle::detail {

void launch_reduce(StreamRef stream, ElementType type, ReduceOp op, const Part& to,
                   const Part* sources, std::size_t count, std::size_t ranks,
                   const SourceLocation& where) {
    const ReduceOrder order{stream, to, sources, count, ranks, where};
    switch (type) {
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::f32:
    case ElementType::f64: return launch_reduce_of_floats(type, op, order);
    default: return launch_reduce_of_integers(type, op, order);
    }
}

}  // namespace heddle::detail
