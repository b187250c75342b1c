// Builds traces for tests from short calls:
//
//     TraceBuilder t;
//     const auto up = t.stream("up"), main = t.stream("main");
//     t.copy(up, "host to device").called(0, 2).ran(5, 50).at("read.cpp", 12);
//     t.wait(main, up).called(2, 3).at("hash.cpp", 40);
//     const auto hash = t.launch(main, "Hash").called(3, 5).ran(52, 80);
//     const Trace trace = t.trace(0, 100);
//
// The order of these calls determines the positions of operations in their streams. An operation
// has no times unless a call sets them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle_test {

using namespace heddle;
using namespace heddle::detail;

class TraceBuilder {
public:
    static TraceAccess access(std::uint64_t address, std::uint64_t bytes, AccessMode mode) {
        return {{{reinterpret_cast<const void*>(address), bytes}, 0, 0, mode}};
    }

    /// An operation of the trace. Converts to its index. Valid while the builder exists.
    class Op {
    public:
        Op(TraceBuilder& builder, TraceIndex index) : builder_(&builder), index_(index) {}
        operator TraceIndex() const { return index_; }
        TraceOp& operator*() const { return builder_->made_.ops[index_]; }
        TraceOp* operator->() const { return &**this; }

        const Op& called(Moment begin, Moment end) const {
            (*this)->call_begin = begin;
            (*this)->call_end = end;
            return *this;
        }
        const Op& ran(Moment start, Moment end) const {
            (*this)->start = start;
            (*this)->end = end;
            return *this;
        }
        const Op& ended(Moment end) const { return ran(unknown_moment, end); }
        const Op& at(const std::string& file, std::uint32_t line) const {
            (*this)->file = builder_->string(file);
            (*this)->line = line;
            return *this;
        }
        const Op& on_thread(TraceIndex thread) const {
            (*this)->thread = thread;
            return *this;
        }
        /// Declares that this host function enqueued the operation.
        const Op& from(const Op& host_function) const {
            (*this)->parent = host_function->id;
            return *this;
        }
        /// Adds a use of the memory at this address. Call it before the next operation is added.
        const Op& uses(std::uint64_t data, AccessMode mode = AccessMode::read_write,
                       std::uint64_t bytes = 64, const std::string& name = "",
                       int argument = -1) const {
            std::vector<TraceAccess>& all = builder_->made_.accesses;
            if ((*this)->accesses++ == 0)
                (*this)->first_access = static_cast<std::uint32_t>(all.size());
            all.push_back(access(data, bytes, mode));
            all.back().name = builder_->string(name);
            all.back().argument = static_cast<std::int8_t>(argument);
            return *this;
        }
        const Op& mode(OpMode mode) const {
            (*this)->mode = mode;
            return *this;
        }
        const Op& because(WaitReason reason) const {
            (*this)->reason = reason;
            return *this;
        }

    private:
        TraceBuilder* builder_;
        TraceIndex index_;
    };

    /// Begins a trace with a CPU device that has 4 workers, and a thread "main".
    TraceBuilder() {
        made_.devices.push_back(
            {.name = string("CPU"), .clock = TraceClock::workers, .processors = 4});
        thread("main");
    }

    TraceIndex cuda_device(TraceClock clock = TraceClock::events, Moment clock_error = 0) {
        made_.devices.push_back({.is_cuda = true,
                                 .index = static_cast<int>(made_.devices.size()) - 1,
                                 .name = string("NVIDIA H200"),
                                 .clock = clock,
                                 .clock_error = clock_error});
        return static_cast<TraceIndex>(made_.devices.size() - 1);
    }
    TraceIndex stream(const std::string& name, TraceIndex device = 0) {
        made_.streams.push_back(
            {.id = made_.streams.size() + 1, .device = device, .name = string(name)});
        return static_cast<TraceIndex>(made_.streams.size() - 1);
    }
    TraceIndex thread(const std::string& name) {
        made_.threads.push_back({string(name)});
        return static_cast<TraceIndex>(made_.threads.size() - 1);
    }

    /// Adds an operation of any kind.
    Op op(OpKind kind, TraceIndex stream, const std::string& name = "") {
        TraceOp made;
        made.id = next_id_++;
        made.kind = kind;
        made.name = string(name);
        made.thread = 0;
        made.stream = stream;
        if (stream < made_.streams.size()) {
            made.device = made_.streams[stream].device;
            made.position = ++positions_[stream];
        }
        made_.ops.push_back(made);
        return {*this, static_cast<TraceIndex>(made_.ops.size() - 1)};
    }
    Op launch(TraceIndex stream, const std::string& name) {
        return op(OpKind::launch, stream, name);
    }
    Op copy(TraceIndex stream, const std::string& name) { return op(OpKind::copy, stream, name); }
    Op host_function(TraceIndex stream, const std::string& name) {
        return op(OpKind::host_function, stream, name);
    }

