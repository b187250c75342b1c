#include "core/recording/tape.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/graph/build.hpp"
#include "core/launch/launch.hpp"

namespace heddle::detail {

namespace {
constexpr std::size_t chunk_size = 32 << 10;
constexpr std::size_t chunk_align = 64;

bool is_closure(const TapeOp& op) noexcept { return op.type != nullptr; }
}  // namespace

void Tape::clear() noexcept {
    if (!comparable_)
        for (const TapeOp& one : ops_)
            if (is_closure(one) && one.type->op->destroy != nullptr)
                one.type->op->destroy(payload(one));
    ops_.clear();
    dependencies_.clear();
    blocks_.clear();
    serials_.clear();
    where_.clear();
    participants_.clear();
    for (Chunk& chunk : chunks_) chunk.used = 0;
    chunk_ = 0;
    nodes_.clear();
    events_.clear();
    options_.clear();
    accesses_.clear();
    shape_ = 0;
    comparable_ = true;
}

// Reserves room for a payload, and zeroes the gap before it. A payload sets all of its bytes, or is
// zeroed first. So tapes can be compared as bytes.
[[gnu::always_inline]] inline void* Tape::reserve(std::size_t size, std::size_t align) {
    for (;; ++chunk_) {
        if (chunk_ == chunks_.size()) [[unlikely]] {
            const std::size_t bytes = std::max(chunk_size, size + chunk_align);
            Chunk fresh;
            fresh.data = std::make_unique<std::byte[]>(bytes);
            fresh.size = static_cast<std::uint32_t>(bytes);
            chunks_.push_back(std::move(fresh));
        }
        Chunk& chunk = chunks_[chunk_];
        const auto base = reinterpret_cast<std::uintptr_t>(chunk.data.get());
        const std::size_t at = ((base + chunk.used + align - 1) & ~(align - 1)) - base;
        if (at + size > chunk.size) [[unlikely]] {
            if (chunk.used != 0 || chunk.size < size + chunk_align) continue;
        }
        if (at != chunk.used) std::memset(chunk.data.get() + chunk.used, 0, at - chunk.used);
        chunk.used = static_cast<std::uint32_t>(at + size);
        TapeOp& op = ops_.back();
        op.chunk = static_cast<std::uint32_t>(chunk_);
        op.payload = static_cast<std::uint32_t>(at);
        op.payload_size = static_cast<std::uint32_t>(size);
        return chunk.data.get() + at;
    }
}

std::uint32_t Tape::add(NodeKind kind, Device device, std::span<const std::uint32_t> after,
                        const SourceLocation& where) {
    TapeOp& op = ops_.emplace_back();
    op.kind = kind;
    op.device_kind = device.kind();
    op.device = static_cast<std::uint8_t>(device.index());
    op.dependencies = static_cast<std::uint32_t>(after.size()) & 0xffffff;
    where_.push_back(where);
    mix(static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(device.index()) << 8 |
        static_cast<std::uint64_t>(device.kind()) << 24 |
        static_cast<std::uint64_t>(after.size()) << 32);
    for (const std::uint32_t first : after) {
        dependencies_.push_back(first);
        mix(first);
    }
    return static_cast<std::uint32_t>(ops_.size() - 1);
}

void Tape::set_work(const WorkType& type, void* closure, std::size_t count,
                    const LaunchOptions& options) {
    void* to = reserve(type.op->size, std::max<std::size_t>(type.op->align, 8));
    if (type.op->move != nullptr) {
        type.op->move(closure, to);
    } else if (type.copy != nullptr) {
        std::memset(to, 0, type.op->size);
        type.copy(closure, to);
    } else {
        std::memcpy(to, closure, type.op->size);
    }
    if (type.op->move != nullptr || type.op->destroy != nullptr) comparable_ = false;
    ops_.back().type = &type;
    ops_.back().count = count;
    mix(reinterpret_cast<std::uintptr_t>(&type));
    if (options == LaunchOptions()) [[likely]]
        return;
    auto found = std::ranges::find(options_, options);
    if (found == options_.end()) found = options_.insert(found, options);
    ops_.back().options = static_cast<std::uint16_t>(found - options_.begin() + 1);
    mix(ops_.back().options);
}

namespace {
/// Copies member by member, so that the padding stays zero. Does not copy the owner:
/// Recorder::use() records the arrays.
void put(Operand& to, const Operand& from) noexcept {
    static_cast<MemoryRange&>(to) = from;
    to.space.device = from.space.device;
    to.space.kind = from.space.kind;
}
}  // namespace

void Tape::set_copy(const Operand& to, const Operand& from) {
    void* data = reserve(sizeof(Operands), alignof(Operands));
    std::memset(data, 0, sizeof(Operands));
    auto* pair = static_cast<Operands*>(data);
    put(pair->to, to);
    put(pair->from, from);
}

void Tape::set_fill(const Operand& to, const void* value, std::size_t size) {
    void* data = reserve(sizeof(Operands) + size, alignof(Operands));
    std::memset(data, 0, sizeof(Operands));
    put(static_cast<Operands*>(data)->to, to);
    std::memcpy(static_cast<std::byte*>(data) + sizeof(Operands), value, size);
    mix(size);
}

void Tape::set_node(std::shared_ptr<NodeData> node) {
    ops_.back().is_node = 1;
    ops_.back().count = nodes_.size();
    nodes_.push_back(std::move(node));
    comparable_ = false;
}

void Tape::set_accesses(std::span<const MemoryArgument> memory) {
    accesses_.push_back({ops_.size() - 1, accesses_of(memory)});
}

bool Tape::take_accesses(std::size_t index, std::vector<OpAccess>& to) {
    const auto found = std::ranges::lower_bound(accesses_, index, {}, &Noted::op);
    if (found == accesses_.end() || found->op != index) return false;
    to = std::move(found->accesses);
    return true;
}

Tape::Position Tape::position() const noexcept {
    return {ops_.size(),    dependencies_.size(),
            blocks_.size(), nodes_.size(),
            events_.size(), options_.size(),
            chunk_,         chunk_ < chunks_.size() ? chunks_[chunk_].used : 0,
            shape_,         comparable_};
}

void Tape::go_back(const Position& before) noexcept {
    for (std::size_t i = before.ops; i < ops_.size(); ++i) {
        const TapeOp& one = ops_[i];
        if (is_closure(one) && one.type->op->destroy != nullptr)
            one.type->op->destroy(payload(one));
    }
    ops_.resize(before.ops);
    where_.resize(before.ops);
    participants_.resize(std::min(participants_.size(), before.ops));
    dependencies_.resize(before.dependencies);
    blocks_.resize(before.blocks);
    serials_.resize(before.blocks);
    nodes_.resize(before.nodes);
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(before.events), events_.end());
    options_.resize(before.options);
    while (!accesses_.empty() && accesses_.back().op >= before.ops) accesses_.pop_back();
    for (std::size_t i = before.chunk + 1; i < chunks_.size(); ++i) chunks_[i].used = 0;
    if (before.chunk < chunks_.size()) chunks_[before.chunk].used = before.used;
    chunk_ = before.chunk;
    shape_ = before.shape;
    comparable_ = before.comparable;
}

