// Scopes that one thread enters and another leaves, for example in coroutines that move between
// threads. The leaving thread passes such a scope to the thread that entered it. That thread closes
// the scope later (docs/adr/0060).
#include "support.hpp"

#ifdef __cpp_impl_coroutine
#include <coroutine>
#include <exception>
#endif

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace heddle_test;

namespace {

/// A thread that runs functions one after the other. A call returns when its function has run.
class Worker {
public:
    Worker() : thread_([this] { run(); }) {}
    ~Worker() {
        give([] {}, true);
        thread_.join();
    }
    template <class F> void operator()(F&& function) { give(function, false); }

private:
    template <class F> void give(F&& function, bool is_last) {
        std::unique_lock lock(mutex_);
        next_ = [&function] { function(); };
        is_last_ = is_last;
        changed_.notify_all();
        changed_.wait(lock, [&] { return next_ == nullptr; });
    }
    void run() {
        std::unique_lock lock(mutex_);
        for (bool ends = false; !ends;) {
            changed_.wait(lock, [&] { return next_ != nullptr; });
            ends = is_last_;
            next_();
            next_ = nullptr;
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> next_;
    bool is_last_ = false;
    std::thread thread_;
};

/// A scope within the frame of a suspended coroutine.
using Frame = std::unique_ptr<ScopedStream>;

Frame hold_scope(StreamRef stream, ScopeOptions options = {.wait_on_enter = false},
                 Where where = {}) {
    return std::make_unique<ScopedStream>(stream, options, where);
}

/// Resumes the coroutine, so that it leaves the scope.
void finish(Frame& frame) { frame.reset(); }

}  // namespace

#ifdef __cpp_impl_coroutine
namespace {
struct Coroutine {
    struct promise_type {
        Coroutine get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<promise_type> handle;
};

Coroutine suspended_in_scope(StreamRef stream, Array<int>& x) {
    const ScopedStream in(stream);
    co_await std::suspend_always{};
    fill(stream, x, 1);  // names its stream, so the coroutine's thread does not matter
}
}  // namespace

TEST_CASE("a coroutine that is suspended in a scope and goes on elsewhere enqueues on the stream "
          "that it names, and its scope ends where it was entered") {
    const Reports reports;
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    const StreamRef before = current_stream(test_device());
    const Coroutine one = suspended_in_scope(s, x);
    CHECK(current_stream(test_device()) == s);
    std::thread([&] { one.handle.resume(); }).join();
    CHECK(current_stream(test_device()) == before);
    one.handle.destroy();
    CHECK(to_host(s, x) == Ints(10, 1));
    CHECK(reports.count() == 1);
}
#endif

TEST_CASE("a scope that a coroutine leaves on another thread ends where it was entered, at that "
          "thread's next question, scope or set_stream") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    const StreamRef mine = current_stream(test_device());
    const Device device = current_device();
    Worker owner;
    StreamRef before = mine;
    Frame task;
    owner([&] {
        before = current_stream(test_device());
        task = hold_scope(a);
        CHECK(current_stream(test_device()) == a);
    });
    finish(task);
    CHECK(current_stream(test_device()) == mine);
    CHECK(current_device() == device);
    owner([&] {
        SECTION("current_stream") { CHECK(current_stream(test_device()) == before); }
        SECTION("current_device") { CHECK(current_device() == device); }
        SECTION("ScopedStream") {
            {
                const ScopedStream in(b);  // nested in the scope of `before`, not of `a`
            }
            CHECK(current_stream(test_device()) == before);
        }
        SECTION("set_stream") {  // persists, because no scope is open
            set_stream(b, {.wait = false});
            CHECK(current_stream(test_device()) == b);
            set_stream(before, {.wait = false});
        }
        SECTION("set_device") {
            set_device(cpu_device());
            CHECK(current_stream(test_device()) == before);
            set_device(device);
        }
    });
    REQUIRE(reports.count() == 1);
    CHECK(reports.all()[0].code() == ErrorCode::usage);
}

TEST_CASE("the report of a scope that was left elsewhere names both threads and where the scope "
          "was made") {
    const Reports reports;
    const Stream a(test_device());
    Frame task;
    Worker owner;
    owner([&] { task = hold_scope(a); });
    finish(task);
    REQUIRE(reports.count() == 1);
    const std::string text = reports.all()[0].what();
    CHECK(text.find("was left on thread") != std::string::npos);
    CHECK(text.find("left_scope_test.cpp") != std::string::npos);
    owner([] { (void)current_device(); });
}

TEST_CASE("a scope left elsewhere ends before the one around it, which nobody calls out of order") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    Worker owner;
    Frame inner;
    std::optional<ScopedStream> outer;
    owner([&] {
        const StreamRef before = current_stream(test_device());
        outer.emplace(a, ScopeOptions{.wait_on_enter = false});
        inner = hold_scope(b);
        std::thread([&] { finish(inner); }).join();
        outer.reset();
        CHECK(current_stream(test_device()) == before);
    });
    CHECK(reports.count() == 1);
}

TEST_CASE("a scope left elsewhere leaves the scopes inside it open") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    Worker owner;
    owner([&] {
        const StreamRef before = current_stream(test_device());
        Frame outer = hold_scope(a);
        {
            const ScopedStream in(b, {.wait_on_enter = false});
            std::thread([&] { finish(outer); }).join();
            CHECK(current_stream(test_device()) == b);
        }
        CHECK(current_stream(test_device()) == before);
    });
    CHECK(reports.count() == 1);
}

