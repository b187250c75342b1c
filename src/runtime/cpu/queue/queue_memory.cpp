#include "cpu/queue/queue_memory.hpp"

#include "core/base/fork.hpp"

namespace heddle::detail::cpu {

namespace {
constinit ChunkPool chunk_pool;
const ForkRegistration chunks_registered{ForkOrder::chunks, chunk_pool.lock()};
}  // namespace

ChunkPool& chunks() noexcept { return chunk_pool; }

}  // namespace heddle::detail::cpu
