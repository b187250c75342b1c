// stream_races CASE: programs for ThreadSanitizer (docs/guide/19-checking.md). Some have a race
// between streams, others do not. check_race.cmake runs one case and checks the reports.
#include <heddle/heddle.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

using namespace heddle;

const Device device{"cpu"};

struct AddOne {
    void operator()(std::size_t i, View<int> v) const { v[i] += 1; }
};
/// Writes to the element after the end of its view, too.
struct AddOneAndBeyond {
    void operator()(std::size_t i, View<int> v) const {
        v[i] += 1;
        if (i + 1 == v.size()) *(v.data() + v.size()) += 1;
    }
};
/// Takes long enough to be split among several workers.
struct AddOneSlowly {
    void operator()(std::size_t i, View<int> v) const {
        volatile int rounds = 20'000;
        while (rounds != 0) rounds = rounds - 1;
        v[i] += 1;
    }
};
/// Passes the address of a local variable to another function.
struct Sum {
    static void add(int* to, int what) { *to += what; }
    void operator()(std::size_t i, View<int> v) const {
        int sum = 0;
        void (*volatile function)(int*, int) = &add;
        for (int k = 0; k < 4; ++k) function(&sum, k);
        v[i] += sum;
    }
};

struct Streams {
    Stream a{device, {.priority = 0, .name = "a"}};
    Stream b{device, {.priority = 0, .name = "b"}};
    void synchronize() const {
        a.synchronize();
        b.synchronize();
    }
};

// With a race ------------------------------------------------------------------------------------

void beyond_the_view() {
    Array<int> x = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    launch(streams.a, AddOneAndBeyond{}, dim(8), x.view().first(8));
    launch(streams.b, AddOne{}, dim(8), x.view().last(8));
    streams.synchronize();
}

void two_streams() {
    Array<int> x = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    launch(streams.a, AddOne{}, dim(16), x);
    launch(streams.b, AddOne{}, dim(16), x);
    streams.synchronize();
}

void copy_and_fill() {
    Array<int> x = zeros<int>(16), y = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    copy(streams.a, y, x);
    fill(streams.b, x, 1);
    streams.synchronize();
}

void host_function_and_host() {
    const Streams streams;
    int value = 0;
    launch_host(streams.a, [&] { value = 1; });
    value = 2;
    streams.a.synchronize();
}

void host_function_and_kernel() {
    Array<int> x = zeros<int>(1);
    synchronize_device(device);
    const Streams streams;
    int* const first = x.data();
    launch_host(streams.a, [=] { *first = 1; });
    launch(streams.b, AddOne{}, dim(1), x);
    streams.synchronize();
}

void wait_too_early() {
    Array<int> x = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    streams.b.wait_stream(streams.a);
    launch(streams.a, AddOne{}, dim(16), x);
    launch(streams.b, AddOne{}, dim(16), x);
    streams.synchronize();
}

void waited_for_another() {
    int value = 0;
    const Streams streams;
    const Stream third{device, {.priority = 0, .name = "third"}};
    launch_host(streams.a, [&] { value = 1; });
    launch_host(third, [] {});
    third.synchronize();
    launch_host(streams.b, [&] { value = 2; });
    streams.synchronize();
}

/// A race. heddle reuses its own memory meanwhile, which must not hide the race.
void after_much_else() {
    Array<int> x = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    launch(streams.a, AddOne{}, dim(16), x);
    for (int i = 0; i < 20; ++i) {
        const Stream other{device};
        Array<int> y = zeros<int>(other, 64);
        launch(other, AddOne{}, dim(64), y);
        streams.b.wait_stream(other);
        Event event = other.record_event();
        streams.a.wait_event(event);
    }
    launch(streams.b, AddOne{}, dim(16), x);
    streams.synchronize();
}

void branches_of_a_graph() {
    int value = 0;
    Graph graph = build({host_node([&] { value = 1; }), host_node([&] { value = 2; })});
    const Streams streams;
    graph.launch(streams.a);
    streams.synchronize();
}

void graph_and_stream() {
    int value = 0;
    Graph graph = host_node([&] { value = 1; }).build();
    const Streams streams;
    graph.launch(streams.a);
    launch_host(streams.b, [&] { value = 2; });
    streams.synchronize();
}

/// Frees memory while a stream may still use it. heddle does not know of that use.
void freed_too_early() {
    const Streams streams;
    Array<int> x = zeros<int>(streams.b, 16);
    streams.b.synchronize();
    int* const first = x.data();
    launch_host(streams.a, [=] { *first = 1; });
    x = Array<int>();
    streams.synchronize();
}

// Without a race ---------------------------------------------------------------------------------

void two_streams_with_a_wait() {
    Array<int> x = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    launch(streams.a, AddOne{}, dim(16), x);
    streams.b.wait_stream(streams.a);
    launch(streams.b, AddOne{}, dim(16), x);
    streams.synchronize();
}

void event_in_between() {
    int value = 0;
    const Streams streams;
    launch_host(streams.a, [&] { value = 1; });
    const Event event = streams.a.record_event();
    streams.b.wait_event(event);
    launch_host(streams.b, [&] { value = 2; });
    const Event last = streams.b.record_event();
    last.synchronize();
    value = 3;
    launch_host(streams.a, [&] { value = 4; });
    while (!streams.a.is_complete()) std::this_thread::yield();
    value = 5;
    launch_host(streams.a, [&] { value = 6; });
    const Event polled = streams.a.record_event();
    while (!polled.is_complete()) std::this_thread::yield();
    value = 7;
}

