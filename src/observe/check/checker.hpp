// The running check: passes observed operations to the engine and reports its findings.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <heddle/observe/check.hpp>
#include <heddle/operation/observer.hpp>

#include "check/asked_waits.hpp"
#include "check/captured_forks.hpp"
#include "check/engine.hpp"
#include "check/finding.hpp"
#include "check/intake.hpp"
#include "check/op_reader.hpp"
#include "check/report.hpp"
#include "check/stream_names.hpp"
#include "core/memory/host_use.hpp"

namespace heddle::detail {

/// Receives races, which are then not printed to stderr. May be null.
using RaceFunction = std::function<void(const check::Race&)>;

/// Checks from construction to destruction. Checks nothing in a process that fork() created.
/// Thread-safe.
class Checker final : public Observer, private ReportNames {
public:
    explicit Checker(const check::Options& options);
    ~Checker();
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    void on_op(const OpInfo& op) noexcept override;

    /// See HostUseFunction.
    KnownUses host_use(const ToldUse& use) noexcept;

    /// See check::released() and acquired().
    void released(const void* key);
    void acquired(const void* key, const SourceLocation& where);

    /// Ends the check. summary() is complete then.
    void stop() noexcept;
    check::Summary summary() const;

private:
    const Site& site(SiteId id) const override { return reader_.sites()[id]; }
    std::string stream(std::uint64_t id) const override { return names_.full(id); }
    std::string short_stream(std::uint64_t id) const override { return names_.name(id); }
    std::string made_at(std::uint64_t id) const override { return names_.made(id); }

    struct News {
        std::vector<check::Race> races;
        std::string faults;  ///< texts about faults of heddle itself
    };
    /// Calls use() with the mutex held, and then reports new findings. Does nothing after stop() or
    /// in a forked process. Ends the check if use() throws.
    template <class F> void give(F&& use) noexcept;
    /// Returns the engine's findings without repeated ones, and clears them. Call with the mutex
    /// held.
    News take_news();
    SiteId site_of(const ToldUse& use, CheckOp& op);
    /// Returns the finding with the details that only reports need.
    Finding explained(Finding finding);
    /// Records, for reports, that the operation's place was reached.
    void note_place(const CheckOp& op);
    /// Returns whether a node from the second node's place is listed before the first node, or is
    /// that node.
    bool is_again_in_graph(const Finding& finding) const;
    void tell(const News& news) const;
    /// Records a kernel that received these pointers without declaring its accesses through them.
    /// The check cannot see such accesses.
    void note_undeclared(SiteId kernel, std::span<const void* const> pointers);

    const check::Options options_;
    const std::uint64_t number_;  ///< unique among the checks of this process
    const int process_;
    mutable std::mutex mutex_;  ///< guards the members below
    bool has_stopped_ = false;
    OpReader reader_;
    StreamNames names_;
    CheckEngine engine_;
    Intake intake_{engine_};
    FindingLog log_;
    AskedWaits asked_waits_;
    CapturedForks captured_forks_;
    std::vector<std::uint8_t> reached_;  ///< by site: how often it was reached, at most 2
    check::Summary summary_;
    std::set<SiteId> undeclared_;
};

/// Sets the function that receives the races of all checks. Thread-safe.
void set_race_function(RaceFunction function);

}  // namespace heddle::detail
