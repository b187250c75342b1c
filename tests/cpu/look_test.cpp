// Snapshots of CPU streams that change while the snapshot is taken. Each must be true for one
// moment. Pointers that may have been read half-changed must not be followed.
#include <array>
#include <cstring>
#include <deque>
#include <random>
#include <utility>

#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/look/look.hpp"
#include "cpu/queue/queue.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {

using detail::Looked;
using detail::StreamAt;
using detail::StreamLook;

/// Keeps all workers busy, so that they run no other work.
class BusyWorkers {
public:
    BusyWorkers() {
        for (int i = 0; i < cpu_workers(); ++i) {
            streams_.emplace_back(cpu_device());
            held_.emplace_back(streams_.back());
        }
        for (const Held& one : held_) one.wait();
    }

private:
    std::deque<Stream> streams_;
    std::deque<Held> held_;
};

/// The contents of a closure: numbers that resemble operations, and invalid addresses.
template <std::size_t N> struct Numbers {
    std::array<std::uint64_t, N> all = {};
    Numbers() noexcept {
        constexpr std::uint64_t three[] = {0x0000160400000020, 8, (std::uint64_t{2} << 32) | 48};
        for (std::size_t i = 0; i < N; ++i) all[i] = three[i % 3];
    }
    void operator()() const noexcept {}
};

template <std::size_t N> void enqueue_numbers(detail::cpu::Queue& queue, unsigned line) {
    using Function = detail::HostFunction<Numbers<N>>;
    Function function{Numbers<N>()};
    queue.push(detail::cpu::Step::work, Function::type, &function, 1,
               SourceLocation{"numbers.cpp", line}, true);
}

/// A stream that only this thread fills and drains, one step at a time.
class Stepped {
public:
    explicit Stepped(unsigned seed) : random_(seed) {}
    ~Stepped() {
        while (!units_.empty()) drain();
    }

    detail::StreamRecord& record() const { return detail::record_of(StreamRef(stream_)); }
    detail::cpu::Queue& queue() const { return detail::cpu::queue_of(record()); }
    unsigned draw(unsigned below) { return static_cast<unsigned>(random_()) % below; }

    /// Makes one change: drains an item or enqueues one.
    void move() {
        if (units_.size() > 40 || (!units_.empty() && draw(2) == 0)) drain();
        else fill();
        note();
    }
    /// Enqueues an item, which the thread can drain later.
    void fill() {
        detail::CompletionRef done = detail::make_completion();
        const bool is_wait = draw(4) == 0;
        if (is_wait) {
            steps_.push_back({++line_, done.get(), true});
            queue().push_wait(done, SourceLocation{"numbers.cpp", line_});
            units_.push_back({std::move(done), true});
            return;
        }
        steps_.push_back({++line_, nullptr, false});
        switch (draw(5)) {
        case 0: enqueue_numbers<3>(queue(), line_); break;
        case 1: enqueue_numbers<17>(queue(), line_); break;
        case 2: enqueue_numbers<64>(queue(), line_); break;
        case 3: enqueue_numbers<200>(queue(), line_); break;
        default: enqueue_numbers<1100>(queue(), line_);  // does not fit in one chunk
        }
        steps_.push_back({0, done.get(), false});
        queue().push_signal(done, false);
        units_.push_back({std::move(done), false});
    }

    /// Returns whether the snapshot shows the stream's pending work at some moment since `first`.
    bool was_true(const StreamLook& look, std::size_t first) const {
        for (std::size_t i = first; i < moments_.size(); ++i)
            if (moments_[i].pushed == look.counts.pushed && moments_[i].done == look.counts.done)
                return is_right(look);
        return false;
    }
    std::size_t moments() const { return moments_.size(); }
    void note() { moments_.push_back({queue().pushed(), queue().done()}); }

private:
    struct Step {
        unsigned line;     ///< 0 for a signal
        const void* done;  ///< for a signal or a wait
        bool is_wait;
    };
    struct Unit {
        detail::CompletionRef done;
        bool is_wait;
    };

    void drain() {
        const Unit unit = std::move(units_.front());
        units_.pop_front();
        if (unit.is_wait) unit.done->complete();
        else detail::cpu::wait_for(*unit.done);
    }
    bool is_right(const StreamLook& look) const {
        std::vector<const void*> promised;
        std::size_t pending = 0;
        const Step* first = nullptr;
        for (std::size_t i = look.counts.done; i < look.counts.pushed; ++i) {
            const Step& step = steps_[i];
            if (first == nullptr) first = &step;
            if (step.line != 0) ++pending;
            else promised.push_back(step.done);
        }
        std::size_t before = 0;
        for (std::size_t i = 0; i < look.counts.done; ++i) before += steps_[i].line != 0 ? 1 : 0;
        if (look.pending != pending || look.next != before + 1 || !look.is_whole) return false;
        if (look.promises.size() != promised.size() + 1) return false;  // + 1: the stream's end
        for (std::size_t i = 0; i < promised.size(); ++i)
            if (look.promises[i].completion != promised[i]) return false;
        if (first == nullptr) return look.at == StreamAt::idle;
        if (look.at == StreamAt::wait && look.awaited != first->done) return false;
        return look.at != StreamAt::idle && look.where.line == first->line;
    }

