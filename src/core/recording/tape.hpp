// The tape: recorded operations in order, with their dependencies. Its memory is reused, so that
// recording is cheap. Equal recordings are equal bytes. Graph nodes are made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/seam/backend.hpp"
#include <heddle/detail/work.hpp>
#include <heddle/graph/graph.hpp>

namespace heddle::detail {

/// One operation. Compared as bytes, so it has no padding. Its payload (closure, pieces, value)
/// lies in one of the tape's chunks.
struct TapeOp {
    const WorkType* type;   ///< kernels and host functions
    EventState* event;      ///< event nodes
    std::uint64_t count;    ///< indices of a kernel
    std::uint32_t chunk;    ///< chunk with the payload
    std::uint32_t payload;  ///< offset in the chunk
    std::uint32_t payload_size;
    std::uint32_t dependencies : 24;  ///< number of dependencies; consecutive in all_dependencies()
    /// Number of the dependency, counted from 1, that is a kernel and may be overlapped; 0 if there
    /// is none.
    std::uint32_t early : 8;
    std::uint16_t blocks;   ///< number of blocks; consecutive in all_blocks()
    std::uint16_t options;  ///< index of launch options, counted from 1; 0 if there are none
    std::uint8_t is_node;   ///< `count` is an index into the tape's nodes
    std::uint8_t device;
    DeviceKind device_kind;
    NodeKind kind;
};
static_assert(sizeof(TapeOp) == 48);

/// The payload of copies and fills. A fill's value follows it.
struct PiecePair {
    Piece to;
    Piece from;  ///< for a copy: the source
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

    /// Appends an operation that depends on the operations `after`. Returns its index.
    std::uint32_t add(NodeKind kind, Device device, std::span<const std::uint32_t> after,
                      const SourceLocation& where);
    /// Each of these completes the newest operation; they may be called in any order.
    void set_work(const WorkType& type, void* closure, std::size_t count,
                  const LaunchOptions& options);
    void set_copy(const Piece& to, const Piece& from);
    void set_fill(const Piece& to, const void* value, std::size_t size);
    void set_node(std::shared_ptr<NodeData> node);  ///< for kinds that only captures record
    /// Notes the participant of the newest operation, by the recorder's number for it. Has no
    /// effect on comparisons of tapes.
    void set_participant(std::uint32_t number) { participants_.resize(ops_.size(), number); }
    void add_block(Block& block);
    /// Notes the newest operation's uses of memory. Only for observers: has no effect on
    /// comparisons of tapes.
    void set_accesses(std::span<const MemoryArgument> memory);
    /// Moves an operation's uses from set_accesses() to `to`. Returns false if there are none.
    bool take_accesses(std::size_t index, std::vector<OpAccess>& to);

    /// The end of the tape at some moment. go_back() removes the operations added since. Earlier
    /// operations must not have been changed meanwhile.
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
    /// `primary` is a kernel on the same device and one of its dependencies.
    void set_primary(std::uint32_t primary) noexcept;
    /// Makes the tape an owner of the event, whose address therefore cannot become another event's.
    void set_event(std::uint32_t op, EventState* event) {
        events_.emplace_back(event);
        ops_[op].event = event;
    }
    /// Turns an operation into an empty one, which keeps its dependencies and dependents.
    void make_empty(std::uint32_t op) noexcept;

    const TapeOp& op(std::size_t index) const noexcept { return ops_[index]; }
    const SourceLocation& where(std::size_t index) const noexcept { return where_[index]; }
    /// Returns the number from set_participant(). Captures note one for each operation.
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
    /// Moves the node of set_node() out of the tape. Returns null for other operations.
    std::shared_ptr<NodeData> take_node(const TapeOp& op) {
        return op.is_node != 0 ? std::move(nodes_[op.count]) : nullptr;
    }

    /// Returns whether both tapes have the same kinds of operations, with the same dependencies and
    /// launch options.
    bool has_shape_of(const Tape& other) const noexcept;

    /// Returns whether both tapes are equal to the last byte, so that the graph of one can be
    /// launched for the other.
    bool equals(const Tape& other) const noexcept;
    /// Returns whether an operation is equal in two tapes of the same shape.
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
    std::vector<std::uint64_t> serials_;  ///< serials of `blocks_`
    std::vector<SourceLocation> where_;
    std::vector<std::uint32_t> participants_;  ///< for captures: see set_participant()
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
    /// Can be compared as bytes: no nodes, no closures with a move or destructor.
    bool comparable_ = true;
};

/// The only owner of a tape's contents: the recorder that adds to it or, once its graph has been
/// launched, the batch that remembers it. Movable but not copyable, so a tape never has two owners.
/// Closures in graphs keep the tape's memory, by shared().
class TapeOwner {
public:
    TapeOwner() = default;
    explicit TapeOwner(std::shared_ptr<Tape> tape) noexcept : tape_(std::move(tape)) {}
    TapeOwner(TapeOwner&&) noexcept = default;
    TapeOwner& operator=(TapeOwner&&) noexcept = default;

    explicit operator bool() const noexcept { return tape_ != nullptr; }
    Tape* operator->() const noexcept { return tape_.get(); }
    Tape& operator*() const noexcept { return *tape_; }
    /// For closures that lie in the tape.
    const std::shared_ptr<Tape>& shared() const noexcept { return tape_; }
    /// Releases the tape, for destruction where it is allowed.
    std::shared_ptr<void> release() noexcept { return std::move(tape_); }

private:
    std::shared_ptr<Tape> tape_;
};

/// Returns an empty tape. The thread that drops the last reference clears it, for reuse.
TapeOwner new_tape();

/// Builds a graph on `device` from the tape's operations. Closures stay in the tape, which the
/// graph keeps alive. `names` has the names of the participants of a capture, by their numbers.
std::unique_ptr<GraphData> graph_of(const std::shared_ptr<Tape>& tape, Device device,
                                    const SourceLocation& where,
                                    std::span<const std::string> names = {});
/// Copies the work of one operation into a node.
void fill_node(NodeData& node, const std::shared_ptr<Tape>& tape, std::size_t index);

}  // namespace heddle::detail
