// Kernels and other work of CPU streams.
#pragma once

#include "core/seam/records.hpp"
#include <heddle/error.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail::cpu {

/// Enqueues work on the stream. If the stream has joined a batch since the caller's check, flushes
/// that batch first.
void push_work(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
               const SourceLocation& where);

}  // namespace heddle::detail::cpu
