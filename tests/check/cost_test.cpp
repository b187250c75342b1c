// The time and the memory that the checker needs for an operation. Hidden: run it by name.
#include "check/engine.hpp"
#include "check/op_builder.hpp"

#include <malloc.h>

#include <chrono>
#include <cstdio>

using namespace heddle_test;

namespace {

/// Adds a list of operations many times. Before each repetition, increases the operations'
/// positions.
class Repeated {
public:
    explicit Repeated(const Program& program) : ops_(program.ops) {
        for (const CheckOp& op : ops_)
            if (op.stream != 0) lengths_[op.stream] = std::max(lengths_[op.stream], op.position);
    }
    void add_to(detail::CheckEngine& engine) {
        for (CheckOp& op : ops_) {
            engine.add(op);
            op.position += length(op.stream);
            op.other_position += length(op.other);
            if (op.event.event != 0) op.event.event += 1000000;  // uses another event each time
        }
    }
    std::size_t size() const { return ops_.size(); }

private:
    std::uint64_t length(std::uint64_t stream) { return stream != 0 ? lengths_[stream] : 0; }

    std::vector<CheckOp> ops_;
    std::map<std::uint64_t, std::uint64_t> lengths_;
};

double nanoseconds_each(const Program& program, std::size_t ops) {
    Repeated repeated(program);
    detail::CheckEngine engine;
    const auto begin = std::chrono::steady_clock::now();
    std::size_t done = 0;
    for (; done < ops; done += repeated.size()) repeated.add_to(engine);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    CHECK(engine.findings().empty());
    return took.count() / static_cast<double>(done);
}

std::size_t bytes_in_use() { return mallinfo2().uordblks; }

/// Work on several streams that use a hundred arrays in turn.
Program traffic(std::size_t streams) {
    Program p;
    std::vector<Program::StreamName> all;
    std::vector<Memory> arrays;
    for (std::size_t i = 0; i < streams; ++i) all.push_back(p.stream());
    for (int i = 0; i < 100; ++i) arrays.push_back(p.array(4096));
    for (std::size_t i = 0; i < 1000; ++i) {
        const auto s = all[i % streams], next = all[i == 999 ? 0 : (i + 1) % streams];
        const Memory& x = arrays[i % 10];  // all streams use these arrays
        const Memory& own = arrays[10 + (i % streams) * 90 / streams];
        p.launch(s, {in(x.part(0, 2048)), out(x.part(2048, 2048)), out(own)});
        p.wait(next, p.record(s));
    }
    return p;
}

/// Launches with three arrays each. Their streams wait for each other.
Program launches(std::size_t streams, bool by_turns) {
    Program p;
    std::vector<Program::StreamName> all;
    for (std::size_t i = 0; i < streams; ++i) all.push_back(p.stream());
    const Memory x = p.array(), y = p.array(), z = p.array();
    for (std::size_t i = 0; i < streams; ++i) {
        const auto s = all[i];
        for (int n = 0; n < (by_turns ? 1 : 1000); ++n) p.launch(s, {in(x), in(y), out(z)});
        p.wait_stream(all[(i + 1) % streams], s);
    }
    return p;
}

}  // namespace

TEST_CASE("check: ten million operations leave less than a megabyte", "[.][check-cost]") {
    Repeated repeated(traffic(8));
    const std::size_t before = bytes_in_use();
    detail::CheckEngine engine;
    for (int tenth = 1; tenth <= 10; ++tenth) {
        for (std::size_t done = 0; done < 1000000; done += repeated.size()) repeated.add_to(engine);
        std::printf("after %d million: %zu KB\n", tenth, (bytes_in_use() - before) / 1024);
        CHECK(bytes_in_use() - before <= 1 << 20);
    }
    CHECK(engine.findings().empty());
}

/// Streams that each wait for the previous one. Each runs a host function that may signal other
/// work.
Program chain(std::size_t streams) {
    Program p;
    auto before = p.stream();
    for (std::size_t i = 1; i < streams; ++i) {
        const auto next = p.stream();
        p.wait_stream(next, before);
        p.host_function(next);
        p.ops.back().may_signal = true;
        before = next;
    }
    p.synchronize(before);
    return p;
}

// Each clock covers all previous streams. If stored as full copies, the clocks would take 400 MB.
TEST_CASE("check: a chain of 10,000 streams keeps what 10,000 waits keep", "[check]") {
    const Program program = chain(10000);
    const std::size_t before = bytes_in_use();
    detail::CheckEngine engine;
    for (const CheckOp& op : program.ops) engine.add(op);
    CHECK(engine.findings().empty());
    CHECK(bytes_in_use() <= before + 10000 * 5000);
}

TEST_CASE("check: what operations cost", "[.][check-cost]") {
    constexpr std::size_t ops = 3000000;
    std::printf("launch of 3 arrays, one stream: %.0f ns\n",
                nanoseconds_each(launches(1, false), ops));
    for (const std::size_t streams : {8u, 64u, 200u})
        std::printf("launch of 3 arrays and wait_stream, %zu streams by turns: %.0f ns each\n",
                    streams, nanoseconds_each(launches(streams, true), ops / 3));
    for (const std::size_t streams : {8u, 64u})
        std::printf("launch, record, wait, %zu streams: %.0f ns each\n", streams,
                    nanoseconds_each(traffic(streams), ops));
    for (const std::size_t streams : {100u, 1000u, 10000u})
        std::printf("wait and host function, a chain of %zu streams: %.0f ns each\n", streams,
                    nanoseconds_each(chain(streams), 1));
    Program allocations;
    const auto s = allocations.stream();
    const Memory x = allocations.allocate(s);
    allocations.free(s, x);
    std::printf("allocate or free: %.0f ns each\n", nanoseconds_each(allocations, ops));
    Program parts;
    const auto t = parts.stream();
    const Memory many = parts.array(65536 * 4);
    for (std::uint64_t i = 0; i < 65536; ++i) parts.write(t, many.part(4 * i, 4));
    std::printf("write of one of 65536 cells: %.0f ns\n", nanoseconds_each(parts, ops));
}
