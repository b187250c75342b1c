#include <heddle/memory/loan.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/base/report.hpp"
#include "core/memory/memory.hpp"
#include "core/seam/backend.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle {

namespace {

/// Adds an owner, for the array, to the loan's block.
detail::Block& with_array(detail::Block& block) noexcept {
    detail::share(block);
    return block;
}

/// Pins memory until the object is destroyed. After release(), the memory stays pinned.
class Registration {
public:
    Registration(void* data, std::size_t bytes, const SourceLocation& where)
        : data_(data), bytes_(bytes) {
        if (bytes != 0) detail::pinned_backend().register_host(data, bytes, where);
    }
    Registration(const Registration&) = delete;
    ~Registration() {
        if (bytes_ != 0) detail::pinned_backend().unregister_host(data_, bytes_);
    }
    void release() noexcept { bytes_ = 0; }

private:
    void* data_;
    std::size_t bytes_;
};

}  // namespace

detail::Block* Loan::find(const detail::ForeignMemory& memory) const noexcept {
    const auto found = std::ranges::find_if(lent_, [&](const Lent& lent) {
        const detail::Block& block = *lent.block;
        return block.data == memory.data && block.bytes == memory.count * memory.element &&
               block.device == memory.device && block.kind == memory.kind && block.bytes != 0;
    });
    return found != lent_.end() ? found->block : nullptr;
}

detail::Block& Loan::lend_block(detail::ForeignMemory memory, Where where) try {
    if (detail::Block* const lent = find(memory)) return with_array(*lent);
    memory.origin = detail::MemoryOrigin::lent;
    lent_.reserve(lent_.size() + 1);
    detail::Block& block = detail::adopt_memory(memory, nullptr, "lend", where);
    lent_.push_back({&block, false});
    return with_array(block);
} catch (...) {
    detail::rethrow_as_error("lend", where);
}

detail::Block& Loan::register_block(detail::ForeignMemory memory, Where where) try {
    if (detail::Block* const lent = find(memory)) return with_array(*lent);
    memory.origin = detail::MemoryOrigin::lent;
    lent_.reserve(lent_.size() + 1);
    detail::check_foreign(memory, "register_host", where);
    Registration pinned(memory.data, memory.count * memory.element, where);
    detail::Block& block = detail::adopt_memory(memory, nullptr, "register_host", where);
    pinned.release();
    lent_.push_back({&block, true});
    return with_array(block);
} catch (...) {
    detail::rethrow_as_error("register_host", where);
}

void Loan::end(Where where) try {
    detail::check_may_wait("Loan", where);
    std::exception_ptr failed;
    for (; !lent_.empty(); lent_.pop_back()) {
        const Lent lent = lent_.back();
        lent.block->alive.store(false, std::memory_order_release);
        bool is_unused = false;
        try {
            detail::block_until_unused(lent.block, where);
            is_unused = true;
        } catch (...) {
            if (detail::is_want_of_memory()) {  // the block stays, for the next call
                if (failed != nullptr) detail::report(failed);
                throw;
            }
            if (failed == nullptr) failed = std::current_exception();
        }
        // Memory that may be in use stays pinned.
        if (is_unused && lent.is_registered && lent.block->bytes != 0)
            detail::pinned_backend().unregister_host(lent.block->data, lent.block->bytes);
        detail::release(*lent.block);
    }
    if (failed != nullptr) std::rethrow_exception(failed);
} catch (...) {
    detail::rethrow_as_error("Loan", where);
}

Loan::~Loan() {
    using namespace std::chrono_literals;
    for (bool is_reported = false; !lent_.empty(); std::this_thread::sleep_for(1ms)) {
        try {
            end();
            return;
        } catch (...) {
            const bool is_retried = detail::is_want_of_memory();
            if (!is_retried || !is_reported) detail::report(std::current_exception());
            if (!is_retried) break;
            is_reported = true;
        }
    }
    for (const Lent& lent : lent_) {
        lent.block->alive.store(false, std::memory_order_release);
        detail::release(*lent.block);
    }
}

}  // namespace heddle
