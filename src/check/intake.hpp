// The order in which the engine gets what observers are told.
#pragma once

#include <cstdint>
#include <vector>

#include "check/engine.hpp"

namespace heddle::detail {

/// Gives operations to the engine, host functions before what they enqueue. A host function may
/// begin before observers are told that it was enqueued; what they are told meanwhile is kept until
/// then. Not for use by several threads at once.
class Intake {
public:
    explicit Intake(CheckEngine& engine) : engine_(engine) {}
    void add(const CheckOp& op) {
        if (!kept_.empty() || is_early(op.parent)) [[unlikely]]
            return keep(op);
        engine_.add(op);
    }
    /// See CheckEngine.
    void released(std::uint64_t key, std::uint64_t function);
    void acquired(std::uint64_t key, SiteId site);
    /// There will be no further operations.
    void finish();

private:
    struct Kept {
        enum class What : std::uint8_t { op, missing, released, acquired };
        What what;
        /// Of what is missing: its id. Of what was released: the host function.
        std::uint64_t id = 0;
        std::uint64_t key = 0;
        CheckOp op = {};  ///< of what was acquired: the site alone
    };

    bool is_early(std::uint64_t parent) const {
        return parent != 0 && !engine_.knows_function(parent) && is_missing(parent);
    }
    bool is_missing(std::uint64_t parent) const;
    /// Notes that an operation comes before what is kept next, unless the engine gets it first.
    void expect(std::uint64_t parent);
    void keep(const CheckOp& op);
    void give_if_complete();
    void give_all();

    CheckEngine& engine_;
    std::vector<Kept> kept_;
};

}  // namespace heddle::detail
