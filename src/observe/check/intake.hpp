// Puts observed operations into the order that the engine needs.
#pragma once

#include <cstdint>
#include <vector>

#include "check/engine.hpp"

namespace heddle::detail {

/// Passes operations to the engine, and each host function before the operations that it enqueues.
/// A host function may begin before observers are notified that it was enqueued. Operations
/// observed before that notification are held until it arrives. Not thread-safe.
class Intake {
public:
    explicit Intake(CheckEngine& engine) : engine_(engine) {}
    void add(const CheckOp& op) {
        if (!kept_.empty() || is_early(op.parent)) [[unlikely]]
            return keep(op);
        engine_.add(op);
    }
    /// Compares a use by the host; see CheckEngine::look(). While operations are held, the engine
    /// lacks some of the operations that precede the use. So the use is held, too, and an empty
    /// result is returned.
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
    /// Passes all held operations to the engine, and ends the input.
    void finish();

private:
    struct Kept {
        enum class What : std::uint8_t { op, missing, released, acquired, host_use };
        What what;
        /// For `missing`, the id of the host function that is still being enqueued. For `released`,
        /// the id of the host function that called released().
        std::uint64_t id = 0;
        std::uint64_t key = 0;
        CheckOp op = {};  ///< for acquired(), only the site is set
        CheckAccess use = {};
    };

    bool is_early(std::uint64_t parent) const {
        return parent != 0 && !engine_.knows_function(parent) && is_missing(parent);
    }
    bool is_missing(std::uint64_t parent) const;
    /// Reserves a place for a host function that is still being enqueued, before the next held
    /// operation. Skips functions that were already observed or already have a place.
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
