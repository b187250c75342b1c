#include "check/intake.hpp"

#include <algorithm>

#include "core/operation/function_mark.hpp"

namespace heddle::detail {

bool Intake::is_missing(std::uint64_t parent) const {
    const auto is_it = [&](const Kept& one) { return one.op.id == parent; };
    return std::none_of(kept_.begin(), kept_.end(), is_it) && is_being_enqueued(parent);
}

void Intake::expect(std::uint64_t parent) {
    const auto is_it = [&](const Kept& one) {
        return one.what == Kept::What::missing && one.id == parent;
    };
    if (is_early(parent) && std::none_of(kept_.begin(), kept_.end(), is_it))
        kept_.push_back({Kept::What::missing, parent});
}

void Intake::keep(const CheckOp& op) {
    const auto is_it = [&](const Kept& one) {
        return one.what == Kept::What::missing && one.id == op.id;
    };
    const auto place = std::find_if(kept_.begin(), kept_.end(), is_it);
    if (place != kept_.end()) {
        *place = {.what = Kept::What::op, .op = op};
    } else {
        expect(op.parent);
        kept_.push_back({.what = Kept::What::op, .op = op});
    }
    give_if_complete();
}

void Intake::released(std::uint64_t key, std::uint64_t function) {
    expect(function);
    if (kept_.empty()) return engine_.released(key, function);
    kept_.push_back({Kept::What::released, function, key});
}

void Intake::acquired(std::uint64_t key, SiteId site) {
    if (kept_.empty()) return engine_.acquired(key, site);
    kept_.push_back({.what = Kept::What::acquired, .key = key});
    kept_.back().op.site = site;
}

// Merges uses of adjacent elements, as in a loop, into one.
void Intake::keep_use(const CheckOp& op, const CheckAccess& use) {
    Kept& last = kept_.back();
    if (last.what == Kept::What::host_use && last.op.site == op.site && last.op.reach == op.reach &&
        last.use.allocation == use.allocation && use.address() <= last.use.end() &&
        last.use.address() <= use.end()) {
        static_cast<MemoryRange&>(last.use) = between(std::min(last.use.address(), use.address()),
                                                      std::max(last.use.end(), use.end()));
        return;
    }
    kept_.push_back({.what = Kept::What::host_use, .op = op, .use = use});
}

// Ignores a missing operation if it is no longer being enqueued: then it has failed, and observers
// will not receive it.
void Intake::give_if_complete() {
    const auto is_awaited = [](const Kept& one) {
        return one.what == Kept::What::missing && is_being_enqueued(one.id);
    };
    if (std::none_of(kept_.begin(), kept_.end(), is_awaited)) give_all();
}

void Intake::give_use(const Kept& kept) {
    CheckOp op = kept.op;
    (void)engine_.look(op, kept.use, kept.use, [&] { return op.site; });
}

void Intake::give_all() {
    for (const Kept& one : kept_) {
        switch (one.what) {
        case Kept::What::op: engine_.add(one.op); break;
        case Kept::What::missing: break;
        case Kept::What::released: engine_.released(one.key, one.id); break;
        case Kept::What::acquired: engine_.acquired(one.key, one.op.site); break;
        case Kept::What::host_use: give_use(one); break;
        }
    }
    kept_.clear();
}

void Intake::finish() {
    give_all();
    engine_.finish();
}

}  // namespace heddle::detail
