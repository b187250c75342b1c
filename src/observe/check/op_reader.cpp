#include "check/op_reader.hpp"

#include <algorithm>

#include "core/base/ids.hpp"
#include "core/operation/told_wait.hpp"

namespace heddle::detail {

namespace {

std::uint32_t number_of(Device device) noexcept {
    const auto index = static_cast<std::uint32_t>(device.index());
    return index << 1 | (device.is_cuda() ? 1 : 0);
}

std::uint64_t id_of(StreamRef stream) noexcept { return stream ? stream.id() : 0; }

void copy_accesses(std::span<const OpAccess> from, std::vector<CheckAccess>& to) {
    to.clear();
    for (const OpAccess& access : from) to.push_back({access});
}

bool is_wait(OpKind kind) noexcept {
    return kind == OpKind::wait || kind == OpKind::wait_elided ||
           kind == OpKind::synchronize_begin || kind == OpKind::synchronize;
}

/// Returns whether the operation may signal other work. A kernel with concurrent accesses counts.
bool may_signal(const OpInfo& op) noexcept {
    return op.may_signal ||
           std::any_of(op.accesses.begin(), op.accesses.end(), [](const OpAccess& access) {
               return access.mode == AccessMode::concurrent;
           });
}

}  // namespace

const CheckOp& OpReader::read(const OpInfo& op) {
    op_.kind = op.kind;
    op_.mode = op.mode;
    op_.reason = op.reason;
    op_.may_signal = may_signal(op);
    op_.from_own_cache = op.from_own_cache;
    op_.had_completed = op.kind == OpKind::wait && told_wait.had_completed;
    op_.site = sites_.intern(op.kind, op.name, op.where);
    op_.thread = this_thread_number();
    op_.device = number_of(op.device);
    op_.id = op.id;
    op_.stream = id_of(op.stream);
    op_.position = op.position;
    op_.other = is_wait(op.kind) && told_wait.other != 0 ? told_wait.other : id_of(op.other);
    op_.other_position = op.other_position;
    op_.event = op.event;
    op_.recording = op.recording;
    op_.parent = op.parent;
    op_.collective = op.collective;
    op_.share = op.share;
    op_.shares = op.shares;
    op_.shape = op.shape != nullptr ? shape_of(*op.shape) : nullptr;
    op_.graph = op.shape != nullptr ? op.shape->graph : 0;
    copy_accesses(op.accesses, op_.accesses);
    return op_;
}

std::shared_ptr<const CheckShape> OpReader::shape_of(const GraphShape& shape) {
    const auto known = shapes_.find(shape.id);
    if (known != shapes_.end()) return known->second;
    auto made = std::make_shared<CheckShape>();
    made->id = shape.id;
    for (const OpNode& from : shape.nodes) {
        CheckNode& node = made->nodes.emplace_back();
        node.kind = from.kind;
        node.site = sites_.intern(from.kind, from.name, from.where);
        node.after.assign(from.after.begin(), from.after.end());
        copy_accesses(from.accesses, node.accesses);
        for (CheckAccess& access : node.accesses) access.is_guess = !from.accesses_known;
        node.accesses_known = from.accesses_known;
        node.may_signal = from.may_signal;
        node.inside = from.inside;
        node.alternative = from.alternative;
        node.child = from.child;
        node.captured_on = from.captured_on;
        node.event = from.event;
    }
    if (shapes_.size() == most_shapes) {
        shapes_.erase(shapes_in_order_.front());
        shapes_in_order_.pop_front();
    }
    shapes_in_order_.push_back(shape.id);
    return shapes_[shape.id] = std::move(made);
}

}  // namespace heddle::detail
