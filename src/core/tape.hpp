// What has been recorded: operations in order, with what each comes after. One memory for all of it, used again, so that recording costs
// little, and laid out so that equal recordings are equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/backend.hpp"
#include <heddle/detail/graph_work.hpp>
#include <heddle/graph.hpp>

namespace heddle::detail {

/// One operation. Compared as bytes: no gaps. What it consists of beyond this stands in the tape's memory, at `payload`.
struct TapeOp {
    const WorkType* type;  ///< kernels and host functions
    EventState* event;     ///< event nodes
    std::uint64_t count;   ///< indices of a kernel
    std::uint32_t chunk;   ///< where the payload is
    std::uint32_t payload;
    std::uint32_t payload_size;
    std::uint32_t dependencies : 24;  ///< how many; they follow each other in the tape
    std::uint32_t
        early : 8;  ///< which of them is a kernel whose end it does not wait for, counted from 1; 0: none
    std::uint16_t blocks;
    std::uint16_t options;  ///< which of the tape's launch options, counted from 1; 0: none
    std::uint8_t is_node;   ///< `count` says which of the tape's nodes
    std::uint8_t device;
    DeviceKind device_kind;
    NodeKind kind;
};
static_assert(sizeof(TapeOp) == 48);

/// The payload of copies and fills; the value of a fill follows it.
struct PiecePair {
    Piece to;
    Piece from;  ///< copies
};

class Tape {
public:
    Tape() = default;
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;
    ~Tape() { clear(); }

    void clear() noexcept;
    std::size_t capacity() const noexcept;  ///< bytes for payloads
    bool is_empty() const noexcept { return ops_.empty(); }
    std::size_t size() const noexcept { return ops_.size(); }

    /// Appends an operation that comes after those. Its index.
    std::uint32_t add(NodeKind kind, Device device, std::span<const std::uint32_t> after,
                      const SourceLocation& where);
    /// For the newest operation, in any order:
    void set_work(const WorkType& type, void* closure, std::size_t count, const LaunchOptions& options);
    void set_copy(const Piece& to, const Piece& from);
    void set_fill(const Piece& to, const void* value, std::size_t size);
    void set_node(std::shared_ptr<NodeData> node);  ///< for kinds that only captures have
    void add_block(Block& block);

    /// How far the tape has come. go_back() takes off what was added since, to its newest operation at most.
    struct Position {
        std::size_t ops, dependencies, blocks, nodes, options, chunk;
        std::uint32_t used;
        std::uint64_t shape;
        bool comparable;
    };
    Position position() const noexcept;
    void go_back(const Position& before) noexcept;

    /// The operations that use the block.
    std::vector<std::uint32_t> users_of(const Block& block) const;

    /// The newest operation may start before that kernel, which it comes after, has finished. Nothing where `primary` is no such kernel.
    void set_primary(std::uint32_t primary) noexcept;
    /// It stays this event, and no other one at its address, as long as the tape has the operation.
    void set_event(std::uint32_t op, EventState* event) {
        events_.emplace_back(event);
        ops_[op].event = event;
    }
    /// It does nothing any more, and what comes after it comes after what it was after.
    void make_empty(std::uint32_t op) noexcept;

    const TapeOp& op(std::size_t index) const noexcept { return ops_[index]; }
    const SourceLocation& where(std::size_t index) const noexcept { return where_[index]; }
    void* payload(const TapeOp& op) const noexcept { return chunks_[op.chunk].data.get() + op.payload; }
    LaunchOptions options(const TapeOp& op) const {
        return op.options != 0 ? options_[op.options - 1u] : LaunchOptions();
    }
    std::span<const std::uint32_t> all_dependencies() const noexcept { return dependencies_; }
    std::span<Block* const> all_blocks() const noexcept { return blocks_; }
    std::span<const std::uint64_t> all_serials() const noexcept { return serials_; }
    /// What set_node() was given, for the caller to keep; null for other operations.
    std::shared_ptr<NodeData> take_node(const TapeOp& op) {
        return op.is_node != 0 ? std::move(nodes_[op.count]) : nullptr;
    }

    /// The same kinds of operations in the same order.
    bool has_shape_of(const Tape& other) const noexcept;

    /// The same to the last byte: what launched one launches the other.
    bool equals(const Tape& other) const noexcept;
    /// Whether an operation of two tapes of one shape is the same.
    bool is_same(std::size_t index, const Tape& other) const noexcept;

private:
    struct Chunk {
        std::unique_ptr<std::byte[]> data;
        std::uint32_t size = 0;
        std::uint32_t used = 0;
    };
    void* reserve(std::size_t size, std::size_t align);
    void mix(std::uint64_t value) noexcept { shape_ = (shape_ ^ value) * 0x9e3779b97f4a7c15u; }

    std::vector<TapeOp> ops_;
    std::vector<std::uint32_t> dependencies_;
    std::vector<Block*> blocks_;
    std::vector<std::uint64_t> serials_;  ///< of the blocks
    std::vector<SourceLocation> where_;
    std::vector<Chunk> chunks_;
    std::size_t chunk_ = 0;  ///< that is being filled
    std::vector<std::shared_ptr<NodeData>> nodes_;
    std::vector<EventOwner> events_;
    std::vector<LaunchOptions> options_;
    std::uint64_t shape_ = 0;
    bool comparable_ = true;  ///< no closure with a life of its own
};

/// An empty tape. When the last reference is gone it is cleared, by that thread, and used again.
std::shared_ptr<Tape> new_tape();

/// The graph of a tape's operations, on `device`. Closures stay in the tape, which the graph keeps.
std::unique_ptr<GraphData> graph_of(const std::shared_ptr<Tape>& tape, Device device,
                                    const SourceLocation& where);
/// The work of one operation as a node wants it.
void fill_node(NodeData& node, const std::shared_ptr<Tape>& tape, std::size_t index);

}  // namespace heddle::detail
