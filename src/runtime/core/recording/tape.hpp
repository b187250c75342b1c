// The tape: recorded operations in order, with their dependencies. It reuses its memory, so
// recording is cheap. Equal recordings have equal bytes. Nodes of graphs are made from a tape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/seam/backend.hpp"
#include <heddle/graph/graph.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/detail/memory_argument.hpp>

namespace heddle::detail {

/// One operation. It has no padding, because operations are compared as bytes. Its payload
/// (closure, operands or value) is in one of the tape's chunks.
struct TapeOp {
    const WorkType* type;   ///< for kernels and host functions
    EventState* event;      ///< for event nodes
    std::uint64_t count;    ///< for a kernel: number of indices
    std::uint32_t chunk;    ///< the chunk that contains the payload
    std::uint32_t payload;  ///< the payload's offset in that chunk
    std::uint32_t payload_size;
    std::uint32_t dependencies : 24;  ///< number of dependencies, consecutive in all_dependencies()
    /// The dependency that is a kernel and may be overlapped, counted from 1. 0 if there is none.
    std::uint32_t early : 8;
    std::uint16_t blocks;   ///< number of blocks, consecutive in all_blocks()
    std::uint16_t options;  ///< index of the launch options, counted from 1; 0 without options
    std::uint8_t is_node;   ///< whether `count` is an index into the tape's nodes
    std::uint8_t device;
    DeviceKind device_kind;
    NodeKind kind;
};
static_assert(sizeof(TapeOp) == 48);

/// The payload of copies and fills. For a fill, the value follows it.
struct Operands {
    Operand to;
    Operand from;  ///< for a copy
};

class Tape {
public:
    Tape() = default;
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;
    ~Tape() { clear(); }

    void clear() noexcept;
    std::size_t capacity() const noexcept;  ///< the size of the memory for payloads, in bytes
    bool is_empty() const noexcept { return ops_.empty(); }
    std::size_t size() const noexcept { return ops_.size(); }

    /// Appends an operation that depends on the operations `after`. Returns its index.
    std::uint32_t add(NodeKind kind, Device device, std::span<const std::uint32_t> after,
                      const SourceLocation& where);
    /// These functions complete the newest operation. They may be called in any order.
    void set_work(const WorkType& type, void* closure, std::size_t count,
                  const LaunchOptions& options);
    void set_copy(const Operand& to, const Operand& from);
    void set_fill(const Operand& to, const void* value, std::size_t size);
    /// For kinds of nodes that only captures record.
    void set_node(std::shared_ptr<NodeData> node);
    /// Stores the number of the newest operation's participant. Comparisons of tapes ignore it.
    void set_participant(std::uint32_t number) { participants_.resize(ops_.size(), number); }
    void add_block(Block& block) {
        blocks_.push_back(&block);
        serials_.push_back(block.serial.load(std::memory_order_relaxed));
        ++ops_.back().blocks;
    }
    /// Stores the newest operation's uses of memory, for observers. Comparisons ignore them.
    void set_accesses(std::span<const MemoryArgument> memory);
    /// Moves an operation's uses, stored by set_accesses(), to `to`. Returns false if it has none.
    bool take_accesses(std::size_t index, std::vector<OpAccess>& to);

    /// Identifies a former end of the tape. go_back() removes the operations added since then.
    /// Earlier operations must not have been changed since then.
    struct Position {
        std::size_t ops, dependencies, blocks, nodes, events, options, chunk;
        std::uint32_t used;
        std::uint64_t shape;
        bool comparable;
    };
    Position position() const noexcept;
    void go_back(const Position& before) noexcept;

    /// Returns the operations that use the block.
    std::vector<std::uint32_t> users_of(const Block& block) const;

    /// Lets the newest operation start before `primary` has finished. Has no effect unless
    /// `primary` is a kernel on the same device, and the newest operation depends on it.
    void set_primary(std::uint32_t primary) noexcept;
    /// Makes the tape an owner of the event. So no other event can have the same address.
    void set_event(std::uint32_t op, EventState* event) {
        events_.emplace_back(event);
        ops_[op].event = event;
    }
    /// Makes an operation empty. It keeps its dependencies, and other operations may depend on it.
    void make_empty(std::uint32_t op) noexcept;

