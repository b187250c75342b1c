// Writes a recording when the program ends in another way than by returning from main().
#pragma once

namespace heddle::detail {

/// Has `write` called when the program ends by std::terminate(), abort(), or a signal that it
/// cannot go on after, such as SIGSEGV. It is called on a thread of its own, at most once, and the
/// program waits for it at most 20 s: the thread that ends the program may hold a lock that writing
/// needs. Handlers that were there before are called afterwards. In a child of fork() it is not
/// called. Call this once. Throws what making a thread throws.
void write_at_bad_end(void (*write)());

}  // namespace heddle::detail