/// Each index uses its own elements, whichever worker runs it.
void parts_of_a_kernel() {
    constexpr std::size_t n = 200;
    Array<int> x = zeros<int>(n);
    const Streams streams;
    streams.a.wait_stream(current_stream(device));
    for (int i = 0; i < 5; ++i) launch(streams.a, AddOneSlowly{}, dim(n), x);
    streams.b.wait_stream(streams.a);
    for (int i = 0; i < 5; ++i) launch(streams.b, AddOneSlowly{}, dim(n), x);
    streams.synchronize();
    x[0] += 1;
}

std::map<int, std::string>& names() {
    static thread_local std::map<int, std::string> all;
    return all;
}

void stacks_and_thread_locals() {
    Array<int> x = zeros<int>(16), y = zeros<int>(16);
    synchronize_device(device);
    const Streams streams;
    for (int i = 0; i < 10; ++i) {
        launch(streams.a, Sum{}, dim(16), x);
        launch(streams.b, Sum{}, dim(16), y);
        const auto name_it = [i] {
            names()[i] += "a name that is too long to be kept in the string";
        };
        launch_host(streams.a, name_it);
        launch_host(streams.b, name_it);
    }
    streams.synchronize();
}

/// Closures with destructors, stored in memory that streams use one after the other.
void closures() {
    const Streams streams;
    for (int i = 0; i < 200; ++i) {
        auto shared = std::make_shared<std::string>("one");
        launch_host(streams.a, [shared, big = std::array<int, 40>{i}] { (void)big[0]; });
        launch_host(streams.b, [text = std::string(40, 'x')] { (void)text.size(); });
    }
    streams.synchronize();
}

void memory_after_its_last_use() {
    for (int i = 0; i < 50; ++i) {
        const Streams streams;
        Array<int> x = zeros<int>(streams.a, 1000);
        launch(streams.a, AddOne{}, dim(1000), x);
        streams.b.wait_stream(streams.a);
        launch(streams.b, AddOne{}, dim(1000), x);
        auto staging = pinned<int>(1000);
        copy(streams.b, staging, x);
    }
    synchronize_device(device);
}

void graphs() {
    int value = 0;
    Array<int> x = zeros<int>(1000);
    synchronize_device(device);
    {
        const auto first = host_node([&] { value += 1; });
        const auto left = kernel_node(AddOne{}, dim(500), x.view().first(500)).after(first);
        const auto right = kernel_node(AddOne{}, dim(500), x.view().last(500)).after(first);
        Graph graph = host_node([&] { value += 1; }).after(left, right).build();
        const Streams streams;
        for (int i = 0; i < 10; ++i) {
            graph.launch(streams.a);
            graph.launch(streams.b);  // follows the previous launch
        }
        streams.synchronize();
    }
    value += x[0];
}

void failures() {
    const Streams streams;
    for (int i = 0; i < 5; ++i) {
        launch_host(streams.a, [] { throw std::runtime_error("a message too long to be inline"); });
        launch_host(streams.a, [] {});
        streams.b.wait_stream(streams.a);
        on_completion(streams.b, [](std::exception_ptr failure) {
            try {
                if (failure != nullptr) std::rethrow_exception(failure);
            } catch (const std::exception& error) {
                if (std::string(error.what()).empty()) std::abort();
            }
        });
        for (const Stream* stream : {&streams.a, &streams.b}) {
            try {
                stream->synchronize();
            } catch (const Error& error) {
                if (std::string(error.what()).empty()) std::abort();
            }
            (void)stream->clear_error();
        }
    }
}

void host_functions_that_enqueue() {
    int value = 0;
    const Streams streams;
    launch_host(streams.a, [&] {
        value = 1;
        launch_host(streams.b, [&] {
            value = 2;
            launch_host(streams.a, [&] { value = 3; });
        });
    });
    while (!streams.a.is_complete() || !streams.b.is_complete()) std::this_thread::yield();
    synchronize_device(device);
    synchronize_device(device);
    synchronize_device(device);
    value = 4;
}

const std::map<std::string, void (*)()> cases{
    {"beyond_the_view", &beyond_the_view},
    {"two_streams", &two_streams},
    {"copy_and_fill", &copy_and_fill},
    {"host_function_and_host", &host_function_and_host},
    {"host_function_and_kernel", &host_function_and_kernel},
    {"wait_too_early", &wait_too_early},
    {"waited_for_another", &waited_for_another},
    {"after_much_else", &after_much_else},
    {"branches_of_a_graph", &branches_of_a_graph},
    {"graph_and_stream", &graph_and_stream},
    {"freed_too_early", &freed_too_early},
    {"two_streams_with_a_wait", &two_streams_with_a_wait},
    {"event_in_between", &event_in_between},
    {"parts_of_a_kernel", &parts_of_a_kernel},
    {"stacks_and_thread_locals", &stacks_and_thread_locals},
    {"closures", &closures},
    {"memory_after_its_last_use", &memory_after_its_last_use},
    {"graphs", &graphs},
    {"failures", &failures},
    {"host_functions_that_enqueue", &host_functions_that_enqueue},
};

}  // namespace

int main(int argc, char** argv) {
    const auto found = cases.find(argc == 2 ? argv[1] : "");
    if (found == cases.end()) {
        std::puts("usage: stream_races CASE");
        return 2;
    }
    found->second();
    std::puts("done");
}
