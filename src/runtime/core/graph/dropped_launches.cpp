// Graph launches that a poisoned stream drops.
#include <exception>
#include <vector>

#include "core/graph/launch.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail {

namespace {

/// Enqueues the on_completion() functions of a graph's nodes without the graph's work.
struct NodeCompletions {
    struct One {
        SharedClosure closure;
        const OpType* type;
    };
    std::vector<One> all;

    static void run(void* self, std::size_t, std::size_t) { complete(self, nullptr); }
    static void complete(void* self, std::exception_ptr failure) {
        std::exception_ptr thrown;  // the first exception; it does not prevent the other calls
        for (const One& one : static_cast<NodeCompletions*>(self)->all) {
            try {
                one.type->complete(one.closure.get(), failure);
            } catch (...) {
                if (thrown == nullptr) thrown = std::current_exception();
            }
        }
        if (thrown != nullptr) std::rethrow_exception(thrown);
    }
    static constexpr OpType make_type() {
        OpType type = op_type<NodeCompletions>(&run, false, "on_completion", "nodes", true);
        type.complete = &complete;
        return type;
    }
};
constexpr OpType node_completions = NodeCompletions::make_type();

}  // namespace

void complete_dropped(const GraphData& graph, StreamRecord& stream, const SourceLocation& where) {
    NodeCompletions completions;
    for (const auto& node : graph.nodes)
        if (node->work.type != nullptr && node->work.type->op->complete != nullptr)
            completions.all.push_back({node->work.closure, node->work.type->op});
    if (completions.all.empty()) return;
    if (stream.has(stream_flag::recording)) send_batch_of(stream, where);
    enqueue(stream, node_completions, &completions, 1, where);
}

}  // namespace heddle::detail
