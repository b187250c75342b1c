// Reduces the elements of several ranks on one device.
#pragma once

#include <heddle/collective/detail/collective_call.hpp>
#include <heddle/collective/reduce_op.hpp>

namespace heddle::detail {

/// The most ranks that one launch combines.
inline constexpr std::size_t reduce_width = 8;

/// Combines `count` sources of to.size elements, in order, on `stream`. The stream's device must be
/// able to access `to` and all sources. `to` may be one of the sources. For `average`, divides the
/// result by `ranks`.
void launch_reduce(StreamRef stream, ElementType type, ReduceOp op, const Part& to,
                   const Part* sources, std::size_t count, std::size_t ranks,
                   const SourceLocation& where);

/// The arguments of launch_reduce().
struct ReduceOrder {
    StreamRef stream;
    const Part& to;
    const Part* sources;
    std::size_t count;
    std::size_t ranks;
    const SourceLocation& where;
};
void launch_reduce_of_floats(ElementType type, ReduceOp op, const ReduceOrder& order);
void launch_reduce_of_integers(ElementType type, ReduceOp op, const ReduceOrder& order);

}  // namespace heddle::detail
