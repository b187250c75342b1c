// Memory of CPU devices, copies and fills.
#pragma once

#include <cstddef>

#include "core/seam/backend.hpp"

namespace heddle::detail::cpu {

/// A block of memory that is freed later. Created together with the memory, because freeing must
/// not fail.
struct Kept {
    void* base;
    std::size_t bytes;
    int device;
    void (*give_back)(Kept& memory) noexcept;
};
using GiveBack = decltype(Kept::give_back);
/// Frees the memory once all work enqueued so far on `users` is done, like Backend::free().
bool give_back_after(Kept& memory, const StreamUse* users, std::size_t user_count) noexcept;

/// Return the closures of copies and fills.
SharedClosure copy_closure(const Operand& to, const Operand& from, const OpType*& type,
                           std::size_t& count);
SharedClosure fill_closure(const Operand& to, const void* value, std::size_t size,
                           const OpType*& type, std::size_t& count);

}  // namespace heddle::detail::cpu
