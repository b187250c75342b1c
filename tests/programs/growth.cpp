// growth [PART=COUNT...] [allow=MIB]: repeats calls, and fails if memory grows with their number.
// Compares the resident memory of the process after the first quarter with that at the end. The
// parts, with the work that each does COUNT times:
//
//   operations  enqueues a host function, a fill or a wait on streams that persist
//   streams     destroys a stream with its work pending
//   events      records an event and waits for it
//   arrays      uses an array on two streams
//   one-way     makes an array on a stream, and frees it on another that it never waits for
//   graphs      captures a graph and launches it once
//   batches     runs a batch whose shape differs each time
//   failed      destroys a stream that has failed
//   threads     runs a thread with its per-thread stream
//
// Without arguments, runs all parts in a few seconds. With arguments, runs only those parts. Uses
// the default device (HEDDLE_DEVICE).
#include <heddle/heddle.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace heddle;

namespace {

/// Waits for all work and trims the allocator. Returns the resident memory in bytes.
std::size_t resident() {
    try {
        synchronize_device(current_device());
    } catch (const Error&) {  // streams that fail on purpose throw this
    }
    malloc_trim(0);
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0, pages = 0;
    if (!(file >> all >> pages)) throw std::runtime_error("/proc/self/statm cannot be read");
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// The most rounds that may be pending, because the closures of pending rounds use memory.
constexpr std::size_t backlog = 256;

struct Part {
    std::string_view name;
    std::size_t count;  ///< used if the program has no arguments
    void (*round)(std::size_t i);
};

Stream& first() {
    static auto* const stream = new Stream(current_device(), {.name = "first"});
    return *stream;
}
Stream& second() {
    static auto* const stream = new Stream(current_device(), {.name = "second"});
    return *stream;
}

void operation(std::size_t i) {
    static auto* const memory = new Array<int>(zeros<int>(first(), 64));
    switch (i % 4) {
    case 0: return fill(first(), *memory, static_cast<int>(i));
    case 1: return second().wait_stream(first());
    case 2: return launch_host(second(), [i] { (void)i; });
    default: return first().wait_stream(second());
    }
}

void stream(std::size_t i) {
    const Stream transient(current_device(), {.name = "transient " + std::to_string(i)});
    if (i % 2 == 0) transient.wait_stream(first());
    launch_host(transient, [] {});
    if (i % 3 == 0) first().wait_stream(transient);
}

void event(std::size_t i) {
    Event made(i % 2 == 0 ? EventOptions{} : EventOptions{.timing = true});
    first().record_event(made);
    if (i % 3 != 0) second().wait_event(made);
}

void array(std::size_t i) {
    Array<int> made = zeros<int>(first(), 1 + i % 5000);
    second().wait_stream(first());
    fill(second(), made, 1);
    if (i % 3 == 0) first().wait_stream(second());
}

void one_way(std::size_t) {
    Array<int> made = zeros<int>(first(), 5000);
    second().wait_stream(first());
    fill(second(), made, 1);
}

void graph(std::size_t i) {
    static auto* const memory = new Array<int>(zeros<int>(first(), 64));
    Graph made = capture(first(), [&] {
        fill(first(), *memory, static_cast<int>(i));
        second().wait_stream(first());
        launch_host(second(), [] {});
        const Array<int> own = zeros<int>(first(), 100);
        first().wait_stream(second());
    });
    made.launch(first());
}

void batch(std::size_t i) {
    static auto* const batches = new Batch({.on_cpu = true});
    static auto* const memory = new Array<int>(zeros<int>(first(), 64));
    const ScopedStream in(first(), {.wait_on_enter = false});
    batches->run([&] {
        // Each pair of bits of a number selects an operation. The number differs each time.
        for (std::size_t bits = i * 0x9e3779b9u & 0xfff; bits != 0; bits >>= 2) {
            if ((bits & 3) == 0) fill(*memory, static_cast<int>(i));
            else if ((bits & 3) == 1) launch_host([] {});
            else
                fork_join([] { launch_host([] {}); },
                          [&] { fill(*memory, static_cast<int>(bits)); });
        }
    });
}

void failed(std::size_t i) {
    const Stream failing(current_device(), {.name = "failing " + std::to_string(i)});
    launch_host(failing, [] { throw std::runtime_error("this one is to fail"); });
    if (i % 2 != 0) return;
    try {
        failing.synchronize();
    } catch (const WorkFailed&) {}
}

void thread(std::size_t) {
    std::thread([] {
        const StreamRef own = Stream::per_thread(current_device());
        launch_host(own, [] {});
        own.synchronize();
    }).join();
}

constexpr Part parts[] = {
    {"operations", 500'000, operation}, {"streams", 50'000, stream},  {"events", 100'000, event},
    {"arrays", 50'000, array},          {"one-way", 50'000, one_way}, {"graphs", 10'000, graph},
    {"batches", 1'000, batch},          {"failed", 10'000, failed},   {"threads", 2'000, thread},
};

/// Runs a part. Returns whether memory has grown by at most `allowed` bytes.
bool run(const Part& part, std::size_t count, std::size_t allowed) {
    std::size_t before = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i == count / 4) before = resident();
        part.round(i);
        if (i % backlog == backlog - 1) {
            try {
                synchronize_device(current_device());
            } catch (const WorkFailed&) {}
        }
    }
    const std::size_t after = resident();
    const bool grew = after > before + allowed;
    std::printf("%-10.*s %9zu  %7.1f MiB -> %7.1f MiB%s\n", static_cast<int>(part.name.size()),
                part.name.data(), count, static_cast<double>(before) / (1 << 20),
                static_cast<double>(after) / (1 << 20), grew ? "  GREW" : "");
    std::fflush(stdout);
    return !grew;
}

}  // namespace

int main(int argc, char** argv) {
    set_report_hook([](const Error&) {});  // failures that no code waits for are expected
    std::size_t allowed = 4 << 20;
    std::vector<std::pair<const Part*, std::size_t>> chosen;
    for (int i = 1; i < argc; ++i) {
        const std::string_view text = argv[i];
        const std::size_t equals = text.find('=');
        char* end = nullptr;
        const unsigned long long value =
            equals == text.npos ? 0 : std::strtoull(argv[i] + equals + 1, &end, 10);
        const Part* found = nullptr;
        for (const Part& part : parts)
            if (part.name == text.substr(0, equals)) found = &part;
        const bool is_limit = text.substr(0, equals) == "allow";
        if (end == nullptr || *end != '\0' || end == argv[i] + equals + 1 ||
            (found == nullptr && !is_limit)) {
            std::fprintf(stderr, "growth: \"%s\" is no PART=COUNT\n", argv[i]);
            return 2;
        }
        if (is_limit) allowed = static_cast<std::size_t>(value) << 20;
        else chosen.emplace_back(found, static_cast<std::size_t>(value));
    }
    if (chosen.empty())
        for (const Part& part : parts) chosen.emplace_back(&part, part.count);
    bool fine = true;
    for (const auto& [part, count] : chosen) fine = run(*part, count, allowed) && fine;
    return fine ? 0 : 1;
}
