// Races that beginners cause: a table of small programs, with the expected findings and lines.
// Similar programs that are correct must have no findings. The guide's page "Finding a missing
// wait" lists the races that the checker cannot find.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include <heddle/by_data.hpp>

#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "core/seam/backend.hpp"
#include "kernel_launches.hpp"

#if !HEDDLE_HOST_ACCESSES
#error "the tests are compiled with HEDDLE_HOST_ACCESSES=1"
#endif

using namespace heddle_test;
using check::RaceKind;

namespace {

constexpr std::size_t size = 64;
constexpr int half = size / 2;

/// The state in which a program starts, and the lines of the two sides of its race.
struct Start {
    explicit Start(Device on) : device(on) {}
    Device device;
    Stream a{device, {.name = "a"}}, b{device, {.name = "b"}};
    Array<int> x = full<int>(a, size, 1), y = zeros<int>(a, size), z = full<int>(a, size, 3);
    Array<int> pin = pinned_zeros(size), pin2 = pinned_zeros(size);
    unsigned first_line = 0, second_line = 0;
    int used = 0;

    /// Declares that the next line is the first side of the race.
    void first_is_next(Where where = {}) { first_line = where.line + 1; }
    /// Declares that the next line is the second side. First waits for all enqueued work without
    /// the checker seeing it, so that ThreadSanitizer sees no race.
    void second_is_next(Where where = {}) {
        second_line = where.line + 1;
        has_run();
    }
    void has_run() {
        std::vector<detail::CompletionRef> waited;
        detail::record_of(a).backend->synchronize_device(device.index(), waited, {});
    }
    void use(int value) { used += value; }
};

/// A kernel that uses a plain pointer.
struct AddAt {
    int* data;
    void operator()(std::size_t i) const { data[i] += 1; }
};

// Seven mistakes of new users. The last one has two programs: with a variable and with a pointer.

void refilled_buffer(Start& s) {
    s.first_is_next();
    copy(s.a, s.y, s.x);
    s.second_is_next();
    copy(s.b, s.x, s.z);
}
void wrong_event(Start& s) {
    const Event early = s.a.record_event();
    s.first_is_next();
    copy(s.a, s.y, s.x);
    s.b.wait_event(early);
    s.second_is_next();
    copy(s.b, s.z, s.y);
}
void missing_wait_in_a_ring(Start& s) {
    Array<int> ring[2] = {zeros<int>(s.b, size), zeros<int>(s.b, size)};
    s.b.synchronize();
    for (std::size_t round = 0; round < 4; ++round) {
        Array<int>& slot = ring[round % 2];
        s.second_is_next();
        fill(s.a, slot, static_cast<int>(round));
        s.b.wait_stream(s.a);
        s.first_is_next();
        launch(s.b, AddTo{}, dim(size), slot, s.y);
    }
}
void host_reads_an_element(Start& s) {
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.second_is_next();
    s.use(s.pin[0]);
}
void host_loops_over_pinned(Start& s) {
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.second_is_next();
    for (const int value : s.pin) s.use(value);
}
void host_refills_pinned(Start& s) {
    s.first_is_next();
    copy(s.a, s.x, s.pin);
    s.second_is_next();
    s.pin[3] = 4;
}
void variable_captured_by_a_kernel(Start& s) {
    int sum = 0;
    s.first_is_next();
    launch(s.a, [&sum](std::size_t, View<const int> v) { sum = v[0]; }, dim(1), s.x);
    s.second_is_next();
    s.use(sum);
}
void raw_pointers(Start& s) {
    int* const data = s.x.data();
    s.first_is_next();
    launch(s.a, AddAt{data}, dim(size));
    s.second_is_next();
    launch(s.b, Add{}, dim(size), s.x, 1);
}

// Eight mistakes with uses by the host.

void host_reads_what_a_kernel_writes(Start& s) {
    s.first_is_next();
    launch(s.a, Add{}, dim(size), s.x, 1);
    s.second_is_next();
    s.use(s.x[size - 1]);
}
void host_reads_a_const_array(Start& s) {
    const Array<int>& x = s.x;
    s.first_is_next();
    fill(s.a, s.x, 2);
    s.second_is_next();
    s.use(x[3]);
}
void host_accumulates(Start& s) {
    s.first_is_next();
    launch(s.a, Add{}, dim(size), s.x, 1);
    s.second_is_next();
    s.use(std::accumulate(s.x.begin(), s.x.end(), 0));
}
void host_makes_a_span(Start& s) {
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.has_run();
    const std::span<const int> seen = s.pin;
    s.second_line = s.first_line;  // the checker knows no later place
    s.use(seen[0]);
}
void host_fills_by_an_algorithm(Start& s) {
    s.first_is_next();
    copy(s.a, s.x, s.pin);
    s.has_run();
    std::ranges::fill(s.pin, 2);
    s.second_line = s.first_line;
}
void host_waits_for_another_stream(Start& s) {
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.b.synchronize();
    s.second_is_next();
    s.use(s.pin[0]);
}
void host_waits_for_an_early_event(Start& s) {
    const Event early = s.a.record_event();
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    early.synchronize();
    s.second_is_next();
    s.use(s.pin[0]);
}
void host_writes_what_a_kernel_writes(Start& s) {
    s.first_is_next();
    launch(s.a, Add{}, dim(size), s.x, 1);
    s.second_is_next();
    s.x[5] = 1;
}

// Six mistakes with kernels and host functions that capture views.

void kernel_captures_a_view(Start& s) {
    s.first_is_next();
    launch(s.a, [v = s.x.view()](std::size_t i) { v[i] += 1; }, dim(size));
    s.second_is_next();
    launch(s.b, [v = s.x.view()](std::size_t i) { v[i] += 1; }, dim(size));
}
void kernel_captures_a_view_that_is_read(Start& s) {
    const View<const int> from = s.x;
    const View<int> to = s.y;
    s.first_is_next();
    launch(s.a, [from, to](std::size_t i) { to[i] = from[i]; }, dim(size));
    s.second_is_next();
    fill(s.b, s.x, 7);
}
void kernel_captures_the_host_s_result(Start& s) {
    s.first_is_next();
    launch(s.a, [v = s.x.view()](std::size_t i) { v[i] += 1; }, dim(size));
    s.second_is_next();
    s.use(s.x[0]);
}
void kernel_captures_an_array(Start& s) {
    Array<int>& x = s.x;
    s.first_is_next();
    launch(s.a, [&x](std::size_t i) { x[i] += 1; }, dim(size));
    s.second_is_next();
    s.use(x[0]);
}
void host_function_captures_an_array(Start& s) {
    s.first_is_next();
    launch(s.a, Add{}, dim(size), s.x, 1);
    s.second_is_next();
    launch_host(s.b, [&s] { s.use(s.x[0]); });
}
void host_function_declares_what_it_captures(Start& s) {
    s.first_is_next();
    launch_host(s.a, [&s] { s.pin[0] = 1; }, writes(s.pin));
    s.second_is_next();
    s.use(s.pin[0]);
}

// Three mistakes with raw pointers.

void kernel_takes_an_address(Start& s) {
    s.first_is_next();
    launch(s.a, [](std::size_t i, int* data) { data[i] += 1; }, dim(size), s.x.data());
    s.second_is_next();
    fill(s.b, s.x, 1);
}
void host_keeps_an_address(Start& s) {
    const int* const data = s.pin.data();
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.second_is_next();
    s.use(data[0]);
}
void host_reads_at_an_address(Start& s) {
    s.first_is_next();
    copy(s.a, s.pin, s.x);
    s.second_is_next();
    s.use(s.pin.data()[0]);
}

// Four mistakes with ordering by data.

void host_reads_what_an_order_writes(Start& s) {
    DataOrder order(s.device);
    s.first_is_next();
    fill(order, s.x, 1);
    s.second_is_next();
    s.use(s.x[0]);
}
void host_loops_over_what_an_order_copies(Start& s) {
    DataOrder order(s.device);
    s.first_is_next();
    copy(order, s.pin, s.x);
    s.second_is_next();
    for (const int value : s.pin) s.use(value);
}
void plain_stream_beside_an_order(Start& s) {
    DataOrder order(s.device);
    s.first_is_next();
    fill(order, s.x, 1);
    s.second_is_next();
    fill(s.b, s.x, 2);
}
void host_keeps_what_an_order_gave_it(Start& s) {
    DataOrder order(s.device);
    fill(order, s.x, 1);
    s.use(on_host(order, reads(s.x))[0]);
    s.first_is_next();
    fill(order, s.x, 2);
    s.second_is_next();
    s.use(s.x[0]);
}

// Four mistakes with pinned memory.

void staging_is_refilled_in_a_loop(Start& s) {
    for (int round = 0; round < 3; ++round) {
        s.second_is_next();
        for (int& value : s.pin) value = round;
        s.first_is_next();
        copy(s.a, s.x, s.pin);
    }
}
void staging_is_refilled_and_said_so(Start& s) {
    s.first_is_next();
    copy(s.a, s.x, s.pin);
    s.second_is_next();
    for (int& value : on_host(writes(s.pin))) value = 2;
}
void other_half_is_still_copied(Start& s) {
    copy(s.a, s.pin.first(half), s.x.first(half));
    s.first_is_next();
    copy(s.b, s.pin.last(half), s.y.last(half));
    s.a.synchronize();
    for (std::size_t i = 0; i < half; ++i) s.use(s.pin[i]);
    s.second_is_next();
    for (std::size_t i = half; i < size; ++i) s.use(s.pin[i]);
}
void staging_is_overwritten_at_its_address(Start& s) {
    s.first_is_next();
    copy(s.a, s.x, s.pin);
    s.second_is_next();
    std::memset(s.pin.data(), 0, size * sizeof(int));
}

// Programs without mistakes.

void host_waits(Start& s) {
    copy(s.a, s.pin, s.x);
    s.a.synchronize();
    for (int& value : s.pin) value += 1;
    s.use(s.pin[0]);
    copy(s.a, s.x, s.pin);
    synchronize_device(s.device);
    s.pin.data()[0] = 2;
}
void host_reads_what_is_read(Start& s) {
    copy(s.a, s.x, s.pin);
    const Array<int>& pin = s.pin;
    s.use(pin[0] + *pin.data());
    for (const int value : on_host(reads(s.pin))) s.use(value);
    for (const int value : pin) s.use(value);
}
void host_uses_the_other_half(Start& s) {
    const View<int> right = s.pin.last(half);
    copy(s.a, right, s.x.last(half));
    for (std::size_t i = 0; i < half; ++i) s.pin[i] = s.pin[i] + 1;
}
void host_uses_other_columns(Start& s) {
    const View2D<int> all(s.pin, 8, 8);
    copy_2d(s.a, View2D(s.pin.view(), 8, 4, 8), View2D(s.x.view(), 8, 4, 8));
    for (std::size_t row = 0; row < 8; ++row) s.pin[row * 8 + 4] = 1;
    s.use(all(0, 5));
}
void addresses_in_stream_order(Start& s) {
    copy(s.a, View<int>(s.y.data(), size), s.x);
    s.y.used_on(s.a);
    s.a.synchronize();
}
void another_thread_waits(Start& s) {
    copy(s.a, s.pin, s.x);
    std::thread([&] { s.a.synchronize(); }).join();
    s.use(s.pin[1]);
}
void host_asks_until_it_is_done(Start& s) {
    copy(s.a, s.pin, s.x);
    while (!s.a.is_complete()) std::this_thread::yield();
    s.use(s.pin[1]);
}
void host_function_in_stream_order(Start& s) {
    copy(s.a, s.pin, s.x);
    launch_host(s.a, [&s] { s.pin[0] += s.pin[1]; }, writes(s.pin));
    copy(s.a, s.x, s.pin);
    s.b.wait_stream(s.a);
    copy(s.b, s.y, s.x);
}
void order_gives_it(Start& s) {
    DataOrder order(s.device);
    copy(order, s.pin, s.x);
    for (const int value : on_host(order, reads(s.pin))) s.use(value);
    s.use(s.pin[0]);
    copy(order, s.pin, s.y);
    order.synchronize();
    s.use(s.pin[0]);
}
void pageable_memory(Start& s) {
    Array<int> host = pageable<int>(size);
    for (int& value : host) value = 1;
    copy(s.a, s.x, host);
    host[0] = 2;
    copy(s.a, host, s.x);
    s.use(host[0] + to_host(s.x)[0]);
}

enum class Found {
    race,      ///< reported as certain
    possible,  ///< reported with HEDDLE_CHECK=strict
    pointers,  ///< the summary names the kernel
    nothing,   ///< no finding; the guide's page says why
};

struct BeginnersProgram {
    const char* name;
    void (*run)(Start&);
    Found found = Found::nothing;
    RaceKind kind = RaceKind::read_after_write;
    bool on_cpu = false;  ///< whether its kernels or host accesses use a CPU device
};

#define HEDDLE_TEST_PROGRAM(name) #name, &name
constexpr BeginnersProgram racing[] = {
    // The seven mistakes of new users.
    {HEDDLE_TEST_PROGRAM(refilled_buffer), Found::race, RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(wrong_event), Found::race},
    {HEDDLE_TEST_PROGRAM(missing_wait_in_a_ring), Found::race, RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(host_reads_an_element), Found::race},
    {HEDDLE_TEST_PROGRAM(host_loops_over_pinned), Found::race},
    {HEDDLE_TEST_PROGRAM(host_refills_pinned), Found::possible, RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(variable_captured_by_a_kernel), Found::pointers,
     RaceKind::read_after_write, true},
    {HEDDLE_TEST_PROGRAM(raw_pointers), Found::pointers, RaceKind::read_after_write, true},
    // Mistakes with uses by the host.
    {HEDDLE_TEST_PROGRAM(host_reads_what_a_kernel_writes), Found::race, RaceKind::read_after_write,
     true},
    {HEDDLE_TEST_PROGRAM(host_reads_a_const_array), Found::race, RaceKind::read_after_write, true},
    {HEDDLE_TEST_PROGRAM(host_accumulates), Found::race, RaceKind::read_after_write, true},
    {HEDDLE_TEST_PROGRAM(host_makes_a_span), Found::race},
    {HEDDLE_TEST_PROGRAM(host_fills_by_an_algorithm), Found::possible, RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(host_waits_for_another_stream), Found::race},
    {HEDDLE_TEST_PROGRAM(host_waits_for_an_early_event), Found::race},
    {HEDDLE_TEST_PROGRAM(host_writes_what_a_kernel_writes), Found::race, RaceKind::read_after_write,
     true},
    // Mistakes with captures.
    {HEDDLE_TEST_PROGRAM(kernel_captures_a_view), Found::race, RaceKind::write_after_write, true},
    {HEDDLE_TEST_PROGRAM(kernel_captures_a_view_that_is_read), Found::race,
     RaceKind::write_after_read, true},
    {HEDDLE_TEST_PROGRAM(kernel_captures_the_host_s_result), Found::race,
     RaceKind::read_after_write, true},
    {HEDDLE_TEST_PROGRAM(kernel_captures_an_array), Found::pointers, RaceKind::read_after_write,
     true},
    {HEDDLE_TEST_PROGRAM(host_function_captures_an_array), Found::nothing,
     RaceKind::read_after_write, true},
    {HEDDLE_TEST_PROGRAM(host_function_declares_what_it_captures), Found::possible},
    // Mistakes with raw pointers.
    {HEDDLE_TEST_PROGRAM(kernel_takes_an_address), Found::pointers, RaceKind::read_after_write,
     true},
    {HEDDLE_TEST_PROGRAM(host_keeps_an_address), Found::nothing},
    {HEDDLE_TEST_PROGRAM(host_reads_at_an_address), Found::possible},
    // Mistakes with ordering by data.
    {HEDDLE_TEST_PROGRAM(host_reads_what_an_order_writes), Found::race, RaceKind::read_after_write,
     true},
    {HEDDLE_TEST_PROGRAM(host_loops_over_what_an_order_copies), Found::race},
    {HEDDLE_TEST_PROGRAM(plain_stream_beside_an_order), Found::race, RaceKind::write_after_write},
    {HEDDLE_TEST_PROGRAM(host_keeps_what_an_order_gave_it), Found::race, RaceKind::read_after_write,
     true},
    // Mistakes with pinned memory.
    {HEDDLE_TEST_PROGRAM(staging_is_refilled_in_a_loop), Found::possible,
     RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(staging_is_refilled_and_said_so), Found::race, RaceKind::write_after_read},
    {HEDDLE_TEST_PROGRAM(other_half_is_still_copied), Found::race},
    {HEDDLE_TEST_PROGRAM(staging_is_overwritten_at_its_address), Found::possible,
     RaceKind::write_after_read},
};
constexpr BeginnersProgram right[] = {
    {HEDDLE_TEST_PROGRAM(host_waits)},
    {HEDDLE_TEST_PROGRAM(host_reads_what_is_read)},
    {HEDDLE_TEST_PROGRAM(host_uses_the_other_half)},
    {HEDDLE_TEST_PROGRAM(host_uses_other_columns)},
    {HEDDLE_TEST_PROGRAM(addresses_in_stream_order)},
    {HEDDLE_TEST_PROGRAM(another_thread_waits)},
    {HEDDLE_TEST_PROGRAM(host_asks_until_it_is_done)},
    {HEDDLE_TEST_PROGRAM(host_function_in_stream_order)},
    {HEDDLE_TEST_PROGRAM(order_gives_it)},
    {HEDDLE_TEST_PROGRAM(pageable_memory)},
};
#undef HEDDLE_TEST_PROGRAM

bool is_here(const SourcePlace& place, unsigned line) {
    return place.file.ends_with("beginners_test.cpp") && place.line == line;
}

/// Runs a program under a check. Then calls look(start, summary, races).
template <class F> void run(const BeginnersProgram& program, F&& look) {
    INFO(program.name);
    const Drained drained;
    Checked checked({.strict = true});
    Start start(program.on_cpu ? cpu_device() : test_device());
    synchronize();
    program.run(start);
    start.has_run();
    const check::Summary found = checked.end();
    const std::vector<check::Race> races = checked.races();
    for (const check::Race& race : races) UNSCOPED_INFO(race.text);
    CHECK(found.faults == 0);
    look(start, found, races);
}

}  // namespace

