// Conditional nodes of graphs on CPU devices. Each pass through a body is a separate run. No thread
// blocks until a pass ends.
#include "cpu/graph/order.hpp"

#include "cpu/executor/slice.hpp"

namespace heddle::detail::cpu {

const std::shared_ptr<const Plan>* Branch::chosen(Fiber* fiber) const noexcept {
    // libc++ 19 cannot load through an atomic_ref to a const object.
    const int now = fiber != nullptr
                        ? fiber->load(value)
                        : std::atomic_ref(const_cast<int&>(*value)).load(std::memory_order_acquire);
    std::size_t body = 0;
    switch (kind) {
    case ConditionalKind::if_else:
    case ConditionalKind::while_loop: body = now != 0 ? 0 : 1; break;
    case ConditionalKind::switch_case:
        body = now >= 0 ? static_cast<std::size_t>(now) : bodies.size();
        break;
    }
    return body < bodies.size() ? &bodies[body] : nullptr;
}

bool GraphRun::run_branch(std::uint32_t index, Ready& ready) {
    const Branch& branch = *plan_->tasks[index].branch;
    Pass& pass = passes_[branch.index];
    if (pass.has_run && order() != nullptr) fiber(index)->acquire(pass.done->order());
    Slice slice(*this);
    for (int passes = 0;; ++passes) {
        if (is_failed(index)) return true;
        if (branch.kind == ConditionalKind::while_loop) {
            // A task outside the loop may have failed, and the loop may be waiting for that task.
            fail(index, failure_beside());
            if (is_failed(index)) return true;
        }
        if (pass.has_run && branch.kind != ConditionalKind::while_loop) return true;
        const std::shared_ptr<const Plan>* body = branch.chosen(fiber(index));
        if (body == nullptr) return true;
        if (passes != 0 && slice.is_over()) {
            push(ready, index);
            ready.leave = true;
            return false;
        }
        pass.run = this;
        pass.task = index;
        if (!run_pass(pass, *body)) return false;
    }
}

bool GraphRun::run_pass(Pass& pass, const std::shared_ptr<const Plan>& body) {
    pass.wake = [](Waiter& self, const Completion& done) noexcept {
        auto& own = static_cast<Pass&>(self);
        GraphRun& run = *own.run;
        run.fail(own.task, done.failure());
        // If the thread that started the pass has not set the flag yet, that thread continues the
        // node. Otherwise this thread does.
        if (!own.one_is_done.exchange(true, std::memory_order_acq_rel)) return;
        own.one_is_done.store(false, std::memory_order_relaxed);
        Ready next;
        run.push(next, own.task);
        run.share(next, 0);
        run.release();
    };
    CompletionRef done = make_completion();
    auto inner = std::make_unique<GraphRun>(body, stream_, level(), done, CompletionRef(), this);
    inner->tell_observers(launch_id_, is_timed_);
    pass.has_run = true;
    if (order() != nullptr) {
        pass.done = done;
        inner->order()->begin(*fiber(pass.task));
    }
    (void)done->add(pass);  // the pass has not started, so `done` cannot have completed
    references_.fetch_add(1, std::memory_order_relaxed);
    inner.release()->start();
    if (!pass.one_is_done.exchange(true, std::memory_order_acq_rel)) return false;
    pass.one_is_done.store(false, std::memory_order_relaxed);
    // Not the last reference, because this thread holds one.
    references_.fetch_sub(1, std::memory_order_relaxed);
    if (order() != nullptr) fiber(pass.task)->acquire(done->order());
    return true;
}

}  // namespace heddle::detail::cpu