std::vector<std::uint32_t> Tape::users_of(const Block& block) const {
    std::vector<std::uint32_t> users;
    std::size_t at = 0;
    for (std::size_t i = 0; i < ops_.size(); ++i)
        for (const std::size_t end = at + ops_[i].blocks; at < end; ++at)
            if (blocks_[at] == &block && (users.empty() || users.back() != i))
                users.push_back(static_cast<std::uint32_t>(i));
    return users;
}

void Tape::set_primary(std::uint32_t primary) noexcept {
    TapeOp& op = ops_.back();
    const TapeOp& first = ops_[primary];
    if (first.kind != NodeKind::kernel || first.device_kind != op.device_kind ||
        first.device != op.device)
        return;
    const auto after = std::span(dependencies_).last(op.dependencies);
    const auto position =
        static_cast<std::size_t>(std::ranges::find(after, primary) - after.begin());
    if (position == after.size() || position >= 255) return;
    op.early = static_cast<std::uint32_t>(position + 1) & 0xff;
    mix(op.early);
}

void Tape::make_empty(std::uint32_t op) noexcept {
    ops_[op].kind = NodeKind::empty;
    ops_[op].event = nullptr;
}

bool Tape::has_shape_of(const Tape& other) const noexcept {
    if (shape_ != other.shape_ || ops_.size() != other.ops_.size() ||
        dependencies_ != other.dependencies_ || options_ != other.options_)
        return false;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
        const TapeOp &a = ops_[i], &b = other.ops_[i];
        if (a.kind != b.kind || a.type != b.type || a.device != b.device ||
            a.device_kind != b.device_kind || a.dependencies != b.dependencies ||
            a.early != b.early || a.payload_size != b.payload_size || a.options != b.options)
            return false;
        if (a.is_node != 0) return false;
    }
    return true;
}

bool Tape::equals(const Tape& other) const noexcept {
    if (!comparable_ || !other.comparable_ || shape_ != other.shape_ ||
        ops_.size() != other.ops_.size())
        return false;
    if (std::memcmp(ops_.data(), other.ops_.data(), ops_.size() * sizeof(TapeOp)) != 0)
        return false;
    if (dependencies_ != other.dependencies_ || blocks_ != other.blocks_ ||
        options_ != other.options_)
        return false;
    // Compares all chunks. A chunk in the middle may be empty, because it was too small for the
    // next payload.
    const std::size_t chunks = std::max(chunks_.size(), other.chunks_.size());
    for (std::size_t i = 0; i < chunks; ++i) {
        const std::uint32_t used = i < chunks_.size() ? chunks_[i].used : 0;
        if (used != (i < other.chunks_.size() ? other.chunks_[i].used : 0)) return false;
        if (used != 0 && std::memcmp(chunks_[i].data.get(), other.chunks_[i].data.get(), used) != 0)
            return false;
    }
    return true;
}

