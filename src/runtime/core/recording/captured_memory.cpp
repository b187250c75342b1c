// The memory of a capture's arrays: its ownership, and its reuse within the graph.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/errors.hpp"
#include "core/graph/node.hpp"
#include "core/memory/memory.hpp"
#include "core/memory/users.hpp"
#include "core/recording/capture_recorder.hpp"

namespace heddle::detail {

/// Returns whether the stream's next operation is ordered after all uses of a freed block. `before`
/// has the operations that precede it.
bool CaptureRecorder::is_after(StreamRecord& stream, const Freed& freed,
                               const std::vector<bool>& before) const {
    const auto precede = [&](const std::vector<std::uint32_t>& ops) {
        return std::ranges::all_of(ops, [&](std::uint32_t one) { return before[one]; });
    };
    // A stream that waits for another one collects that stream's native work first. So no other
    // stream is ordered after work that was not collected.
    return precede(freed.after) && std::ranges::all_of(freed.not_collected, [&](const auto& work) {
               const Participant& one = participants[work.participant];
               return one.stream == &stream ||
                      (one.collections != work.collections && precede(one.at.last_ops));
           });
}

Block* CaptureRecorder::take_freed(StreamRecord& stream, std::size_t bytes) {
    if (freed_.empty()) return nullptr;
    const std::vector<bool> before = reached_from(*tape, participant(stream).at.last_ops);
    for (auto freed = freed_.begin(); freed != freed_.end(); ++freed) {
        if (freed->block->device != stream.device || freed->block->bytes < bytes ||
            freed->block->bytes / 2 > bytes)
            continue;
        // Reuses memory only if the next operation is already ordered after all its uses, because
        // more memory costs less than an additional dependency.
        if (!is_after(stream, *freed, before)) continue;
        Block* const block = freed->block;
        freed_.erase(freed);
        block->owners.fetch_add(1, std::memory_order_relaxed);
        // The next kernel must not overlap earlier ones, which may still use the block.
        participant(stream).own = -1;
        find_owned(*block)->participant = stream.participant;
        return block;
    }
    return nullptr;
}

void CaptureRecorder::own(StreamRecord& stream, Block& block, const SourceLocation& where) {
    accept(stream, Wants::nothing, allocating_call, where);
    const auto node = std::make_shared<NodeData>();
    node->owned.reserve(1);
    owned_.reserve(owned_.size() + 1);
    add(stream, NodeKind::allocate, where, [&](std::uint32_t) {
        use(stream, block, true);
        tape->set_node(node);
    });
    // Only now, because an owner must not end while the recorder is locked: it offers the block.
    block.owners.fetch_add(1, std::memory_order_relaxed);
    node->owned.emplace_back(block);
    owned_.push_back({&block, stream.participant});
}

std::vector<CaptureRecorder::Owned>::iterator CaptureRecorder::find_owned(
    const Block& block) noexcept {
    return std::ranges::find(owned_, &block, &Owned::block);
}

bool CaptureRecorder::owns(const Block& block) noexcept {
    return find_owned(block) != owned_.end();
}

bool CaptureRecorder::holds(const Block& block) noexcept {
    if (owns(block)) return true;
    const Participant& first = participants[0];
    if (first.outer == nullptr || !first.outer->is_capture()) return false;
    const std::lock_guard around(first.outer->lock);
    return first.outer->id == first.outer_id &&
           static_cast<CaptureRecorder&>(*first.outer).holds(block);
}

/// Adds the native work of the stream that the freed array was made on, because such work may use
/// memory that it does not declare: an algorithm's temporary arrays, for example. For other
/// streams, adds native work that a loan or used_on() declared, and that was not yet collected.
void CaptureRecorder::add_native_uses(Freed& freed, std::size_t participant) const {
    for (std::size_t i = 0; i < participants.size(); ++i) {
        const Participant& one = participants[i];
        const bool is_own = i == participant;
        const bool is_lent = one.held != nullptr || one.lent != nullptr;
        if (is_own && one.has_native_work) merge(freed.after, one.at.last_ops);
        const auto lends = [&](const LentMemory& lent) { return lent.memory.block == freed.block; };
        const auto declares = [&](const Declared& use) {
            return use.block == freed.block && use.participant == i;
        };
        if (is_lent && (is_own || std::ranges::any_of(one.lent_memory, lends) ||
                        std::ranges::any_of(declared_, declares)))
            freed.not_collected.push_back({i, one.collections});
    }
}

void CaptureRecorder::offer(Block& block) {
    if (bodies != 0) return;  // uses within the body are not on this tape yet
    Freed freed{&block, tape->users_of(block), {}};
    add_native_uses(freed, find_owned(block)->participant);
    for (const Declared& one : declared_) {
        if (one.block != &block) continue;
        if (one.participant == everywhere) return;
        merge(freed.after, participants[one.participant].at.last_ops);
    }
    freed_.push_back(std::move(freed));
}

void CaptureRecorder::declare_use(StreamRecord& stream, Block& block) {
    declared_.push_back({&block, block.serial.load(std::memory_order_relaxed), stream.participant});
}

/// Passes blocks that were declared in a condition's body to the outer capture. No node shows these
/// uses, so the outer capture could not detect them and must not reuse the blocks.
void CaptureRecorder::tell_capture_around() {
    Recorder* const outer = participants[0].outer;
    if (declared_.empty() || outer == nullptr || !outer->is_capture()) return;
    const std::lock_guard around(outer->lock);
    if (outer->id != participants[0].outer_id) return;
    auto& theirs = static_cast<CaptureRecorder&>(*outer).declared_;
    for (const Declared& one : declared_) theirs.push_back({one.block, one.serial, everywhere});
}

Block* take_freed(StreamRecord& stream, std::size_t bytes) {
    const Recorded r(stream);
    return r && r->is_capture() ? static_cast<CaptureRecorder&>(*r).take_freed(stream, bytes)
                                : nullptr;
}

void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where) {
    const Recorded r(stream);
    if (r && r->is_capture()) static_cast<CaptureRecorder&>(*r).own(stream, block, where);
}

namespace {
/// Calls function(capture) for the innermost open captures of the block's users, until it returns
/// true. Returns whether it did.
template <class F> bool any_capture(const Block& block, F&& function) {
    const Users users(block);
    return std::ranges::any_of(users.all(), [&](const StreamUse& use) {
        if (!is_captured(*use.stream)) return false;
        const Recorded r(*use.stream);
        return r && r->is_capture() && function(static_cast<CaptureRecorder&>(*r));
    });
}
}  // namespace

bool is_of_capture(const Block& block) {
    return any_capture(block, [&](CaptureRecorder& capture) { return capture.holds(block); });
}

void offer_to_capture(Block& block) noexcept {
    try {
        any_capture(block, [&](CaptureRecorder& capture) {
            const bool owns = capture.owns(block);
            if (owns) capture.offer(block);
            return owns;
        });
    } catch (...) {
        // If memory is exhausted, the block is not reused within the graph, but still belongs to
        // the graph.
    }
}

}  // namespace heddle::detail
