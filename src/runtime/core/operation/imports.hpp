// Lists the arrays and events that this process has imported from other processes. The watch uses
// the list, because an exporting process may have ended. A DataOrder uses the list, because
// two imports may refer to the same memory.
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

/// Adds an import. Has no effect if memory is exhausted. Thread-safe.
void note_import(const Import& import) noexcept;
/// Removes an import that was destroyed.
void forget_import(std::uint64_t key) noexcept;
/// Returns Import::memory of an array that is imported now. Returns 0 if the import could not be
/// added for lack of memory.
std::uint64_t imported_memory(std::uint64_t serial) noexcept;
/// Lists the imports. Returns false if another thread holds their lock.
bool list_imports(std::vector<Import>& to);

}  // namespace heddle::detail
