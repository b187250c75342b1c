// The operations of a program, as a list for the ordering checker and the oracle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "check/op_reader.hpp"
#include "core/base/fork.hpp"

namespace heddle_test {

using Ops = std::vector<heddle::detail::CheckOp>;

/// Moves each host function before the operations that it has enqueued. Needed because a host
/// function may begin before observers are notified that it was enqueued.
inline void put_functions_first(Ops& ops) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].parent == 0) continue;
        const auto here = ops.begin() + static_cast<std::ptrdiff_t>(i);
        const auto parent = std::find_if(here, ops.end(), [&](const heddle::detail::CheckOp& one) {
            return one.id == here->parent && one.id != 0;
        });
        if (parent == ops.end() || parent == here) continue;
        std::rotate(here, parent, parent + 1);
        --i;  // the moved function may have a parent, too
    }
}

/// Stores the first `most_ops` operations that are enqueued while this object exists.
class Trace final : public heddle::Observer {
public:
    explicit Trace(std::size_t most_ops) : most_ops_(most_ops) {
        heddle::add_observer(*this, {.host_functions = true});
    }
    ~Trace() { heddle::remove_observer(*this); }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    void on_op(const heddle::OpInfo& op) noexcept override {
        if (heddle::detail::forks() != process_) return;
        const std::lock_guard lock(mutex_);
        if (ops_.size() < most_ops_) ops_.push_back(reader_.read(op));
    }
    /// Returns the operations. Each host function precedes the work that it has enqueued.
    Ops take() {
        const std::lock_guard lock(mutex_);
        put_functions_first(ops_);
        return std::move(ops_);
    }

private:
    const std::size_t most_ops_;
    const int process_ = heddle::detail::forks();
    std::mutex mutex_;
    heddle::detail::OpReader reader_;
    Ops ops_;
};

/// Returns whether each stream's operations are in order. Several threads may break that order.
inline bool is_in_order(const Ops& ops) {
    std::map<std::uint64_t, std::uint64_t> positions;
    for (const heddle::detail::CheckOp& op : ops) {
        if (op.stream == 0 || op.position == 0) continue;  // this is an operation of the host
        std::uint64_t& position = positions[op.stream];
        if (op.position < position) return false;
        position = op.position;
    }
    return true;
}

}  // namespace heddle_test
