// Writes a recording when the program ends in another way than by returning from main().
#pragma once

namespace heddle::detail {

/// Has `write` called when the program ends by std::terminate(), abort(), or a signal that it
/// cannot go on after, such as SIGSEGV. Handlers that were there before are called afterwards. Has
/// it called, too, when SIGINT (Ctrl-C) or SIGTERM ends the program: not if the program ignores
/// them, or handles them itself, before or after this call. In a child of fork() it is not called.
/// Call this once. Throws what making a thread throws.
///
/// `write` is called in a copy of the process, with the thread that made it alone. So it may
/// allocate, fail and hang: the process that ends does not allocate, takes no lock, and has the end
/// that it would have had. It waits for the copy at most 2 s, and a copy that is slower goes on by
/// itself, for 20 s. The copy has no open files, and its end is no child's of the program (wait(),
/// SIGCHLD). What `write` throws is printed to stderr while the process waits.
///
/// Under ThreadSanitizer, which knows no such copies, a thread of the process calls it.
void write_at_bad_end(void (*write)());

}  // namespace heddle::detail
