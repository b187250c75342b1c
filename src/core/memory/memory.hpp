// Operations on blocks: importing, waiting for their users, freeing.
#pragma once

#include "core/seam/records.hpp"
#include <heddle/detail/block.hpp>
#include <heddle/observe/observer.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle {
struct ArrayHandle;
}

namespace heddle::detail {

/// Returns "argument 2: ", to begin a message with. Returns "" for 0. Users count arguments from 1.
std::string argument_text(int argument);

/// Allocates memory of a CPU device that belongs to no stream: any stream, and the host, may use it
/// immediately.
Block& allocate_at_once(Device device, std::size_t bytes, Where where);
/// Maps another process's memory into a new block. The caller has checked the handle.
Block& import_shared(Device device, const ArrayHandle& handle, const SourceLocation& where);

/// Orders `stream` after all work enqueued so far on every user of the block, including closed
/// streams and streams of threads that ended. The stream inherits the failures of users. Flushes
/// batches that record a user. `stream` joins no capture or batch.
void wait_for_users(StreamRecord& stream, const Block& block, WaitReason reason,
                    const SourceLocation& where);
/// Reports to observers that a stream of an order_by_data is ordered after all uses of the block by
/// streams outside the order_by_data. A null stream means the host. `first` is the order_by_data's
/// first stream.
void notify_after_others(StreamRecord* stream, StreamRecord& first, const Block& block,
                         const SourceLocation& where) noexcept;
/// Reports to observers that a stream belongs to the order_by_data that has this first stream.
void notify_order_of(StreamRecord& stream, StreamRecord& first,
                     const SourceLocation& where) noexcept;
/// Makes later work on the stream inherit the failure, as a wait for failed work does. Has no
/// effect if the failure is null.
void take_over(StreamRecord& stream, const Failure& failure, const SourceLocation& where);
/// Throws the failure of a user of the block, if there is one. Call it after settle().
void throw_failure_of(const Block& block);
/// Frees a block without owners after all work on its users. Never blocks. An open batch that may
/// have recorded work on the block keeps it instead and frees it later. `sent` is a batch that has
/// flushed all its recorded work on the block, or null. If freeing needs memory and there is none,
/// later calls try again.
void free_block(Block& block, const Recorder* sent) noexcept;
/// Returns whether a CPU stream is a user of the block. `block` may be null.
bool used_on_cpu(const Block* block);
/// Blocks the host until all work enqueued so far on every user of the block has completed. Call it
/// before the host reads or writes the memory. `block` may be null. Flushes batches that record a
/// user. In a host function, throws UsageError if it would have to wait.
void settle(const Block* block, const SourceLocation& where);

}  // namespace heddle::detail
