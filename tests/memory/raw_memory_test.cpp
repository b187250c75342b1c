// Memory that is known by its address alone, as in containers of other libraries. Its reuse follows
// the order of the streams that allocate and deallocate it.
#include <heddle/memory/adopt.hpp>
#include <heddle/memory/detail/raw_memory.hpp>

#include "core/memory/block_index.hpp"
#include "operation/watch.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

using namespace heddle_test;
using heddle::detail::allocate_raw;
using heddle::detail::deallocate_raw;
using heddle::detail::find_block;
using heddle::detail::find_raw_block;

namespace {

constexpr std::size_t n = 1000;
constexpr std::size_t bytes = n * sizeof(int);

void* allocate(StreamRef s) { return allocate_raw(s, bytes, alignof(int), Where()); }
void deallocate(StreamRef s, void* data) { deallocate_raw(s, data, Where()); }
View<int> elements(void* data) { return {static_cast<int*>(data), n}; }

/// Returns whether any of several new allocations on the stream has this address.
bool is_reused(StreamRef s, const void* data) {
    std::vector<Array<int>> others;
    for (int i = 0; i < 4; ++i) others.emplace_back(s, n);
    return std::ranges::any_of(others, [&](const Array<int>& x) { return x.data() == data; });
}

}  // namespace

TEST_CASE("raw memory is for work enqueued later on its stream") {
    const Stream s(test_device());
    void* const data = allocate(s);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 256 == 0);
    fill(s, elements(data), 7);
    Array<int> x(s, n);
    copy(s, x, elements(data));
    deallocate(s, data);
    CHECK(to_host(s, x) == Ints(n, 7));
}

TEST_CASE("raw memory of no bytes is null") {
    const Stream s(test_device());
    CHECK(allocate_raw(s, 0, 1, Where()) == nullptr);
    CHECK(allocate_raw(s.device(), 0, 1, Where()) == nullptr);
    const Reports reports;
    deallocate(s, nullptr);
    deallocate_raw(nullptr, Where());
    CHECK(reports.count() == 0);
}

TEST_CASE("raw memory that is deallocated on a busy stream is for that stream alone") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    void* const data = allocate(a);
    a.synchronize();
    Gate gate(a);
    fill(a, elements(data), 7);
    deallocate(a, data);
    CHECK_FALSE(is_reused(b, data));
    if (HEDDLE_TEST_SANITIZED == 0)  // with sanitizers, freed memory is not reused immediately
        CHECK(is_reused(a, data));
}

TEST_CASE("raw memory is freed on the stream that deallocates it, and not on its first one") {
    const Stream a(test_device()), b(test_device());
    Watch watch;
    void* const data = allocate(a);
    CHECK(watch.take_only(OpKind::allocate).stream == a.id());
    b.wait_stream(a);
    deallocate(b, data);
    const std::vector<Seen> all = watch.take();
    const std::vector<Seen> uses = of_kind(all, OpKind::used_on),
                            frees = of_kind(all, OpKind::free);
    REQUIRE((uses.size() == 1 && frees.size() == 1));
    CHECK(uses.front().stream == b.id());
    CHECK(frees.front().stream == b.id());
}

TEST_CASE("raw memory is freed after uses that heddle enqueued on other streams") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    void* const data = allocate(a);
    Array<int> x(b, n);
    b.wait_stream(a);
    b.synchronize();
    Gate gate(b);
    copy(b, x, elements(data));
    deallocate(a, data);
    CHECK_FALSE(is_reused(a, data));
}

TEST_CASE("raw memory outlives the stream that allocated it") {
    const Stream last(test_device());
    std::optional<Stream> first(test_device());
    void* const data = allocate(*first);
    fill(*first, elements(data), 7);
    last.wait_stream(*first);
    first.reset();
    Array<int> x(last, n);
    copy(last, x, elements(data));
    deallocate(last, data);
    CHECK(to_host(last, x) == Ints(n, 7));
}

