#include "timeline/page_samples.hpp"

#include <algorithm>

namespace heddle_test {

Sample solved(TimedTrace& t, const std::string& program) {
    t.raw().program = program;
    t.raw().base_realtime_ns = 1'767'225'600'000'000'000;
    Trace trace = t.finish();
    for (const TraceOp& op : trace.ops) trace.end = std::max({trace.end, op.end, op.call_end});
    return {trace, solve(trace)};
}

Sample tiny_sample() {
    SampleTrace t;
    const TraceIndex device = t.cuda_device(TraceClock::events, 1300);
    const TraceIndex main = t.stream("main", device), up = t.stream("up", device);
    t.stream("unused", device);
    t.run(OpKind::copy, up, "host to device", 40'000, {.bytes = 2'000'000}, 12)
        .uses(0x7f0000001000, AccessMode::write, 2'000'000, "chunk");
    t.launch(main, "Clear", 9'000, {}, 13);
    t.wait_stream(main, up, 14).because(WaitReason::data);
    t.launch(main, "Hash", 30'000, {}, 15)
        .uses(0x7f0000001000, AccessMode::read, 2'000'000, "chunk", 0)
        .uses(0x7f0000801000, AccessMode::read_write, 4096, "", 1);
    t.launch(main, "Reduce", 12'000, {}, 16);
    t.synchronize(main, 17);
    Sample sample = solved(t, "tiny");
    sample.solution.bars[1].start_is_deduced = true;
    return sample;
}

namespace {

/// The streams of one device in the realistic sample.
struct Engine {
    TraceIndex up, main, down;
    Moment scale;  ///< in percent; the second device is slower
};

/// Copies one chunk to the device, hashes it there, and copies the result back.
void hash_chunk(TimedTrace& t, const Engine& engine, int chunk) {
    const auto scaled = [&](Moment time) { return time * engine.scale / 100 + chunk * 731 % 9000; };
    const std::uint64_t read = 0x7f2a00000000 + (std::uint64_t(chunk % 2) << 23);
    const std::uint64_t digest = 0x7f2b00000000;
    t.run(OpKind::copy, engine.up, "host to device", scaled(180'000), {.bytes = 8u << 20}, 61)
        .uses(read, AccessMode::write, 8u << 20, "chunk");
    t.wait_stream(engine.main, engine.up, 64).because(WaitReason::data);
    t.launch(engine.main, "Hash<float, 256>", scaled(150'000), {}, 66)
        .uses(read, AccessMode::read, 8u << 20, "chunk", 0)
        .uses(digest, AccessMode::read_write, 1u << 16, "digest", 1);
    t.launch(engine.main, "Reduce", scaled(42'000), {}, 67)
        .uses(digest, AccessMode::read, 1u << 16, "digest", 0);
    t.wait_stream(engine.down, engine.main, 70);
    t.run(OpKind::copy, engine.down, "device to host", scaled(26'000), {.bytes = 1u << 20}, 71);
}

void all_reduce(TimedTrace& t, const std::vector<Engine>& engines, std::uint64_t number) {
    Moment longest = 0;
    for (std::uint32_t i = 0; i < engines.size(); ++i) {
        const auto op = t.run(OpKind::collective, engines[i].main, "all_reduce", 64'000 - longest,
                              {.bytes = 4u << 20}, 90);
        op->collective = number;
        op->share = i;
        op->shares = static_cast<std::uint32_t>(engines.size());
        longest += 9'000;
    }
}

/// Launches a graph of four nodes, of which two run at a time.
void launch_graph(TimedTrace& t, TraceIndex stream, TraceIndex graph) {
    const auto op = t.run(OpKind::graph_launch, stream, "step", 210'000, {}, 96);
    op->graph = graph;
    for (std::uint32_t node = 0; node < 4; ++node) {
        const Moment start = op->start + 105'000 * (node / 2);
        t.node_ran(op, node, start, start + 102'000);
    }
}

void read_files(TimedTrace& t, TraceIndex thread, TraceIndex stream) {
    t.on_thread(thread);
    for (int i = 0; i < 5; ++i) {
        const Moment begin = t.now();
        t.compute(320'000 + 40'000 * (i % 3));
        t.run(OpKind::host_function, stream, "check_sum", 70'000, {}, 142);
        t.range("read file " + std::to_string(i), begin, t.now(), thread);
        t.compute(60'000);
    }
}

}  // namespace

Sample realistic_sample() {
    SampleTrace t;
    std::vector<Engine> engines;
    for (int i = 0; i < 2; ++i) {
        const TraceIndex device = t.cuda_device(TraceClock::events, 1300 + 400 * i);
        const TraceIndex up = t.stream("up", device), main = t.stream("main", device);
        engines.push_back({up, main, t.stream("down", device), 100 + 15 * i});
    }
    const TraceIndex checks = t.stream("checks"), reader = t.thread("reader");
    for (const Engine& engine : engines) {
        t.run(OpKind::allocate, engine.main, "allocate", 1'500, {.bytes = 64u << 20}, 31);
        t.run(OpKind::fill, engine.main, "fill", 21'000, {.bytes = 64u << 20}, 32);
    }
    for (int i = 0; i < 3; ++i) {
        const auto op = t.call(OpKind::launch, engines[0].main, "Smooth", 40);
        op.mode(OpMode::captured)->recording = 41;
    }
    const TraceIndex graph = t.graph({"Smooth", "Gradient", "Project", "Correct"});
    const Moment begin = t.now();
    for (int chunk = 0; chunk < 12; ++chunk) {
        const Moment chunk_begin = t.now();
        for (const Engine& engine : engines) hash_chunk(t, engine, chunk);
        if (chunk == 4) t.compute(310'000);  // the host is busy with other work
        if (chunk == 7) {                    // the kernel's code is loaded
            t.delay_call(240'000);
            t.launch(engines[0].main, "Norm", 30'000, {}, 88);
        }
        if (chunk == 9) t.delay_call(420'000);  // the queue is full
        if (chunk % 4 == 3) all_reduce(t, engines, 7 + static_cast<std::uint64_t>(chunk));
        if (chunk % 6 == 5) launch_graph(t, engines[0].main, graph);
        if (chunk % 2 == 1) t.synchronize(engines[chunk % 4 < 2 ? 0 : 1].down, 99);
        t.range("chunk " + std::to_string(chunk), chunk_begin, t.now());
    }
    t.call(OpKind::dropped, engines[1].down, "Reduce", 101);
    for (const Engine& engine : engines) {
        t.run(OpKind::free, engine.main, "free", 1'200, {.bytes = 64u << 20}, 104);
        t.synchronize(engine.main, 105);
    }
    t.range("hash all", begin, t.now());
    read_files(t, reader, checks);
    t.raw().notes = {"CUPTI was not used: another tool had subscribed to it.",
                     "A timing event behind each operation takes 0.6 \xc2\xb5s of the device."};
    Sample sample = solved(t, "build/examples/pipeline --chunks 12 --devices 2");
    for (std::size_t i = 0; i < sample.solution.bars.size(); i += 3)
        sample.solution.bars[i].start_is_deduced = sample.solution.bars[i].run == no_index;
    return sample;
}

Sample large_sample(std::size_t count) {
    SampleTrace t;
    std::vector<TraceIndex> streams;
    for (int i = 0; i < 2; ++i) {
        const TraceIndex device = t.cuda_device(TraceClock::cupti, 700);
        for (const char* name : {"up", "main", "down"}) streams.push_back(t.stream(name, device));
    }
    const char* const names[] = {"Hash", "Reduce", "Scan", "Gather"};
    std::uint64_t random = 1;
    while (t.raw().ops.size() < count) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const auto dice = static_cast<std::size_t>(random >> 40);
        const std::size_t stream = dice % streams.size();
        const auto length = static_cast<Moment>(3'000 + dice % 17'000);
        const auto line = static_cast<std::uint32_t>(20 + dice % 40);
        const bool is_up = stream % 3 == 0, is_launch = stream % 3 == 1;
        t.run(is_launch ? OpKind::launch : OpKind::copy, streams[stream],
              is_launch ? names[dice / 7 % 4]
              : is_up   ? "host to device"
                        : "device to host",
              length,
              {.bytes = is_launch ? 0u
                        : is_up   ? 1u << 20
                                  : 1u << 16},
              line)
            .uses(0x7f0000000000 + (dice % 16 << 20), AccessMode::read, 1u << 20, "chunk", 0);
        if (dice % 10 == 3)
            t.wait_stream(streams[stream], streams[dice / 3 % streams.size()], line);
        t.compute(static_cast<Moment>(dice % 900));
        if (dice % 50'000 == 7) t.compute(2'000'000);
    }
    return solved(t, "a million operations");
}

Sample hostile_sample() {
    const std::string names[] = {"</script><script>throw 1</script>",
                                 "<img src=x onerror=alert(1)>",
                                 "a & b < c > \"d\" 'e'",
                                 "-->]]><!--<script>",
                                 std::string("nul \0 tab \t bell \a escape \x1b", 28),
                                 "bad \xff\xc0\x80\xed\xa0\x80 utf-8",
                                 "\xe2\x82\xac \xf0\x9f\x9a\x80 \xd7\xa9 \xe2\x80\xa8",
                                 "@scripts@ @head@ ${x} \\u0041 \\",
                                 "</style></title></noscript></svg>"};
    SampleTrace t;
    const TraceIndex device = t.cuda_device(TraceClock::events);
    t.raw().devices[device].name = t.string(names[1]);
    t.raw().threads[0].name = t.string(names[2]);
    TraceIndex before = t.stream(names[3], device);
    for (const std::string& name : names) {
        const TraceIndex stream = t.stream(name, device);
        t.in_file("/src/" + name);
        t.launch(before, name, 9'000)
            .uses(0xfffffffffffff000, AccessMode::concurrent, 4096, name, 0);
        t.wait_stream(stream, before);
        t.launch(stream, name, 9'000);
        t.raw().notes.push_back(name);
        before = stream;
    }
    t.range(names[0], 0, t.now());
    return solved(t, names[0] + names[2]);
}

}  // namespace heddle_test