    const TapeOp& op(std::size_t index) const noexcept { return ops_[index]; }
    const SourceLocation& where(std::size_t index) const noexcept { return where_[index]; }
    /// Returns the number passed to set_participant(). In captures, every operation has one.
    std::uint32_t participant(std::size_t index) const noexcept {
        return index < participants_.size() ? participants_[index] : 0;
    }
    void* payload(const TapeOp& op) const noexcept {
        return chunks_[op.chunk].data.get() + op.payload;
    }
    LaunchOptions options(const TapeOp& op) const {
        return op.options != 0 ? options_[op.options - 1u] : LaunchOptions();
    }
    std::span<const std::uint32_t> all_dependencies() const noexcept { return dependencies_; }
    std::span<Block* const> all_blocks() const noexcept { return blocks_; }
    std::span<const std::uint64_t> all_serials() const noexcept { return serials_; }
    /// Moves out the node passed to set_node(). Returns null if the operation has none.
    std::shared_ptr<NodeData> take_node(const TapeOp& op) {
        return op.is_node != 0 ? std::move(nodes_[op.count]) : nullptr;
    }

    /// Returns whether both tapes have the same shape: equal kinds of operations, with equal
    /// dependencies and equal launch options.
    bool has_shape_of(const Tape& other) const noexcept;

    /// Returns whether both tapes have equal bytes. Then the graph of one tape can be launched for
    /// the other tape.
    bool equals(const Tape& other) const noexcept;
    /// Returns whether an operation is equal in both tapes. Requires that they have the same shape.
    bool is_same(std::size_t index, const Tape& other) const noexcept;

private:
    struct Chunk {
        std::unique_ptr<std::byte[]> data;
        std::uint32_t size = 0;
        std::uint32_t used = 0;
    };
    inline void* reserve(std::size_t size, std::size_t align);
    void mix(std::uint64_t value) noexcept { shape_ = (shape_ ^ value) * 0x9e3779b97f4a7c15u; }

    std::vector<TapeOp> ops_;
    std::vector<std::uint32_t> dependencies_;
    std::vector<Block*> blocks_;
    std::vector<std::uint64_t> serials_;  ///< the serials of the blocks in `blocks_`
    std::vector<SourceLocation> where_;
    std::vector<std::uint32_t> participants_;  ///< for captures, see set_participant()
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;  ///< index of the chunk being filled
    std::vector<std::shared_ptr<NodeData>> nodes_;
    std::vector<EventOwner> events_;
    std::vector<LaunchOptions> options_;
    struct Noted {
        std::size_t op;
        std::vector<OpAccess> accesses;
    };
    std::vector<Noted> accesses_;  ///< ascending by `op`
    std::uint64_t shape_ = 0;
    /// Whether the tape can be compared as bytes. If so, it has no nodes, and its closures have no
    /// move constructor or destructor that must be called.
    bool comparable_ = true;
};

/// Owns the contents of a tape exclusively: movable but not copyable. Held by the recorder that
/// adds operations, and after the graph's launch by the batch that remembers the tape. Closures in
/// graphs keep the tape's memory alive by shared().
class TapeOwner {
public:
    TapeOwner() = default;
    explicit TapeOwner(std::shared_ptr<Tape> tape) noexcept : tape_(std::move(tape)) {}
    TapeOwner(TapeOwner&&) noexcept = default;
    TapeOwner& operator=(TapeOwner&&) noexcept = default;

    explicit operator bool() const noexcept { return tape_ != nullptr; }
    Tape* operator->() const noexcept { return tape_.get(); }
    Tape& operator*() const noexcept { return *tape_; }
    /// Returns shared ownership of the tape's memory, for closures that are stored in it.
    const std::shared_ptr<Tape>& shared() const noexcept { return tape_; }
    /// Releases the tape, so that it can be destroyed where destructors may run.
    std::shared_ptr<void> release() noexcept { return std::move(tape_); }

private:
    std::shared_ptr<Tape> tape_;
};

/// Returns an empty tape. When its last reference is dropped, the tape is cleared for reuse.
TapeOwner new_tape();

/// Builds a graph on `device` from the tape's operations. Closures stay in the tape, which the
/// graph keeps alive. For a capture, `names` has the names of the participants by number.
std::unique_ptr<GraphData> graph_of(const std::shared_ptr<Tape>& tape, Device device,
                                    const SourceLocation& where,
                                    std::span<const std::string> names = {});
/// Copies the work of one operation into a node.
void fill_node(NodeData& node, const std::shared_ptr<Tape>& tape, std::size_t index);

}  // namespace heddle::detail
