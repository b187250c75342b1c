#include "check/checker.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "check/words.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/operation/calls.hpp"
#include "core/stream/scopes.hpp"

namespace heddle::detail {

namespace {

/// The function passed to on_race(), if any.
struct RaceHook {
    std::mutex mutex;
    RaceFunction function;
};
constinit MadeOnce<RaceHook> race_hook;

constinit thread_local int off_depth = 0;

/// The place of the calling thread's newest operation. Valid only for the check with this number.
struct LastPlace {
    std::uint64_t check = 0;
    SiteId site = 0;
};
constinit thread_local LastPlace last_place;
constinit std::atomic<std::uint64_t> checks{0};

/// Invalidates the cached answers to checks of earlier host uses. A concurrent change of the epoch,
/// for example when the check ends, has the same effect.
void end_known_uses() noexcept {
    std::uint64_t epoch = host_use_epoch.load(std::memory_order_relaxed);
    if (epoch != 0)
        host_use_epoch.compare_exchange_strong(epoch, epoch + 1, std::memory_order_release,
                                               std::memory_order_relaxed);
}

/// Returns whether a place is in a header of the standard library. Functions there call an array's
/// members for the user, for example std::ranges::begin() for a std::span.
bool is_in_standard_library(const char* file) noexcept {
    return std::strstr(file, "/c++/") != nullptr;
}

const char* name_of(HostCall call) noexcept {
    switch (call) {
    case HostCall::element: return "array[i]";
    case HostCall::begin: return "array.begin()";
    case HostCall::data: return "array.data()";
    case HostCall::none: break;
    }
    return "";
}

/// Returns whether the operation's accesses count even inside a ScopedOff. Allocations and frees
/// do.
bool always_counts(OpKind kind) noexcept {
    return kind == OpKind::allocate || kind == OpKind::free;
}

}  // namespace

void set_race_function(RaceFunction function) {
    RaceHook& hook = race_hook.get();
    const std::lock_guard lock(hook.mutex);
    hook.function = std::move(function);
}

Checker::Checker(const check::Options& options)
    : options_(options), number_(++checks), process_(forks()) {
    add_observer(*this, {.host_functions = true});
}

Checker::~Checker() { stop(); }

void Checker::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(has_stopped_, true)) return;
    }
    remove_observer(*this);
    try {
        News news;
        {
            const std::lock_guard lock(mutex_);
            intake_.finish();
            news = take_news();
        }
        tell(news);
    } catch (...) {
        report(std::current_exception());
    }
}

check::Summary Checker::summary() const {
    const std::lock_guard lock(mutex_);
    return summary_;
}

void Checker::on_op(const OpInfo& info) noexcept {
    give([&] {
        if (info.stream) names_.keep(info.stream);
        const CheckOp& op = reader_.read(info);
        note_place(op);
        if (off_depth > 0 && !always_counts(info.kind)) [[unlikely]] {
            CheckOp silent = op;
            silent.accesses.clear();
            silent.shape = nullptr;
            intake_.add(silent);
        } else {
            intake_.add(op);
        }
        end_known_uses();
        if (info.where.line != 0) last_place = {number_, op.site};
        ++summary_.operations;
        if (info.holds_pointers && off_depth == 0) [[unlikely]]
            note_undeclared(op.site, info.pointers);
    });
}

void Checker::note_undeclared(SiteId kernel, std::span<const void* const> pointers) {
    constexpr std::size_t most_told = 5;
    if (!undeclared_.insert(kernel).second) return;
    if (summary_.undeclared++ >= most_told) return;
    std::string text = named_place(reader_.sites()[kernel]);
    std::set<SiteId> arrays;
    for (const void* const pointer : pointers)
        arrays.insert(engine_.made_at(reinterpret_cast<std::uintptr_t>(pointer)));
    arrays.erase(0);
    const char* before = ", into the array made at ";
    for (const SiteId made : arrays) {
        text += before + place_text(reader_.sites()[made]);
        before = " and the one made at ";
    }
    summary_.undeclared_at.push_back(std::move(text));
}

SiteId Checker::site_of(const ToldUse& use, CheckOp& op) {
    const char* const name = name_of(use.use.call());
    const bool is_known = use.where.line != 0 && !is_in_standard_library(use.where.file);
    if (is_known) return reader_.intern(OpKind::host_access, name, use.where);
    op.is_after_site = last_place.check == number_;
    if (!op.is_after_site) return reader_.intern(OpKind::host_access, name, {});
    const Site last = reader_.sites()[last_place.site];
    return reader_.intern(OpKind::host_access, name, {last.file.c_str(), last.line, last.column});
}

