// Writes a recording when the program ends without returning from main().
#pragma once

namespace heddle::detail {

/// Registers `write`, which is called when the program ends by std::terminate(), abort(), or a
/// fatal signal such as SIGSEGV. Handlers registered earlier are called afterwards. SIGINT (Ctrl-C)
/// and SIGTERM also call it, unless the program ignores or handles them, before or after this call.
/// It is not called in a child of fork(). Call this once. Throws the exceptions of thread creation.
///
/// `write` runs in a copy of the process that has only the thread that made the copy. So it may
/// allocate, fail and hang. The original process does not allocate, takes no lock, and ends as it
/// would have ended otherwise. It waits for the copy for at most 2 s. A slower copy continues by
/// itself, and is stopped 20 s after its start. The copy has no open files. When it exits, the
/// program receives no SIGCHLD, and wait() does not return it. Exceptions of `write` are printed to
/// stderr while the process waits.
///
/// Under ThreadSanitizer, which does not support such copies, a thread of the process calls
/// `write`.
void write_at_bad_end(void (*write)());

}  // namespace heddle::detail
