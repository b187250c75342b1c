#include "timeline/page_samples.hpp"

namespace heddle_test {

Sample tiny_sample() {
    SampleMaker make("tiny");
    const TraceIndex device = make.add_device("NVIDIA H200", 0, detail::TraceClock::events, 1300);
    const TraceIndex main = make.add_stream(device, "main"), up = make.add_stream(device, "up");
    make.add_stream(device, "unused");
    make.add_thread("main");
    make.at_line(12).run(up, OpKind::copy, "host to device", 40'000, 2'000'000);
    make.access("chunk", 0x7f0000001000, 2'000'000, AccessMode::write, -1);
    make.at_line(13).launch(main, "Clear", 9'000);
    make.at_line(14).wait(main, up, WaitReason::data);
    make.at_line(15).launch(main, "Hash", 30'000);
    make.access("chunk", 0x7f0000001000, 2'000'000, AccessMode::read, 0);
    make.access("", 0x7f0000801000, 4096, AccessMode::read_write, 1);
    make.at_line(16).launch(main, "Reduce", 12'000);
    make.at_line(17).synchronize(main);
    Sample sample = make.finish();
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
void hash_chunk(SampleMaker& make, const Engine& engine, int chunk) {
    const auto scaled = [&](Moment time) { return time * engine.scale / 100 + chunk * 731 % 9000; };
    make.at_line(61).run(engine.up, OpKind::copy, "host to device", scaled(180'000), 8u << 20);
    make.access("chunk", 0x7f2a00000000 + (std::uint64_t(chunk % 2) << 23), 8u << 20,
                AccessMode::write, -1);
    make.at_line(64).wait(engine.main, engine.up, WaitReason::data);
    make.at_line(66).launch(engine.main, "Hash<float, 256>", scaled(150'000));
    make.access("chunk", 0x7f2a00000000 + (std::uint64_t(chunk % 2) << 23), 8u << 20,
                AccessMode::read, 0);
    make.access("digest", 0x7f2b00000000, 1u << 16, AccessMode::read_write, 1);
    make.at_line(67).launch(engine.main, "Reduce", scaled(42'000));
    make.access("digest", 0x7f2b00000000, 1u << 16, AccessMode::read, 0);
    make.at_line(70).wait(engine.down, engine.main);
    make.at_line(71).run(engine.down, OpKind::copy, "device to host", scaled(26'000), 1u << 20);
}

void all_reduce(SampleMaker& make, const std::vector<Engine>& engines, std::uint64_t number) {
    Moment longest = 0;
    for (std::uint32_t i = 0; i < engines.size(); ++i) {
        make.at_line(90).run(engines[i].main, OpKind::collective, "all_reduce", 64'000 - longest,
                             4u << 20);
        make.last_op().collective = number;
        make.last_op().share = i;
        make.last_op().shares = static_cast<std::uint32_t>(engines.size());
        longest += 9'000;
    }
}

void read_files(SampleMaker& make, TraceIndex thread, TraceIndex stream) {
    make.on_thread(thread);
    for (int i = 0; i < 5; ++i) {
        const Moment begin = make.now();
        make.pass(320'000 + 40'000 * (i % 3));
        make.at_line(142).run(stream, OpKind::host_function, "check_sum", 70'000);
        make.range("read file " + std::to_string(i), begin);
        make.pass(60'000);
    }
}

}  // namespace

Sample realistic_sample() {
    SampleMaker make("build/examples/pipeline --chunks 12 --devices 2");
    std::vector<Engine> engines;
    for (int i = 0; i < 2; ++i) {
        const TraceIndex device =
            make.add_device("NVIDIA H200", i, detail::TraceClock::events, 1300 + 400 * i);
        const TraceIndex up = make.add_stream(device, "up");
        const TraceIndex main = make.add_stream(device, "main");
        engines.push_back({up, main, make.add_stream(device, "down"), 100 + 15 * i});
    }
    const TraceIndex cpu = make.add_device("", 0, detail::TraceClock::workers, 0);
    const TraceIndex checks = make.add_stream(cpu, "checks");
    const TraceIndex main_thread = make.add_thread("main"), reader = make.add_thread("reader");
    make.on_thread(main_thread);
    for (const Engine& engine : engines) {
        make.at_line(31).run(engine.main, OpKind::allocate, "allocate", 1'500, 64u << 20);
        make.at_line(32).run(engine.main, OpKind::fill, "fill", 21'000, 64u << 20);
    }
    for (int i = 0; i < 3; ++i)
        make.at_line(40).call(engines[0].main, OpKind::launch, "Smooth", OpMode::captured);
    const TraceIndex graph = make.add_graph({"Smooth", "Gradient", "Project", "Correct"});
    const Moment begin = make.now();
    for (int chunk = 0; chunk < 12; ++chunk) {
        const Moment chunk_begin = make.now();
        for (const Engine& engine : engines) hash_chunk(make, engine, chunk);
        if (chunk == 4) make.pass(310'000);  // the host is busy with other work
        if (chunk == 7) make.delay_call(240'000, GapReason::loading_code);
        if (chunk == 9) make.delay_call(420'000, GapReason::queue_full);
        if (chunk % 4 == 3) all_reduce(make, engines, 7 + static_cast<std::uint64_t>(chunk));
        if (chunk % 6 == 5) make.at_line(96).launch_graph(engines[0].main, graph, 210'000);
        if (chunk % 2 == 1) make.at_line(99).synchronize(engines[chunk % 4 < 2 ? 0 : 1].down);
        make.range("chunk " + std::to_string(chunk), chunk_begin);
    }
    make.at_line(101).call(engines[1].down, OpKind::dropped, "Reduce");
    for (const Engine& engine : engines) {
        make.at_line(104).run(engine.main, OpKind::free, "free", 1'200, 64u << 20);
        make.at_line(105).synchronize(engine.main);
    }
    make.range("hash all", begin);
    read_files(make, reader, checks);
    make.trace().notes = {
        "CUPTI was not used: another tool had subscribed to it.",
        "A timing event behind each operation takes 0.6 \xc2\xb5s of the device."};
    Sample sample = make.finish();
    for (std::size_t i = 0; i < sample.solution.bars.size(); i += 3)
        sample.solution.bars[i].start_is_deduced = sample.solution.bars[i].run == no_index;
    return sample;
}

Sample large_sample(std::size_t count) {
    SampleMaker make("a million operations");
    std::vector<TraceIndex> streams;
    for (int i = 0; i < 2; ++i) {
        const TraceIndex device = make.add_device("NVIDIA H200", i, detail::TraceClock::cupti, 700);
        for (const char* name : {"up", "main", "down"})
            streams.push_back(make.add_stream(device, name));
    }
    make.add_thread("main");
    const char* const names[] = {"Hash", "Reduce", "Scan", "Gather"};
    std::uint64_t random = 1;
    while (make.trace().ops.size() < count) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const auto dice = static_cast<std::size_t>(random >> 40);
        const TraceIndex stream = streams[dice % streams.size()];
        const auto length = static_cast<Moment>(3'000 + dice % 17'000);
        make.at_line(static_cast<std::uint32_t>(20 + dice % 40));
        if (stream % 3 == 0) make.run(stream, OpKind::copy, "host to device", length, 1u << 20);
        else if (stream % 3 == 2)
            make.run(stream, OpKind::copy, "device to host", length, 1u << 16);
        else make.launch(stream, names[dice / 7 % 4], length);
        make.access("chunk", 0x7f0000000000 + (dice % 16 << 20), 1u << 20, AccessMode::read, 0);
        if (dice % 10 == 3) make.wait(stream, streams[dice / 3 % streams.size()]);
        make.pass(static_cast<Moment>(dice % 900));
        if (dice % 50'000 == 7) make.pass(2'000'000);
    }
    return make.finish();
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
    SampleMaker make(names[0] + names[2]);
    const TraceIndex device = make.add_device(names[1], 0, detail::TraceClock::none, 0);
    make.add_thread(names[2]);
    TraceIndex before = make.add_stream(device, names[3]);
    for (const std::string& name : names) {
        const TraceIndex stream = make.add_stream(device, name);
        make.run(before, OpKind::launch, name, 9'000);
        make.last_op().file = make.text("/src/" + name);
        make.access(name, 0xfffffffffffff000, 4096, AccessMode::concurrent, 0);
        make.wait(stream, before);
        make.launch(stream, name, 9'000);
        make.trace().notes.push_back(name);
        before = stream;
    }
    make.range(names[0], 0);
    return make.finish();
}

}  // namespace heddle_test