TEST_CASE("raw memory of a device is for any stream at once") {
    const Stream s(test_device());
    void* const data = allocate_raw(test_device(), bytes, alignof(int), Where());
    fill(s, elements(data), 7);
    CHECK(to_host(s, elements(data)) == Ints(n, 7));
    deallocate_raw(data, Where());
}

TEST_CASE("raw memory of a capture belongs to its graph") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n);
    Graph graph = capture(s, [&] {
        void* const data = allocate(s);
        fill(s, elements(data), 7);
        copy(s, x, elements(data));
        deallocate(s, data);
    });
    for (int i = 0; i < 2; ++i) {
        fill(s, x, 0);
        graph.launch(s);
        CHECK(to_host(s, x) == Ints(n, 7));
    }
}

TEST_CASE("raw memory of a batch is its own, as if it were made at once") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, n);
    Batch batch;
    batch.run(s, [&] {
        void* const data = allocate(s);
        fill(s, elements(data), 7);
        copy(s, x, elements(data));
        deallocate(s, data);
    });
    CHECK(to_host(s, x) == Ints(n, 7));
}

TEST_CASE("raw memory has an alignment of a power of two up to 256 bytes") {
    const Stream s(test_device());
    for (const std::size_t wrong : std::vector<std::size_t>{0, 3, 512}) {
        const Error error = thrown_by([&] { (void)allocate_raw(s, bytes, wrong, Where()); });
        CHECK(error.code() == ErrorCode::usage);
    }
}

TEST_CASE("arrays may adopt parts of raw memory, which is found again behind them") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    int* const data = static_cast<int*>(allocate(s));
    s.synchronize();
    {
        const auto part = [&](std::size_t begin) {
            return adopt(test_device(), data + begin, n / 2, [](int*) {});
        };
        Array<int> first = part(0), second = part(n / 2);
        CHECK(mentions(error_of([&] { (void)part(n / 4); }), "already belongs to an array"));
        CHECK(find_block(data + n - 1) != find_raw_block(data));
        fill(other, first, 1);
        fill(other, second, 2);
        CHECK(to_host(other, second) == Ints(n / 2, 2));
    }
    finish_adopted();
    CHECK(find_block(data + n - 1) == find_raw_block(data));
    Array<int> all =
        adopt(test_device(), data, n, [](int* p, StreamRef after) { deallocate(after, p); });
    fill(other, all, 3);
    CHECK(to_host(other, all) == Ints(n, 3));
    const Reports reports;
    all.reset();
    finish_adopted();
    CHECK(reports.count() == 0);
    deallocate(s, data);
    CHECK(reports.count() == 1);
}

TEST_CASE("an array's memory is not deallocated by its address") {
    const Stream s(test_device());
    Array<int> x(s, n);
    const Reports reports;
    deallocate(s, x.data());
    CHECK(reports.count() == 1);
    fill(s, x, 4);
    CHECK(to_host(s, x) == Ints(n, 4));
}

TEST_CASE("deallocating what is no raw memory is reported") {
    const Stream s(test_device());
    void* const data = allocate(s);
    const Reports reports;
    int other = 0;
    deallocate(s, &other);
    deallocate(s, static_cast<int*>(data) + 1);
    deallocate_raw(&other, Where());
    REQUIRE(reports.count() == 3);
    CHECK(reports.all().front().code() == ErrorCode::usage);
    deallocate(s, data);
    CHECK(reports.count() == 3);
}

TEST_CASE("deallocating on a stream that is gone is reported, and leaves the memory") {
    const Stream s(test_device());
    void* const data = allocate(s);
    const Reports reports;
    deallocate(StreamRef(), data);
    CHECK(reports.count() == 1);
    CHECK_FALSE(is_reused(s, data));
    deallocate(s, data);
    CHECK(reports.count() == 1);
}
