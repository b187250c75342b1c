// Finds the first race in a list of operations with the ordering checker.
#pragma once

#include <cstddef>

#include "check/engine.hpp"
#include "check/trace.hpp"

namespace heddle_test {

/// Returns the place of the first operation that has a race. Returns the list's length if none has.
inline std::size_t first_race_by_checker(const Ops& ops) {
    heddle::detail::CheckEngine engine;
    for (std::size_t i = 0; i < ops.size(); ++i) {
        engine.add(ops[i]);
        for (const heddle::detail::Finding& one : engine.findings())
            if (one.kind < heddle::detail::FindingKind::free_before_use) return i;
        engine.findings().clear();
    }
    return ops.size();
}

}  // namespace heddle_test
