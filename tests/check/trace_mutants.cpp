// Enabled by HEDDLE_TEST_MUTATE_TRACES=COUNT. Stores the operations of each test. Then runs the
// checker and the oracle on them again: once without each wait, and once without each edge of each
// graph. Both must find the first race at the same operation, or no race. For each test, about
// COUNT waits and COUNT edges are chosen, evenly distributed. At the end of the run, prints the
// totals and all disagreements.
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // needed for listeners in Catch2 2.13
#include "support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check/first_race.hpp"
#include "check/trace.hpp"
#include "check/trace_oracle.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#endif

namespace {

using heddle::OpKind;
using heddle::detail::CheckOp;
using heddle::detail::CheckShape;
using heddle_test::first_race_by_checker;
using heddle_test::Ops;
using heddle_test::Trace;

/// Only the first operations of a longer program are stored. They are a valid program, too.
constexpr std::size_t most_ops = 2000;

/// A wait that creates order. A host wait has a begin and an end.
struct Wait {
    std::size_t index;
    std::optional<std::size_t> begins;
};

std::vector<Wait> waits_of(const Ops& ops) {
    std::vector<Wait> waits;
    std::map<std::uint32_t, std::size_t> begun;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const CheckOp& op = ops[i];
        if (op.mode == heddle::OpMode::captured) continue;
        if (op.kind == OpKind::synchronize_begin) begun[op.thread] = i;
        if (op.kind == OpKind::synchronize) {
            const auto found = begun.find(op.thread);
            waits.push_back(
                {i, found != begun.end() ? std::optional(found->second) : std::nullopt});
            if (found != begun.end()) begun.erase(found);
        }
        if (op.kind == OpKind::wait || op.kind == OpKind::query) waits.push_back({i, {}});
    }
    return waits;
}

/// Returns the operations with the wait replaced by an operation without any order.
Ops without(Ops ops, const Wait& wait) {
    const auto leave_out = [&](std::size_t index) {
        ops[index] = {};
        ops[index].kind = OpKind::host_function_begin;
    };
    leave_out(wait.index);
    if (wait.begins) leave_out(*wait.begins);
    return ops;
}

/// An edge of a launched graph.
struct Edge {
    std::uint64_t shape;
    std::size_t node, index;
};

std::vector<Edge> edges_of(const Ops& ops) {
    std::vector<Edge> edges;
    std::set<std::uint64_t> seen;
    for (const CheckOp& op : ops) {
        if (op.shape == nullptr || !seen.insert(op.shape->id).second) continue;
        for (std::size_t node = 0; node < op.shape->nodes.size(); ++node)
            for (std::size_t i = 0; i < op.shape->nodes[node].after.size(); ++i)
                edges.push_back({op.shape->id, node, i});
    }
    return edges;
}

Ops without(Ops ops, const Edge& edge) {
    std::shared_ptr<CheckShape> made;
    for (CheckOp& op : ops) {
        if (op.shape == nullptr || op.shape->id != edge.shape) continue;
        if (made == nullptr) {
            made = std::make_shared<CheckShape>(*op.shape);
            auto& after = made->nodes[edge.node].after;
            after.erase(after.begin() + static_cast<std::ptrdiff_t>(edge.index));
        }
        op.shape = made;
    }
    return ops;
}

#if __has_include(<catch2/catch_all.hpp>)
using ListenerBase = Catch::EventListenerBase;
#else
using ListenerBase = Catch::TestEventListenerBase;
#endif

class TraceMutants final : public ListenerBase {
public:
    using ListenerBase::ListenerBase;

    void testCaseStarting(const Catch::TestCaseInfo& test) override {
        const char* const wanted = std::getenv("HEDDLE_TEST_MUTATE_TRACES");
        if (wanted == nullptr || *wanted == '\0') return;
        most_mutants_ = std::strtoul(wanted, nullptr, 10);
        name_ = test.name;
        trace_.emplace(most_ops);
    }
    void testCaseEnded(const Catch::TestCaseStats&) override {
        if (!trace_) return;
        Ops ops = trace_->take();
        trace_.reset();
        compare(std::move(ops));
    }
    void testRunEnded(const Catch::TestRunStats&) override {
        if (programs_ == 0) return;
        std::printf(
            "traces: %zu programs: %zu waits left out (%zu needed), %zu edges (%zu needed); "
            "%zu programs race, %zu not known to the oracle, %zu told out of order\n"
            "traces: %zu disagreements\n",
            programs_, waits_.count, waits_.needed, edges_.count, edges_.needed, racy_, unknown_,
            unordered_, disagreements_);
        std::fflush(stdout);
        if (disagreements_ != 0) std::_Exit(1);
    }

private:
    void compare(Ops ops) {
        ++programs_;
        if (!std::ranges::all_of(ops, heddle_test::TraceOracle::knows)) return (void)++unknown_;
        if (!heddle_test::is_in_order(ops)) return (void)++unordered_;
        const std::size_t expected = heddle_test::first_race_by_oracle(ops);
        disagree_unless(first_race_by_checker(ops), expected, ops, ops.size());
        if (expected != ops.size()) return (void)++racy_;
        leave_out(ops, waits_of(ops), waits_);
        leave_out(ops, edges_of(ops), edges_);
    }
    struct Sum {
        std::size_t count = 0, needed = 0;
    };
    template <class What> void leave_out(const Ops& ops, const std::vector<What>& all, Sum& sum) {
        const std::size_t step = 1 + all.size() / std::max<std::size_t>(1, most_mutants_);
        for (std::size_t i = 0; i < all.size(); i += step) {
            const Ops mutant = without(ops, all[i]);
            const std::size_t race = heddle_test::first_race_by_oracle(mutant);
            ++sum.count;
            sum.needed += race != mutant.size();
            disagree_unless(first_race_by_checker(mutant), race, mutant, index_of(all[i]));
        }
    }
    static std::size_t index_of(const Wait& wait) { return wait.index; }
    static std::size_t index_of(const Edge& edge) { return edge.node; }
    void disagree_unless(std::size_t found, std::size_t expected, const Ops& ops,
                         std::size_t left_out) {
        if (found == expected) return;
        ++disagreements_;
        std::printf(
            "traces: %s: without wait or node %zu of %zu operations the oracle finds a race "
            "at %zu, the checker at %zu\n",
            name_.c_str(), left_out, ops.size(), expected, found);
    }

    std::string name_;
    std::optional<Trace> trace_;
    std::size_t most_mutants_ = 0;
    std::size_t programs_ = 0, racy_ = 0, unknown_ = 0, unordered_ = 0, disagreements_ = 0;
    Sum waits_, edges_;
};

}  // namespace

CATCH_REGISTER_LISTENER(TraceMutants)
