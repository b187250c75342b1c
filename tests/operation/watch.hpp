// An observer that stores a copy of each operation's description.
#pragma once

#include "support.hpp"

#include <algorithm>

namespace heddle_test {

/// A copy of an operation's description, including the data behind its pointers.
struct Seen {
    OpInfo op;  ///< its pointers are not valid any more
    OpKind kind;
    std::string name;
    std::uint64_t stream = 0;
    std::uint64_t other = 0;
    std::vector<OpAccess> accesses;
    std::string file;
    unsigned line = 0;
    std::size_t nodes = 0;  ///< the nodes of the launched graph
    Strings node_names;
    std::thread::id thread;

    explicit Seen(const OpInfo& from)
        : op(from), kind(from.kind), name(from.name), stream(from.stream ? from.stream.id() : 0),
          other(from.other ? from.other.id() : 0),
          accesses(from.accesses.begin(), from.accesses.end()), file(from.where.file),
          line(from.where.line), thread(std::this_thread::get_id()) {
        if (from.shape == nullptr) return;
        nodes = from.shape->nodes.size();
        for (const OpNode& node : from.shape->nodes) node_names.emplace_back(node.name);
    }
};

/// Returns those operations in `all` that have this kind.
inline std::vector<Seen> of_kind(const std::vector<Seen>& all, OpKind kind) {
    std::vector<Seen> found;
    for (const Seen& one : all)
        if (one.kind == kind) found.push_back(one);
    return found;
}

class Watch final : public Observer {
public:
    explicit Watch(ObserverOptions options = {}) { add_observer(*this, options); }
    ~Watch() { remove_observer(*this); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    void on_op(const OpInfo& op) noexcept override {
        const std::lock_guard lock(mutex_);
        seen_.emplace_back(op);
    }
    void on_run(const OpRun& run) noexcept override {
        const std::lock_guard lock(mutex_);
        runs_.push_back(run);
    }
    void on_call_begin(const CallInfo& call) noexcept override {
        const std::lock_guard lock(mutex_);
        calls_.emplace_back(call.name);
    }
    void on_call_end() noexcept override {
        const std::lock_guard lock(mutex_);
        calls_.emplace_back("end");
    }

    /// Returns the operations of one kind. Clears the list of all.
    std::vector<Seen> take(OpKind kind) { return of_kind(take(), kind); }
    /// Returns all operations, and clears the list.
    std::vector<Seen> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(seen_, {});
    }
    /// Returns the only operation of this kind, and clears the list.
    Seen take_only(OpKind kind) {
        std::vector<Seen> found = take(kind);
        INFO("kind " << to_string(kind));
        REQUIRE(found.size() == 1);
        return found.front();
    }
    std::vector<OpRun> runs() {
        const std::lock_guard lock(mutex_);
        return runs_;
    }
    Strings calls() {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

private:
    std::mutex mutex_;
    std::vector<Seen> seen_;
    std::vector<OpRun> runs_;
    Strings calls_;
};

}  // namespace heddle_test
