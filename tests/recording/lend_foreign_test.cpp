// Loans of captured streams: work enqueued outside heddle becomes nodes. Another backend imitates
// native captures, which CPU devices lack. (On GPUs: cuda/with_native_test.cu)
#include "core/base/errors.hpp"
#include "core/recording/recorder.hpp"
#include "lend.hpp"
#include "stream/holding_backend.hpp"

#include <memory>
#include <vector>

using namespace heddle_test;

namespace {

/// Counts work enqueued outside heddle that no capture has recorded yet.
class Foreign final : public HoldingBackend {
public:
    int pending = 0;  ///< pieces of work
    int open = 0;     ///< open native captures
    bool refuses = false;

    std::unique_ptr<detail::ForeignCapture> capture_foreign(detail::StreamRecord&, bool,
                                                            CaptureMode,
                                                            const SourceLocation&) override {
        struct Capture final : detail::ForeignCapture {
            explicit Capture(Foreign& on) : backend(on) { ++backend.open; }
            ~Capture() override {
                --backend.open;
                backend.pending = 0;
            }
            void* native() const noexcept override { return &backend; }
            std::shared_ptr<void> take_work(const SourceLocation& where) override {
                if (backend.refuses) detail::usage_error({"capture", where}, "refused");
                if (std::exchange(backend.pending, 0) == 0) return nullptr;
                return std::make_shared<int>(0);
            }
            Foreign& backend;
        };
        return std::make_unique<Capture>(*this);
    }
};

/// Makes recorded operations store their accesses.
struct Watched final : Observer {
    Watched() { add_observer(*this); }
    ~Watched() { remove_observer(*this); }
    void on_op(const OpInfo&) noexcept override {}
};

using Indices = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("native work in a captured loan has the memory that the loan declares") {
    const Stream s(cpu_device()), t(cpu_device());
    Array<int> x = zeros<int>(s, 8), y = zeros<int>(s, 8);
    s.synchronize();
    const Watched watched;
    Foreign backend;
    backend.take(s);
    const detail::Block &of_x = *detail::Access::block(x), &of_y = *detail::Access::block(y);
    ScopedCapture scope{s};
    detail::Recorder& recorder = *detail::record_of(s).recorder.load();
    CHECK(lend(
        s,
        [&] {
            backend.pending = 1;
            launch_host(s, [] {});  // the native work precedes it, as node 0
            t.wait_stream(s);
            launch_host(t, [] {});  // on another stream, and not part of the loan
            s.wait_stream(t);
            backend.pending = 1;
            // When this loan begins, the pending work becomes node 3.
            CHECK(lend(s, [&] { backend.pending = 1; }, reads(y)));
        },
        writes(x)));
    CHECK(backend.open == 0);
    CHECK(recorder.tape->size() == 5);
    CHECK(recorder.tape->users_of(of_x) == Indices{0, 3, 4});
    CHECK(recorder.tape->users_of(of_y) == Indices{4});
    std::vector<OpAccess> accesses;
    CHECK(recorder.tape->take_accesses(2, accesses));
    CHECK(accesses.empty());
    REQUIRE(recorder.tape->take_accesses(0, accesses));
    REQUIRE(accesses.size() == 1);
    CHECK(accesses[0].data == x.data());
    CHECK(accesses[0].writes());
    REQUIRE(recorder.tape->take_accesses(4, accesses));
    CHECK(accesses.size() == 2);
    (void)scope.end();
}

TEST_CASE("a loan whose native work cannot be captured throws, and has ended") {
    const Stream s(cpu_device());
    Foreign backend;
    backend.take(s);
    ScopedCapture scope{s};
    CHECK_THROWS_AS(lend(s, [&] { backend.refuses = true; }), UsageError);
    CHECK_FALSE(detail::record_of(s).has(detail::stream_flag::lending));
    CHECK(backend.open == 0);
    backend.refuses = false;
    CHECK(lend(s, [&] { backend.pending = 1; }));
    CHECK(scope.end().size() == 1);
}

TEST_CASE("other streams reuse a capture's memory only after native work that was not declared") {
    enum class Freed { before_collection, after_collection, after_loan };
    for (const Freed freed :
         {Freed::before_collection, Freed::after_collection, Freed::after_loan}) {
        INFO("freed: " << static_cast<int>(freed));
        const Stream s(cpu_device()), t(cpu_device());
        Foreign backend;
        backend.take(s);
        ScopedCapture scope{s};
        Array<int> x = zeros<int>(s, 64);
        const int* const memory = x.data();
        x = {};
        std::vector<Array<int>> others;  // kept, because a capture could reuse their memory first
        const auto reuses = [&](StreamRef stream) {
            Array<int> array(stream, 64);
            if (array.data() == memory) return true;
            others.push_back(std::move(array));
            return false;
        };
        t.wait_stream(s);
        x = empty<int>(s, 64);
        CHECK(x.data() == memory);
        CHECK(lend(s, [&] {
            backend.pending = 1;
            if (freed == Freed::after_loan) return;
            if (freed == Freed::after_collection) launch_host(s, [] {});
            x = {};
            CHECK_FALSE(reuses(t));
        }));
        CHECK(backend.pending == 0);
        x = {};
        CHECK_FALSE(reuses(t));
        CHECK(reuses(s));
        t.wait_stream(s);
        CHECK(reuses(t));
        s.wait_stream(t);
        (void)scope.end();
    }
}

TEST_CASE("a capture reuses the memory of arrays that only native work used") {
    const Stream s(cpu_device()), t(cpu_device());
    Foreign backend;
    backend.take(s);
    ScopedCapture scope{s};
    t.wait_stream(s);
    const auto use = [&] {
        const int* memory = nullptr;
        CHECK(lend(s, [&] {
            const Array<int> x(s, 64);
            memory = x.data();
            backend.pending = 1;
        }));
        return memory;
    };
    const int* const first = use();
    CHECK(use() == first);
    CHECK(Array<int>(t, 64).data() != first);
    t.wait_stream(s);
    CHECK(Array<int>(t, 64).data() == first);
    s.wait_stream(t);
    (void)scope.end();
}

TEST_CASE("a branch of a capture with native work reuses its memory beside another such branch") {
    const Stream s(cpu_device()), t(cpu_device());
    Foreign backend;
    backend.take(s), backend.take(t);
    ScopedCapture scope{s};
    t.wait_stream(s);
    const auto use = [&](const Stream& stream) {
        const int* memory = nullptr;
        CHECK(lend(stream, [&] {
            const Array<int> x = zeros<int>(stream, 64);
            memory = x.data();
            backend.pending = 1;
        }));
        return memory;
    };
    const int* const of_s = use(s);
    const int* const of_t = use(t);
    CHECK(of_s != of_t);
    CHECK(use(s) == of_s);
    CHECK(use(t) == of_t);
    s.wait_stream(t);
    (void)scope.end();
}

TEST_CASE(
    "a capture's memory is not reused beside native work of another stream that declares it") {
    const bool by_loan = GENERATE(true, false);
    INFO("declared by " << (by_loan ? "the loan" : "used_on()"));
    const Stream s(cpu_device()), t(cpu_device()), u(cpu_device());
    Foreign backend;
    backend.take(t);
    ScopedCapture scope{s};
    Array<int> x = zeros<int>(s, 64);
    const int* const memory = x.data();
    const auto u_reuses = [&] { return empty<int>(u, 64).data() == memory; };
    t.wait_stream(s);
    u.wait_stream(s);
    const auto use = [&] {
        backend.pending = 1;
        if (!by_loan) x.used_on(t);
        x = {};
        CHECK_FALSE(u_reuses());
    };
    const bool was_lent = by_loan ? lend(t, use, writes(x)) : lend(t, use);
    CHECK(was_lent);
    CHECK_FALSE(u_reuses());
    u.wait_stream(t);
    CHECK(u_reuses());
    s.wait_stream(u);
    (void)scope.end();
}