    std::mt19937 random_;
    Stream stream_ = Stream{cpu_device()};
    std::deque<Unit> units_;
    std::vector<Step> steps_;
    unsigned line_ = 0;
    struct Moment {
        std::uint64_t pushed, done;
    };
    std::vector<Moment> moments_;
};

/// The state for functions that return inconsistent copies.
struct Tearing {
    Stepped* stepped = nullptr;
    unsigned reads = 0;
    unsigned every = 1;  ///< one of this many copies is inconsistent
    std::uint64_t pushed = 0;
    bool is_empty = false;  ///< whether the endless chunks are empty
};
Tearing tearing;

/// Copies one part, changes the stream, and then copies the rest.
bool torn_peek(const void* from, void* to, std::size_t bytes) noexcept {
    ++tearing.reads;
    std::size_t first = 0;
    if (tearing.stepped->draw(tearing.every) == 0) {
        first = tearing.stepped->draw(static_cast<unsigned>(bytes / 8 + 1)) * 8;
        if (first != 0 && !detail::peek(from, to, first)) return false;
        for (unsigned i = tearing.stepped->draw(4); i != 0; --i) tearing.stepped->move();
    }
    return first == bytes || detail::peek(static_cast<const std::byte*>(from) + first,
                                          static_cast<std::byte*>(to) + first, bytes - first);
}

/// Copies, and then replaces some words.
bool garbled_peek(const void* from, void* to, std::size_t bytes) noexcept {
    ++tearing.reads;
    if (!detail::peek(from, to, bytes)) return false;
    if (bytes < sizeof(detail::cpu::Operation) || bytes == sizeof(detail::cpu::Queue)) return true;
    for (unsigned i = 0; i < 8; ++i) {
        const std::size_t at = tearing.stepped->draw(static_cast<unsigned>(bytes / 8)) * 8;
        const std::uint64_t words[] = {0,
                                       1,
                                       0x0000160400000020,
                                       (std::uint64_t{tearing.stepped->draw(16)} << 32) | 32,
                                       ~std::uint64_t{0},
                                       reinterpret_cast<std::uintptr_t>(from),
                                       reinterpret_cast<std::uintptr_t>(to)};
        std::memcpy(static_cast<std::byte*>(to) + at,
                    &words[tearing.stepped->draw(std::size(words))], 8);
    }
    return true;
}

/// Reads as peek() does, and changes the copy: each chunk has at most one operation and links to
/// itself, and the queue seems very long.
bool endless_peek(const void* from, void* to, std::size_t bytes) noexcept {
    ++tearing.reads;
    if (!detail::peek(from, to, bytes)) return false;
    if (bytes == sizeof(detail::cpu::Queue)) {
        for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, static_cast<std::byte*>(to) + at, 8);
            const std::uint64_t many = std::uint64_t{1} << 40;
            if (word == tearing.pushed) std::memcpy(static_cast<std::byte*>(to) + at, &many, 8);
        }
    } else if (bytes == detail::cpu::Chunk::standard) {
        using detail::cpu::Operation, detail::cpu::Step;
        std::memcpy(to, &from, sizeof from);
        std::byte* const data = static_cast<std::byte*>(to) + sizeof(detail::cpu::Chunk);
        std::uint32_t size = 0;  // size of the only operation
        if (!tearing.is_empty) std::memcpy(&size, data + 2 * sizeof(void*), sizeof size);
        const Operation link(Step::next_chunk, 0, *detail::cpu::type_of(Step::next_chunk), 1, {});
        std::memcpy(data + size, static_cast<const void*>(&link), sizeof link);
    }
    return true;
}

}  // namespace

TEST_CASE("a look at a stream that moves while it is copied is true of one moment", "[watch]") {
    const Drained drained;
    const BusyWorkers busy;
    int seen = 0, moved = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        Stepped stepped(seed);
        tearing = {&stepped, 0, 1 + seed % 12};
        stepped.note();
        for (int i = 0; i < 12; ++i) stepped.move();
        for (int i = 0; i < 40; ++i) {
            const std::size_t first = stepped.moments() - 1;
            StreamLook look;
            const Looked looked = detail::cpu::look_at_queue(stepped.record(), look, &torn_peek);
            REQUIRE(looked != Looked::refused);
            if (looked == Looked::moved) {
                ++moved;
                CHECK(look.promises.empty());
                continue;
            }
            ++seen;
            INFO("seed " << seed << ", look " << i);
            REQUIRE(stepped.was_true(look, first));
        }
    }
    CHECK(seen > 100);
    CHECK(moved > 100);
}

