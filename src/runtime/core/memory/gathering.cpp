#include "core/memory/gathering.hpp"

#include "core/seam/backend.hpp"

namespace heddle::detail {

Gathering::Gathering(std::span<const StreamUse> users)
    : nodes_(users.size()), left_(users.size() + 1) {
    parts_.reserve(users.size());
    for (const StreamUse& use : users) {
        parts_.push_back(make_completion());
        use.stream->backend->signal_use(use, parts_.back());
    }
}

void Gathering::begin() noexcept {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i].owner = this;
        nodes_[i].wake = [](Waiter& self, const Completion& done) noexcept {
            Gathering& owner = *static_cast<Node&>(self).owner;
            // If this object owns itself, only streams wait for `all`, and they do not call see().
            // So each part is marked as seen here.
            if (owner.is_alone_) done.see();
            owner.one_less();
        };
        if (!parts_[i]->add(nodes_[i])) nodes_[i].wake(nodes_[i], *parts_[i]);
    }
    one_less();
}

void Gathering::begin_alone(std::unique_ptr<Gathering> one) noexcept {
    one->is_alone_ = true;
    one.release()->begin();
}

void Gathering::see() const noexcept {
    for (const CompletionRef& part : parts_) part->see();
}

void Gathering::one_less() noexcept {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const bool is_alone = is_alone_;
    // The owner may destroy this object as soon as `all` is complete.
    const CompletionRef done = all;
    done->complete();
    if (is_alone) delete this;
}

}  // namespace heddle::detail
