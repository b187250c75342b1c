#include "cpu/executor/fibers.hpp"

#include <new>

namespace heddle::detail::cpu {

namespace {
Fiber* make(const std::string& name) {
    Fiber* const fiber = Fiber::make(name.c_str());
    if (fiber == nullptr) throw std::bad_alloc();
    return fiber;
}
}  // namespace

Fibers::Fibers(const StreamRecord& stream)
    : name_(stream.name.empty() ? stream.display_name() : "stream '" + stream.name + "'"),
      main_(make(name_)) {}

Fibers::~Fibers() {
    main_->end();
    for (Fiber* fiber : free_) fiber->end();
}

Fiber* Fibers::take() {
    {
        const std::lock_guard lock(lock_);
        if (!free_.empty()) {
            Fiber* const fiber = free_.back();
            free_.pop_back();
            return fiber;
        }
    }
    return make(name_);
}

TakenFiber::TakenFiber(Fibers* fibers) noexcept : fibers_(fibers) {
    if (fibers == nullptr) [[likely]]
        return;
    try {
        fiber_ = fibers->take();
    } catch (const std::bad_alloc&) {
        // Continues without a fiber. ThreadSanitizer may then report false races.
    }
}

void Fibers::give(Fiber* fiber) noexcept {
    const std::lock_guard lock(lock_);
    try {
        free_.push_back(fiber);
    } catch (...) {
        fiber->end();
    }
}

}  // namespace heddle::detail::cpu
