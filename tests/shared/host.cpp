// Loads a plugin that uses heddle, runs it, unloads it and loads it again. The program itself does
// not know heddle. The library stays loaded: its threads, and its handlers of fork() and signals,
// are within it. usage: host PLUGIN LIBRARY
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

namespace {

int run(const char* path) {
    void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    const auto plugin_run = reinterpret_cast<int (*)()>(dlsym(plugin, "plugin_run"));
    const int status = plugin_run == nullptr ? 3 : plugin_run();
    if (status != 0) std::fprintf(stderr, "the plugin returned %d\n", status);
    if (dlclose(plugin) != 0) return 4;
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    for (int i = 0; i < 5; ++i)
        if (const int status = run(argv[1]); status != 0) return status;
    int status = 0;
    std::thread([&] { status = run(argv[1]); }).join();
    if (status != 0) return status;
    if (dlopen(argv[2], RTLD_NOW | RTLD_NOLOAD) == nullptr)
        return std::fprintf(stderr, "the library was unloaded\n"), 5;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int ended = 0;
    return waitpid(child, &ended, 0) == child && ended == 0 ? 0 : 6;
}