bool Tape::is_same(std::size_t index, const Tape& other) const noexcept {
    const TapeOp &a = ops_[index], &b = other.ops_[index];
    if (a.event != b.event || a.count != b.count) return false;
    if (is_closure(a) && (a.type->op->move != nullptr || a.type->op->destroy != nullptr))
        return false;
    return a.payload_size == 0 || std::memcmp(payload(a), other.payload(b), a.payload_size) == 0;
}

namespace {
/// A pool of empty tapes.
class TapePool {
public:
    std::unique_ptr<Tape> take() {
        {
            const std::lock_guard guard(lock_);
            if (count_ > 0) return std::move(free_[--count_]);
        }
        return std::make_unique<Tape>();
    }
    void give(std::unique_ptr<Tape> tape) noexcept {
        tape->clear();
        if (tape->capacity() > largest) return;
        const std::lock_guard guard(lock_);
        if (count_ < most) free_[count_++] = std::move(tape);
    }
    SpinLock& lock() noexcept { return lock_; }

private:
    static constexpr std::size_t most = 64;
    static constexpr std::size_t largest = 1 << 20;  // in bytes
    SpinLock lock_;
    std::unique_ptr<Tape> free_[most];
    std::size_t count_ = 0;
};

// Never destroyed, because graphs may outlive static destruction.
constinit NeverDestroyed<TapePool> instance;
TapePool& tapes() noexcept { return instance.get(); }
const ForkRegistration tapes_registered{
    ForkOrder::tapes,
    {nullptr, [](void*) { tapes().lock().lock(); }, [](void*) { tapes().lock().unlock(); }}};
}  // namespace

TapeOwner new_tape() {
    return TapeOwner(
        {tapes().take().release(), [](Tape* tape) { tapes().give(std::unique_ptr<Tape>(tape)); }});
}

std::size_t Tape::capacity() const noexcept {
    std::size_t bytes = 0;
    for (const Chunk& chunk : chunks_) bytes += chunk.size;
    return bytes;
}

void fill_node(NodeData& node, const std::shared_ptr<Tape>& tape, std::size_t index) {
    const TapeOp& op = tape->op(index);
    node.kind = op.kind;
    node.device = Access::device(op.device_kind, op.device);
    node.where = tape->where(index);
    node.event = op.event;
    switch (op.kind) {
    case NodeKind::kernel:
    case NodeKind::host_function:
        node.work.type = op.type;
        node.work.count = op.count;
        node.work.options = tape->options(op);
        node.work.closure = SharedClosure(tape, tape->payload(op));
        take_priority(node);
        break;
    case NodeKind::copy:
        node.to = static_cast<const Operands*>(tape->payload(op))->to;
        node.from = static_cast<const Operands*>(tape->payload(op))->from;
        break;
    case NodeKind::fill: {
        const auto* pair = static_cast<const Operands*>(tape->payload(op));
        const auto* value = reinterpret_cast<const std::byte*>(pair + 1);
        node.to = pair->to;
        node.value.assign(value, value + (op.payload_size - sizeof(Operands)));
        break;
    }
    default: break;
    }
}

std::unique_ptr<GraphData> graph_of(const std::shared_ptr<Tape>& tape, Device device,
                                    const SourceLocation& where,
                                    std::span<const std::string> names) {
    std::vector<std::shared_ptr<NodeData>> nodes;
    nodes.reserve(tape->size());
    const std::uint32_t* dependency = tape->all_dependencies().data();
    Block* const* block = tape->all_blocks().data();
    const std::uint64_t* serial = tape->all_serials().data();
    for (std::size_t i = 0; i < tape->size(); ++i) {
        const TapeOp& op = tape->op(i);
        // Moves the node out of the tape. The node will own closures that own the tape, so the tape
        // must not own the node.
        std::shared_ptr<NodeData> made = tape->take_node(op);
        const auto& node =
            nodes.emplace_back(made != nullptr ? std::move(made) : std::make_shared<NodeData>());
        fill_node(*node, tape, i);
        if (!names.empty()) node->captured_on = names[tape->participant(i)];
        if (op.type != nullptr && op.type->kernel > KernelKind::portable)
            node->name = name_of_kernel(*op.type, kernel_of(node->work));
        if (op.early != 0) node->primaries.push_back(nodes[dependency[op.early - 1]].get());
        for (std::uint32_t d = 0; d < op.dependencies; ++d)
            node->after.push_back(nodes[*dependency++]);
        node->work.accesses_known = tape->take_accesses(i, node->work.accesses);
        node->work.blocks.insert(node->work.blocks.end(), block, block + op.blocks);
        node->work.serials.insert(node->work.serials.end(), serial, serial + op.blocks);
        block += op.blocks;
        serial += op.blocks;
    }
    return assemble_graph(std::move(nodes), device, where);
}

}  // namespace heddle::detail
