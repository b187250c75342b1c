// A recorded program crashes, and then its malloc() aborts. The program must still end by the
// crash's signal. This works because a copy of the process writes the recording.
//   crash_without_malloc         runs itself once more, recorded, and checks how that ends
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <heddle/heddle.hpp>

namespace {

std::atomic<bool> has_crashed{false};

/// Returns whether all threads of this process but the main one are asleep.
bool do_others_sleep() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(getpid())) continue;
        std::string stat;
        std::getline(std::ifstream(task.path() / "stat"), stat);
        // The state follows the thread's name, which is in brackets.
        if (const std::size_t end = stat.rfind(')'); stat.compare(end + 1, 3, " S ") != 0)
            return false;
    }
    return true;
}

}  // namespace

extern "C" {
void* __libc_malloc(std::size_t);
void* malloc(std::size_t bytes) {
    if (has_crashed.load()) {
        constexpr char text[] = "malloc() was called\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(3);
    }
    return __libc_malloc(bytes);
}
}

int main(int argc, char** argv) {
    if (argc > 1) {
        const heddle::Stream s(heddle::Device("cpu"));
        std::atomic<int> ran{0};
        for (int i = 0; i < 3; ++i) {
            launch_host(s, [&ran] { ++ran; });
            while (ran.load() != i + 1) std::this_thread::yield();
        }
        // Until then, the worker may record the last function, and the thread that writes the
        // recording may begin. Both allocate.
        while (!do_others_sleep()) std::this_thread::yield();
        has_crashed.store(true);
        (void)std::raise(SIGSEGV);
        return 1;
    }
    (void)setenv("HEDDLE_CPU_THREADS", "1", 1);
    (void)setenv("HEDDLE_TIMELINE", "/tmp/heddle-crash-%p.trace", 1);
    char once[] = "once";
    char* arguments[] = {argv[0], once, nullptr};
    pid_t child = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0) return 1;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) return 0;
    std::printf("it ended with status %#x, and not by SIGSEGV\n", static_cast<unsigned>(status));
    return 1;
}
