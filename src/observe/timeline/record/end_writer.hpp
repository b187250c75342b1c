// Writes a recording when the program ends without returning from main().
#pragma once

namespace heddle::detail {

/// Registers `write`. It is called when the program ends by std::terminate(), abort(), or a fatal
/// signal such as SIGSEGV. Handlers that were registered earlier are called afterwards. SIGINT
/// (Ctrl-C) and SIGTERM also call `write`, unless the program ignores or handles them at that time.
/// `write` is not called in a child of fork(). Call this function once. Throws the exceptions of
/// thread creation.
///
/// `write` runs in a copy of the process. The copy has only the thread that made it, so `write` may
/// allocate, fail and hang. The original process allocates nothing, acquires no lock, and finally
/// ends as it would have ended without this function. First it waits for the copy, for at most 2 s.
/// A slower copy continues alone, and is stopped 20 s after its start. The copy has no open files.
/// When it exits, the program receives no SIGCHLD, and wait() does not return it. While the process
/// waits, it prints exceptions of `write` to stderr.
///
/// ThreadSanitizer does not support such copies. In builds with it, a thread of the process calls
/// `write`.
void write_at_bad_end(void (*write)());

}  // namespace heddle::detail