KnownUses Checker::host_use(const ToldUse& told) noexcept {
    if (off_depth > 0) return {};
    const HostUse use = told.use;
    const bool is_address = use.call() == HostCall::data;
    // A std::span or an algorithm takes the address too, but also calls begin(), which reports the
    // kind of use.
    if (is_address && is_in_standard_library(told.where.file))
        return {told.array_begin, told.array_end, KnownUses::addresses};
    const CheckAccess all{{between(told.array_begin, told.array_end), told.allocation,
                           static_cast<std::uint32_t>(use.element()),
                           use.only_reads() ? AccessMode::read : AccessMode::read_write}};
    CheckAccess used = all;
    static_cast<MemoryRange&>(used) = between(told.begin, told.end);
    CheckOp op;
    op.kind = OpKind::host_access;
    op.reach = is_address         ? HostReach::takes_address
               : use.only_reads() ? HostReach::reads
                                  : HostReach::reads_or_writes;
    CheckEngine::HostLook seen;
    give([&] { seen = intake_.look(op, used, all, [&] { return site_of(told, op); }); });
    // After a race, the answer covers the whole array, so that a loop reports the race only once.
    if (seen.is_race) {
        const std::uint8_t kind = is_address         ? KnownUses::addresses
                                  : use.only_reads() ? KnownUses::reads
                                                     : KnownUses::all;
        constexpr std::uint8_t everything =
            KnownUses::reads | KnownUses::all | KnownUses::addresses;
        return {told.array_begin, told.array_end, seen.is_certain ? everything : kind};
    }
    const std::uint8_t right =
        use.only_reads() ? KnownUses::reads : KnownUses::reads | KnownUses::all;
    return {seen.begin, seen.end, static_cast<std::uint8_t>(right | KnownUses::addresses)};
}

// Records nothing outside a host function: there, only the host's work precedes the release.
void Checker::released(const void* key) {
    const std::uint64_t function = this_call().parent;
    if (function == 0) return;
    give([&] { intake_.released(reinterpret_cast<std::uintptr_t>(key), function); });
}

void Checker::acquired(const void* key, const SourceLocation& where) {
    give([&] {
        const SiteId site = reader_.intern(OpKind::synchronize, "check::acquired", where);
        intake_.acquired(reinterpret_cast<std::uintptr_t>(key), site);
    });
}

template <class F> void Checker::give(F&& use) noexcept try {
    if (forks() != process_) return;
    News news;
    {
        const std::lock_guard lock(mutex_);
        if (has_stopped_) return;
        use();
        if (!engine_.findings().empty()) [[unlikely]]
            news = take_news();
    }
    if (!news.races.empty() || !news.faults.empty()) [[unlikely]]
        tell(news);
} catch (...) {
    // A missing operation could cause false reports, so an exception ends the check.
    const std::lock_guard lock(mutex_);
    if (!std::exchange(has_stopped_, true)) report(std::current_exception());
}

Checker::News Checker::take_news() {
    News news;
    for (const Finding& finding : engine_.findings()) {
        if (!log_.add(finding)) continue;
        if (finding.kind == FindingKind::elision_fault) {
            ++summary_.faults;
            news.faults += fault_text(finding, *this);
            continue;
        }
        ++(finding.is_certain ? summary_.certain : summary_.possible);
        // A wait for an unrecorded event is a mistake, even if another order exists.
        const bool waits_for_nothing = finding.order.kind == KnownOrder::Kind::never_recorded;
        if (finding.is_certain || options_.strict || waits_for_nothing)
            news.races.push_back(race_of(explained(finding), *this));
    }
    engine_.findings().clear();
    return news;
}

void Checker::note_place(const CheckOp& op) {
    if (op.mode == OpMode::captured) return captured_forks_.add(op, reader_.sites()[op.site]);
    if (op.share != 0) return;  // all shares belong to one call
    if (op.site >= reached_.size()) reached_.resize(reader_.sites().size());
    if (reached_[op.site] < 2) ++reached_[op.site];
}

bool Checker::is_again_in_graph(const Finding& finding) const {
    const CheckShape* const shape = reader_.find_shape(finding.shape);
    if (shape == nullptr) return false;
    const Site& place = reader_.sites()[finding.second.site];
    return std::ranges::any_of(
        std::span(shape->nodes).first(finding.first.node + 1), [&](const CheckNode& node) {
            const Site& one = reader_.sites()[node.site];
            return one.file == place.file && one.line == place.line && one.column == place.column;
        });
}

Finding Checker::explained(Finding finding) {
    const FindingSide& first = finding.first;
    const auto place = [this](SiteId site) -> const Site& { return reader_.sites()[site]; };
    if (finding.in_graph) {
        finding.is_again = is_again_in_graph(finding);
        finding.fork = captured_forks_.fork_of(place(first.site), place(finding.second.site));
    } else {
        finding.is_again =
            finding.second.site < reached_.size() && reached_[finding.second.site] > 1;
    }
    if (!finding.in_graph)
        finding.record_behind = engine_.record_behind(first.stream, first.position);
    const UnwaitedScope scope = unwaited_scope(finding.second.stream, first.stream, first.position);
    if (scope.call != nullptr && finding.fork == 0)
        finding.unwaited_scope = reader_.intern(OpKind::wait, scope.call, scope.where);
    finding.same_wait = asked_waits_.find(finding);
    if (finding.same_wait == 0) asked_waits_.add(finding, engine_.newest(first.stream));
    return finding;
}

void Checker::tell(const News& news) const {
    RaceFunction function;
    {
        RaceHook& hook = race_hook.get();
        const std::lock_guard lock(hook.mutex);
        function = hook.function;
    }
    if (!news.faults.empty()) std::fputs(news.faults.c_str(), stderr);
    for (const check::Race& race : news.races) {
        if (function) function(race);
        else std::fputs(race.text.c_str(), stderr);
    }
    if (!options_.abort) return;
    for (const check::Race& race : news.races)
        if (race.certain) std::abort();
}

}  // namespace heddle::detail

namespace heddle::check {

ScopedOff::ScopedOff() noexcept { ++detail::off_depth; }
ScopedOff::~ScopedOff() { --detail::off_depth; }

}  // namespace heddle::check
