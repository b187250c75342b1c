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
    /// A use by the host, as CheckEngine::look() compares it. While operations are kept, the engine
    /// does not know what came before the use: it is compared in its turn, and the answer is that
    /// nothing is known.
    template <class F>
    CheckEngine::HostLook look(CheckOp& op, const CheckAccess& use, const CheckAccess& all,
                               F&& make_site) {
        if (kept_.empty()) [[likely]]
            return engine_.look(op, use, all, make_site);
        op.site = make_site();
        keep_use(op, use);
        return {};
    }
    /// See CheckEngine.
    void released(std::uint64_t key, std::uint64_t function);
    void acquired(std::uint64_t key, SiteId site);
    /// There will be no further operations.
    void finish();

private:
    struct Kept {
        enum class What : std::uint8_t { op, missing, released, acquired, host_use };
        What what;
        /// Of what is missing: its id. Of what was released: the host function.
        std::uint64_t id = 0;
        std::uint64_t key = 0;
        CheckOp op = {};  ///< of what was acquired: the site alone
        CheckAccess use = {};
    };

    bool is_early(std::uint64_t parent) const {
        return parent != 0 && !engine_.knows_function(parent) && is_missing(parent);
    }
    bool is_missing(std::uint64_t parent) const;
    /// Notes that an operation comes before what is kept next, unless the engine gets it first.
    void expect(std::uint64_t parent);
    void keep(const CheckOp& op);
    void keep_use(const CheckOp& op, const CheckAccess& use);
    void give_if_complete();
    void give_use(const Kept& kept);
    void give_all();

    CheckEngine& engine_;
    std::vector<Kept> kept_;
};

}  // namespace heddle::detail
