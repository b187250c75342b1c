#include "cuda/graph/host_node.hpp"

#include <utility>

#include "core/base/errors.hpp"
#include "core/base/report.hpp"
#include "cuda/device/context.hpp"
#include "cuda/host_sync/host_function.hpp"

namespace heddle::detail::cu {

Turn turn_of(const NodeData& node) {
    Turn turn{.closure = node.work.closure,
              .type = node.work.type->op,
              .count = node.work.count,
              .where = node.where,
              .enabled = node.enabled};
    if (!node.name.empty()) turn.name = std::make_shared<const std::string>(node.name);
    return turn;
}

bool is_host(const NodeData& node) noexcept {
    return node.kind == NodeKind::host_function ||
           (node.kind == NodeKind::kernel && node.device.is_cpu());
}

namespace {
/// Reports that a graph made by heddle was launched outside heddle.
void report_stray() noexcept {
    report_error(ErrorCode::usage, {"launch", {}},
                 "a graph with a host function was launched outside heddle, so the host function "
                 "does not run: launch the graph with heddle");
}
}  // namespace

void HostTurns::run(void* data) {
    auto& host = *static_cast<HostTurns*>(data);
    InCallback in;
    Turn turn{};
    {
        const std::lock_guard lock(host.mutex);
        if (!host.turns.empty()) {
            turn = std::move(host.turns.front());
            host.turns.pop_front();
        }
    }
    if (turn.stream == nullptr) return report_stray();
    if (!turn.enabled) return;
    run_in_graph({*turn.stream, turn.at, turn.outcome.get()}, *turn.type, turn.closure.get(),
                 turn.count, turn.where, turn.name.get());
}

void HostTurns::run_always(void* data) {
    const Turn& turn = static_cast<HostTurns*>(data)->turns.front();  // the same in all launches
    InCallback in;
    run_in_graph({*turn.stream, turn.at, turn.outcome.get()}, *turn.type, turn.closure.get(),
                 turn.count, turn.where, turn.name.get());
}

}  // namespace heddle::detail::cu