    /// Makes `waiter` wait for all work that was enqueued on `other` so far.
    Op wait(TraceIndex waiter, TraceIndex other, OpKind kind = OpKind::wait) {
        const std::uint64_t covered = positions_[other];
        const Op made = op(kind, waiter, "wait_stream");
        made->other = other;
        made->other_position = covered;
        return made;
    }
    Op record(TraceIndex stream, std::uint64_t event, std::uint32_t generation = 1) {
        return with_event(op(OpKind::record, stream, "record_event"), event, generation);
    }
    Op wait_event(TraceIndex waiter, std::uint64_t event, std::uint32_t generation = 1) {
        return with_event(op(OpKind::wait, waiter, "wait_event"), event, generation);
    }
    /// Makes the host wait for all work that was enqueued on the stream so far.
    Op synchronize(TraceIndex stream) {
        return covering(op(OpKind::synchronize, no_index, "synchronize"), stream);
    }
    /// Adds a period in which the host was blocked within a call, or polled. The period ended when
    /// the stream had completed its work so far and `more` further operations.
    Op blocked(TraceIndex stream, std::uint64_t more = 0) {
        const Op made = covering(op(OpKind::blocked, no_index, "blocked"), stream);
        made->other_position += more;
        return made;
    }
    /// Adds a query by the host, with the answer that the stream has completed its work so far.
    Op answered(TraceIndex stream) {
        return covering(op(OpKind::query, no_index, "is_complete"), stream);
    }
    Op synchronize_device(TraceIndex device) {
        const Op made = op(OpKind::synchronize, no_index, "synchronize_device");
        made->device = device;
        return made;
    }

    /// Adds a graph of kernels. Each kernel depends on the previous one.
    TraceIndex graph(const std::vector<std::string>& kernels, bool is_batch = false) {
        TraceGraph made;
        made.id = made_.graphs.size() + 1;
        made.is_batch = is_batch;
        for (const std::string& kernel : kernels) {
            TraceNode node;
            node.name = string(kernel);
            if (!made.nodes.empty())
                node.after.push_back(static_cast<std::uint32_t>(made.nodes.size() - 1));
            made.nodes.push_back(node);
        }
        made_.graphs.push_back(made);
        return static_cast<TraceIndex>(made_.graphs.size() - 1);
    }
    Op launch_graph(TraceIndex stream, TraceIndex graph) {
        const Op made = op(OpKind::graph_launch, stream, "graph");
        made->graph = graph;
        return made;
    }
    TraceIndex node_ran(const Op& launch, std::uint32_t node, Moment start, Moment end) {
        made_.node_runs.push_back({launch->id, node, start, end});
        return static_cast<TraceIndex>(made_.node_runs.size() - 1);
    }
    void range(const std::string& name, Moment begin, Moment end, TraceIndex thread = 0) {
        made_.ranges.push_back({thread, string(name), begin, end});
    }

    TraceIndex string(const std::string& text) {
        const auto found = strings_.find(text);
        if (found != strings_.end()) return found->second;
        made_.strings.push_back(text);
        const auto index = static_cast<TraceIndex>(made_.strings.size() - 1);
        strings_.emplace(text, index);
        return index;
    }

    /// Returns the trace as a recording from `begin` to `end`. Operations keep their indices.
    Trace trace(Moment begin, Moment end) const {
        Trace copy = made_;
        copy.begin = begin;
        copy.end = end;
        return copy;
    }
    /// Returns the trace so far, so that a test can change it in other ways.
    Trace& raw() { return made_; }

private:
    Op covering(Op op, TraceIndex stream) {
        op->stream = op->other = stream;
        op->other_position = positions_[stream];
        return op;
    }
    static Op with_event(Op op, std::uint64_t event, std::uint32_t generation) {
        op->event = event;
        op->generation = generation;
        return op;
    }

    Trace made_;
    std::map<std::string, TraceIndex> strings_{{"", 0}};
    std::map<TraceIndex, std::uint64_t> positions_;
    std::uint64_t next_id_ = 1;
};

}  // namespace heddle_test
