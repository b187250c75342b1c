// The objects that tests/gdb/check.sh prints, in all states that the pretty-printers distinguish.
#include <heddle/heddle.hpp>

#include <atomic>
#include <utility>
#include <vector>

using namespace heddle;

namespace {
std::atomic<bool> is_open{false};
}  // namespace

// gdb stops here.
[[gnu::noinline]] void stop_here() { asm volatile("" ::: "memory"); }

int main() {
    const Device device("cpu");
    Stream copy(device, {.priority = -1, .name = "copy"});
    const Stream plain(device), idle(device, {.name = "a name too long for the string itself"});
    StreamRef reference = copy, none, gone;
    {
        const Stream ended(device);
        gone = ended;
    }
    Event made(device), recorded(device), moved(device);
    const Event taken = std::move(moved);
    Array<float> x = zeros<float>(copy, 4);
    Array<int> pinned_memory = pinned<int>(3), no_memory, freed = pageable<int>(2);
    for (int i = 0; i < 3; ++i) pinned_memory[static_cast<std::size_t>(i)] = 7 + i;
    const View<int> outlived = freed;
    freed.reset();
    std::vector<int> host(5);
    const View<const int> of_host(host);
    const View<float> part = x.view().last(2);
    copy.synchronize();
    launch_host(copy, [] {
        while (!is_open) {}
    });
    launch_host(copy, [] {});
    recorded.record(copy);
    launch_host(copy, [] {});
    stop_here();
    is_open = true;
    synchronize();
    (void)reference, (void)none, (void)plain, (void)idle, (void)taken, (void)of_host, (void)part;
    return outlived.size() == 2 && no_memory.empty() ? 0 : 1;
}
