#include "core/operation/imports.hpp"

#include <mutex>

#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/base/spin_lock.hpp"

namespace heddle::detail {

namespace {
constinit SpinLock lock;
constinit NeverDestroyed<std::vector<Import>> imports;  ///< guarded by the lock
const ForkRegistration imports_registered{ForkOrder::imports, lock};
}  // namespace

void note_import(const Import& import) noexcept {
    const std::lock_guard guard(lock);
    try {
        imports.get().push_back(import);
    } catch (...) {
        // Memory is exhausted: reports will not mention the import.
    }
}

void forget_import(std::uint64_t key) noexcept {
    const std::lock_guard guard(lock);
    std::erase_if(imports.get(), [&](const Import& one) { return one.key == key; });
}

std::uint64_t imported_memory(std::uint64_t serial) noexcept {
    const std::lock_guard guard(lock);
    for (const Import& one : imports.get())
        if (one.key == serial && !one.is_event) return one.memory;
    return 0;
}

bool list_imports(std::vector<Import>& to) {
    const std::unique_lock guard(lock, std::try_to_lock);
    if (guard.owns_lock()) to = imports.get();
    return guard.owns_lock();
}

}  // namespace heddle::detail