TEST_CASE("the stream before waits on exit for the stream of a scope that was left elsewhere, also "
          "if that has been closed") {
    const Reports reports;
    const OrderLog seen;
    const Drained drained;
    const Stream base(test_device());
    auto side = std::make_unique<Stream>(test_device());
    Gate gate;
    Worker owner;
    Frame task;
    std::optional<ScopedStream> around;
    owner([&] {
        around.emplace(base, ScopeOptions{.wait_on_enter = false});
        task = hold_scope(*side, {.wait_on_enter = false, .wait_on_exit = true});
    });
    gate.hold(*side);
    seen.note(*side, "side");
    finish(task);
    SECTION("open") {}
    SECTION("closed") { side.reset(); }
    owner([&] {
        seen.note(current_stream(test_device()), "base");
        CHECK(current_stream(test_device()) == base);
    });
    check_held(seen, gate, base, {"side", "base"});
    owner([&] { around.reset(); });
    CHECK(reports.count() == 1);
}

TEST_CASE("a scope that is left after its thread has ended is reported, and no later thread has "
          "it") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    std::vector<Frame> tasks;
    constexpr int threads = 20;
    for (int i = 0; i < threads; ++i) {
        std::thread([&] { tasks.push_back(hold_scope(a)); }).join();
        // The state of the scope `in` may reuse the memory of the first scope's state.
        std::thread([&] {
            const ScopedStream in(b, {.wait_on_enter = false});
            finish(tasks.back());
            CHECK(current_stream(test_device()) == b);
            { const ScopedStream again(a, {.wait_on_enter = false}); }
            CHECK(current_stream(test_device()) == b);
        }).join();
    }
    REQUIRE(reports.count() == threads);
    for (const Error& report : reports.all()) CHECK_THAT(report.what(), contains("has ended"));
}

TEST_CASE("scopes that are left elsewhere use up none of the 128 that a thread may have open") {
    const Reports reports;
    const Stream a(test_device());
    Worker owner, other;
    for (int i = 0; i < 300; ++i) {
        Frame task;
        owner([&] { task = hold_scope(a); });
        other([&] { finish(task); });
    }
    owner([&] { CHECK_FALSE(current_stream(test_device()) == a); });
    CHECK(reports.count() == 300);
}

TEST_CASE("a scope of a thread that is left in a host function ends when the thread asks next") {
    const Reports reports;
    const Stream a(test_device()), worker(cpu_device());
    Worker owner;
    owner([&] {
        const StreamRef before = current_stream(test_device());
        Frame task = hold_scope(a);
        launch_host(worker, [&task] { finish(task); });
        worker.synchronize();
        CHECK(current_stream(test_device()) == before);
    });
    CHECK(reports.count() == 1);
}

TEST_CASE("many scopes are left elsewhere while their thread enters and leaves others") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    const std::size_t rounds = repetitions(2000, 200);
    std::mutex mutex;
    std::deque<Frame> left;
    std::atomic<bool> is_over{false};
    std::atomic<std::size_t> finished{0};
    Threads others(2, [&] {
        for (;;) {
            Frame task;
            const bool ends = is_over;
            {
                const std::lock_guard lock(mutex);
                if (!left.empty()) {
                    task = std::move(left.front());
                    left.pop_front();
                }
            }
            if (task != nullptr) {
                finish(task);
                ++finished;
            } else if (ends) return;
            else std::this_thread::yield();
        }
    });
    std::thread owner([&] {
        const StreamRef before = current_stream(test_device());
        std::size_t enqueued = 0;
        for (std::size_t i = 0; i < rounds; ++i) {
            // An older, closed scope counts towards the limit of 128 while a newer one is open.
            if (enqueued % 60 != 0 || enqueued == finished) {
                Frame task = hold_scope(a);
                const std::lock_guard lock(mutex);
                left.push_back(std::move(task));
                ++enqueued;
            }
            {
                const ScopedStream in(b, {.wait_on_enter = false});
                CHECK(current_stream(test_device()) == b);
            }
        }
        is_over = true;
        (void)eventually([&] { return finished == enqueued; });
        CHECK(current_stream(test_device()) == before);
    });
    owner.join();
    others.join();
    CHECK(reports.count() == finished);
}
