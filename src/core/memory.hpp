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

/// Orders `stream` after all that every user of the block was really given: streams that are open, closed, or of threads that
/// ended. Batches that recorded some of it are sent first. Joins nothing that is being recorded.
void wait_for_users(StreamRecord& stream, const Block& block, const SourceLocation& where);
/// Frees a block that nobody owns any more, after all its users. `sent`: a batch that has sent all it recorded on the block.
void free_block(Block& block, const Recorder* sent) noexcept;
/// Whether a CPU stream was given work on the block.
bool used_on_cpu(const Block* block);
/// Waits on the host for every stream that used the block: before the host itself reads or writes it.
void settle(const Block* block, const SourceLocation& where);

}  // namespace heddle::detail