TEST_CASE("device: races that beginners make are found, with their lines") {
    for (const BeginnersProgram& program : racing)
        run(program, [&](const Start& start, const check::Summary& found,
                         const std::vector<check::Race>& races) {
            CHECK(found.certain == (program.found == Found::race ? 1 : 0));
            CHECK(found.possible == (program.found == Found::possible ? 1 : 0));
            CHECK(found.undeclared == (program.found == Found::pointers ? 1 : 0));
            if (program.found == Found::pointers) {
                const std::string place = "beginners_test.cpp:" + std::to_string(start.first_line);
                REQUIRE(found.undeclared_at.size() == 1);
                CHECK_THAT(found.undeclared_at[0], contains(place));
            }
            if (races.empty()) return;
            CHECK(std::string(to_string(races[0].kind)) == to_string(program.kind));
            CHECK(is_here(races[0].first.where, start.first_line));
            CHECK(is_here(races[0].second.where, start.second_line));
            CHECK_THAT(races[0].text, contains(" of the array made at "));
        });
}

TEST_CASE("device: programs that wait for what they use are right") {
    for (const BeginnersProgram& program : right)
        run(program, [](const Start&, const check::Summary& found, const auto&) {
            CHECK(found.certain == 0);
            CHECK(found.possible == 0);
        });
}
