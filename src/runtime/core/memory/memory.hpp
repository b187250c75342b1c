// Operations on blocks: importing and freeing them, and waiting for their users.
#pragma once

#include "core/seam/records.hpp"
#include <heddle/memory/detail/block.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle {
struct ArrayHandle;
}

namespace heddle::detail {

struct ForeignMemory;

/// Returns the beginning of a message about an argument, for example "argument 2: ". Arguments are
/// counted from 1. Returns "" for 0.
std::string argument_text(int argument);

/// Allocates memory of a CPU device that belongs to no stream. Any stream and the host may use it
/// immediately.
Block& allocate_at_once(Device device, std::size_t bytes, Where where);
/// Maps memory of another process into a new block. The handle must have been checked.
Block& import_shared(Device device, const ArrayHandle& handle, const SourceLocation& where);

/// Throws the UsageError that adopt_memory() would throw for the address, the size or the
/// alignment.
void check_foreign(const ForeignMemory& memory, const char* call, const SourceLocation& where);
/// Returns the backend that allocates and registers pinned memory.
Backend& pinned_backend();
/// Reports adopted memory to observers, as an allocation by the host.
void notify_adopted(Block& block, const SourceLocation& where) noexcept;

/// Orders `stream` after all work that any user of the block has enqueued so far. Users include
/// closed streams, and streams of threads that have ended. The stream inherits failures of users.
/// Flushes batches that record a user. Does not make `stream` join a capture or batch.
void wait_for_users(StreamRecord& stream, const Block& block, WaitReason reason,
                    const SourceLocation& where);
/// Reports to observers that a stream of a DataOrder is ordered after all uses of the block by
/// streams outside the DataOrder. A null `stream` stands for the host. `first` is the first
/// stream of the DataOrder.
void notify_after_others(StreamRecord* stream, StreamRecord& first, const Block& block,
                         const SourceLocation& where) noexcept;
/// Reports to observers that the stream belongs to the DataOrder whose first stream is `first`.
void notify_order_of(StreamRecord& stream, StreamRecord& first,
                     const SourceLocation& where) noexcept;
/// Makes later work of the stream inherit the failure, as if the stream had waited for the failed
/// work. Has no effect if the failure is null.
void take_over(StreamRecord& stream, const Failure& failure, const SourceLocation& where);
/// Throws the failure of a user of the block, if any user has failed. Call it after
/// block_until_unused().
void throw_failure_of(const Block& block);
/// Frees a block without owners after all work of its users. Never blocks. If an open batch may
/// have recorded work on the block, that batch keeps the block and frees it later. `sent` is null,
/// or a batch that has submitted all its recorded work on the block. If memory for freeing is
/// exhausted, later calls try again.
void free_block(Block& block, const Recorder* sent) noexcept;
/// Returns whether a CPU stream has used the block. `block` may be null.
bool used_on_cpu(const Block* block);
/// Blocks the host until all work that any user of the block has enqueued so far is complete. Call
/// it before the host reads or writes the memory. `block` may be null. Flushes batches that record
/// a user. Throws UsageError if it would have to wait in a host function.
void block_until_unused(const Block* block, const SourceLocation& where);

}  // namespace heddle::detail
