// Finds races by brute force, to test the checker. It stores for each operation the set of all
// operations before it, and compares all pairs. It shares only its input with the checker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "check/check_op.hpp"

namespace heddle_test {

/// A set of operations, by their indices in the list.
class OpSet {
public:
    void insert(std::size_t op) {
        grow(op / 64 + 1);
        words_[op / 64] |= std::uint64_t{1} << (op % 64);
    }
    bool contains(std::size_t op) const {
        return op / 64 < words_.size() && (words_[op / 64] >> (op % 64) & 1) != 0;
    }
    void insert(const OpSet& others) {
        grow(others.words_.size());
        for (std::size_t i = 0; i < others.words_.size(); ++i) words_[i] |= others.words_[i];
    }

private:
    void grow(std::size_t size) {
        if (words_.size() < size) words_.resize(size);
    }
    std::vector<std::uint64_t> words_;
};

/// Determines the order of a list of operations without graphs, captures, collectives or frees.
class Oracle {
public:
    using CheckOp = heddle::detail::CheckOp;
    using CheckAccess = heddle::detail::CheckAccess;

    /// Adds the next operation.
    void add(const CheckOp& op) {
        const std::size_t index = ops_.size();
        ops_.push_back(op);
        before_.emplace_back();
        switch (op.kind) {
        case heddle::OpKind::synchronize_begin: begun_[op.thread] = covered_by(op); return;
        case heddle::OpKind::synchronize: host_.insert(begun_[op.thread]); return;
        case heddle::OpKind::query: host_.insert(covered_by(op)); return;
        default: break;
        }
        OpSet before = host_;
        if (op.stream != 0)
            insert_if(before, [&](const CheckOp& one) { return one.stream == op.stream; }, index);
        if (op.kind == heddle::OpKind::wait || op.kind == heddle::OpKind::wait_elided)
            before.insert(covered_by(op));
        if (op.parent != 0)
            insert_if(before, [&](const CheckOp& one) { return one.id == op.parent; }, index);
        before_[index] = before;
        if (op.stream == 0) host_.insert(index);
    }

    /// Returns the earlier operations that conflict with the newest one and are not ordered before
    /// it.
    std::vector<std::size_t> races_of_newest() const {
        std::vector<std::size_t> found;
        const std::size_t newest = ops_.size() - 1;
        for (std::size_t i = 0; i < newest; ++i)
            if (!before_[newest].contains(i) && conflict(ops_[i], ops_[newest])) found.push_back(i);
        return found;
    }

    /// Calls f(address) for each byte at which two operations conflict.
    template <class F> static void for_each_conflict(const CheckOp& a, const CheckOp& b, F&& f) {
        for (const CheckAccess& one : a.accesses)
            for (const CheckAccess& two : b.accesses) {
                if (one.allocation != two.allocation || !do_conflict(one.mode, two.mode)) continue;
                for (std::size_t row = 0; row < one.rows; ++row)
                    for (std::uint64_t i = 0; i < one.bytes; ++i) {
                        const std::uint64_t at = one.address() + row * one.pitch + i;
                        if (contains(two, at)) f(at);
                    }
            }
    }

private:
    static bool do_conflict(heddle::AccessMode a, heddle::AccessMode b) {
        using heddle::AccessMode;
        if (a == AccessMode::read && b == AccessMode::read) return false;
        return !(a == AccessMode::concurrent && b == AccessMode::concurrent);
    }
    static bool contains(const CheckAccess& access, std::uint64_t at) {
        for (std::size_t row = 0; row < access.rows; ++row) {
            const std::uint64_t begin = access.address() + row * access.pitch;
            if (at >= begin && at < begin + access.bytes) return true;
        }
        return false;
    }
    static bool conflict(const CheckOp& a, const CheckOp& b) {
        bool found = false;
        for_each_conflict(a, b, [&](std::uint64_t) { found = true; });
        return found;
    }

    template <class F> void insert_if(OpSet& to, F&& is_meant, std::size_t end) const {
        for (std::size_t i = 0; i < end; ++i) {
            if (!is_meant(ops_[i])) continue;
            to.insert(i);
            to.insert(before_[i]);
        }
    }

    OpSet covered_by(const CheckOp& op) const {
        using heddle::OpKind;
        OpSet covered;
        const std::size_t end = ops_.size() - 1;
        if (op.event.event != 0) {
            insert_if(
                covered,
                [&](const CheckOp& one) {
                    return one.kind == OpKind::record && one.event == op.event;
                },
                end);
        } else if (op.other != 0) {
            insert_if(
                covered,
                [&](const CheckOp& one) {
                    return one.stream == op.other && one.position <= op.other_position;
                },
                end);
        } else {
            insert_if(
                covered,
                [&](const CheckOp& one) { return one.stream != 0 && one.device == op.device; },
                end);
        }
        return covered;
    }

    std::vector<CheckOp> ops_;
    std::vector<OpSet> before_;
    std::map<std::uint32_t, OpSet> begun_;  ///< begun host waits, by thread
    OpSet host_;                            ///< work that the host knows to be complete
};

/// By address of a byte: the first operation that has a race there.
using FirstRaces = std::map<std::uint64_t, std::size_t>;

inline FirstRaces races_by_oracle(const std::vector<heddle::detail::CheckOp>& ops) {
    FirstRaces first;
    Oracle oracle;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        oracle.add(ops[i]);
        if (ops[i].accesses.empty()) continue;
        for (const std::size_t earlier : oracle.races_of_newest())
            Oracle::for_each_conflict(ops[earlier], ops[i],
                                      [&](std::uint64_t at) { first.try_emplace(at, i); });
    }
    return first;
}

}  // namespace heddle_test
