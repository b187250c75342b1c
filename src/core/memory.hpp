// What copies ask about blocks.
#pragma once

#include "core/records.hpp"
#include <heddle/detail/block.hpp>
#include <heddle/stream.hpp>

namespace heddle {
struct ArrayHandle;
}

namespace heddle::detail {

/// Opens another process's memory; the handle has been checked.
Block& import_shared(Device device, const ArrayHandle& handle, const SourceLocation& where);

/// Orders `stream` after every stream that used the block.
void wait_for_users(StreamRef stream, const Block* block, const SourceLocation& where);
/// The same, and after streams that were closed and have not come to their end.
void wait_for_all_users(StreamRecord& stream, const Block& block, const SourceLocation& where);
/// Whether a CPU stream was given work on the block.
bool used_on_cpu(const Block* block);
/// Waits on the host for every stream that used the block: before the host itself reads or writes it.
void settle(const Block* block, const SourceLocation& where);

}  // namespace heddle::detail