TEST_CASE("a look follows nothing in copies that make no sense", "[watch]") {
    const Drained drained;
    const BusyWorkers busy;
    for (unsigned seed = 0; seed < 40; ++seed) {
        Stepped stepped(seed);
        tearing = {&stepped, 0, 1};
        for (int i = 0; i < 20; ++i) stepped.fill();
        for (int i = 0; i < 100; ++i) {
            StreamLook look;
            CHECK(detail::cpu::look_at_queue(stepped.record(), look, &garbled_peek) !=
                  Looked::refused);
        }
        CHECK(tearing.reads < 400 * 200);
    }
}

TEST_CASE("a look counts the chunks that it follows", "[watch]") {
    const Drained drained;
    const BusyWorkers busy;
    Stepped stepped(1);
    for (int i = 0; i < 77; ++i) enqueue_numbers<3>(stepped.queue(), 1);
    tearing = {&stepped, 0, 1, stepped.queue().pushed()};
    REQUIRE(tearing.pushed == 77);
    StreamLook look;
    CHECK(detail::cpu::look_at_queue(stepped.record(), look, &endless_peek) == Looked::seen);
    CHECK(!look.is_whole);
    tearing.is_empty = true;
    CHECK(detail::cpu::look_at_queue(stepped.record(), look, &endless_peek) == Looked::moved);
}

TEST_CASE("a stream is at rest while it has nothing to do", "[watch]") {
    const Drained drained;
    const auto rests = [](const Stream& s) {
        return detail::cpu::at_rest(detail::record_of(StreamRef(s))).load() != 0;
    };
    const Stream s = named("rests"), of_graph = named("of a graph");
    CHECK(rests(s));
    {
        const Held held(s);
        held.wait();
        CHECK(!rests(s));
    }
    s.synchronize();
    CHECK(eventually([&] { return rests(s); }));
    (void)s.record_event();
    CHECK(eventually([&] { return rests(s); }));
    StreamLook look;
    CHECK(detail::record_of(StreamRef(s)).backend->look(detail::record_of(StreamRef(s)), look) ==
          Looked::seen);
    CHECK(look.at == StreamAt::idle);
    CHECK(look.next == 2);
    // A run of a graph has more to complete after its operations.
    Graph graph = host_node(cpu_device(), [] {}).build();
    graph.launch(of_graph);
    of_graph.synchronize();
    detail::cpu::queue_of(detail::record_of(StreamRef(of_graph))).finish_pushes();
    CHECK(!rests(of_graph));
    // Once a thread can wait for the end of the stream, the stream has to complete that end, too.
    Stepped closing(1);
    CHECK(detail::cpu::at_rest(closing.record()).load() != 0);
    closing.queue().begin_to_close();
    CHECK(detail::cpu::at_rest(closing.record()).load() == 0);
}

namespace {
/// Blocks the thread that completes the awaited work.
struct HeldWaker : detail::Waiter {
    Flag is_inside, opened;
    HeldWaker() {
        wake = [](detail::Waiter& self, const detail::Completion&) noexcept {
            const Flag may_go_on = static_cast<HeldWaker&>(self).opened;
            static_cast<HeldWaker&>(self).is_inside.set();
            (void)may_go_on.wait();
        };
    }
};

detail::cpu::Queue& queue_of(const Stream& s) {
    return detail::cpu::queue_of(detail::record_of(StreamRef(s)));
}
StreamAt place_of(const Stream& s) {
    StreamLook look;
    const Looked looked = detail::cpu::look_at_queue(detail::record_of(StreamRef(s)), look);
    return looked == Looked::seen ? look.at : StreamAt::between;
}
}  // namespace

TEST_CASE("a stream that still wakes others is not at its next wait", "[watch]") {
    const Drained drained;
    const Stream s = named("wakes");
    HeldWaker waker;
    const detail::CompletionRef first = detail::make_completion(),
                                second = detail::make_completion();
    REQUIRE(first->add(waker));
    {
        const Held held(s);
        held.wait();
        queue_of(s).push_signal(first, false);
        queue_of(s).push_wait(second, SourceLocation{"held.cpp", 3});
    }
    CHECK(waker.is_inside.wait());
    CHECK(place_of(s) == StreamAt::ready);
    waker.opened.set();
    CHECK(eventually([&] { return place_of(s) == StreamAt::wait; }));
    second->complete();
    s.synchronize();
}
