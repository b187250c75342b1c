// Arrays and events that this process has imported from others. The watch needs them, because the
// other process may have ended. An order_by_data needs them, because two imports may be the same
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include <heddle/location.hpp>

#include "core/base/process.hpp"

namespace heddle::detail {

/// An array or an event of another process.
struct Import {
    std::uint64_t key = 0;  ///< EventState::uid, or Block::serial
    bool is_event = false;
    Process process = {};  ///< the process that exported it
    SourceLocation where = {};
    std::uint64_t memory = 0;  ///< for an array: a number that all imports of one allocation share
};

/// Notes an import. Has no effect if there is no memory. Thread-safe.
void note_import(const Import& import) noexcept;
/// Removes an import that was destroyed.
void forget_import(std::uint64_t key) noexcept;
/// Returns Import::memory of an array that is imported now. Returns 0 if it could not be noted.
std::uint64_t imported_memory(std::uint64_t serial) noexcept;
/// Lists the imports. Returns false if their lock is held.
bool list_imports(std::vector<Import>& to);

}  // namespace heddle::detail
