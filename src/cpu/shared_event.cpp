#include "cpu/shared_event.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/records.hpp"

namespace heddle::detail::cpu {

/// Records are numbered from 1. All of it is zero at first.
struct SharedEvent::Page {
    std::atomic<std::uint64_t> recorded;  ///< the newest
    std::atomic<std::uint64_t> reached;   ///< the newest that is reached
    std::atomic<std::uint64_t> first_failed,
        last_failed;                     ///< the newest ones behind work that failed; 0: none
    std::atomic<std::int32_t> recorder;  ///< the process that made the newest
    std::atomic<std::uint32_t> changes;  ///< of `reached`: what waiting threads sleep on

    /// Sleeps until something changes, or for a second.
    void sleep(std::uint32_t seen) noexcept {
        const timespec limit{1, 0};
        syscall(SYS_futex, &changes, FUTEX_WAIT, seen, &limit, nullptr, 0);
    }
    void wake() noexcept {
        changes.fetch_add(1);
        syscall(SYS_futex, &changes, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    }
    void reach(std::uint64_t number, bool has_failed) noexcept {
        if (has_failed) {
            if (last_failed.load() + 1 != number) first_failed.store(number);
            last_failed.store(number);
        }
        std::uint64_t before = reached.load();
        while (before < number && !reached.compare_exchange_weak(before, number)) {}
        wake();
    }
    /// Ended, also if its parent has not asked for its status yet.
    bool recorder_is_gone() const {
        std::ifstream stat("/proc/" + std::to_string(recorder.load()) + "/stat");
        std::string line;
        if (!std::getline(stat, line)) return kill(recorder.load(), 0) != 0 && errno == ESRCH;
        const std::size_t name_ends = line.rfind(')');  // then a blank and the state
        return name_ends + 2 < line.size() && (line[name_ends + 2] == 'Z' || line[name_ends + 2] == 'X');
    }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

namespace {

Failure failure_elsewhere(const char* message) {
    return make_failure(ErrorInfo{.code = ErrorCode::work_failed, .message = message, .call = "wait_event"});
}

}  // namespace

/// The page, and who waits in this process. A thread looks at the page while somebody does.
struct SharedEvent::Watch : std::enable_shared_from_this<Watch> {
    struct Waiting {
        std::uint64_t number;
        CompletionRef done;
    };
    SharedFile file;
    std::mutex mutex;
    std::vector<Waiting> waiting;
    bool is_watched = false;

    explicit Watch(SharedFile mapped) : file(std::move(mapped)) {}
    Page& page() const noexcept { return *static_cast<Page*>(file.data()); }

    CompletionRef wait_for(std::uint64_t number) {
        CompletionRef done = make_completion();
        const std::lock_guard lock(mutex);
        waiting.push_back({number, done});
        if (!is_watched) {
            std::thread([self = shared_from_this()] { self->look(); }).detach();
            is_watched = true;
        }
        return done;
    }

    void look() {
        for (;;) {
            const std::uint32_t seen = page().changes.load();
            const bool gone =
                page().recorder_is_gone();  // asked first: what it reached, it has written by now
            std::vector<Waiting> over;
            bool is_last = false;
            {
                const std::lock_guard lock(mutex);
                const std::uint64_t reached = page().reached.load();
                std::erase_if(waiting, [&](Waiting& one) {
                    if (one.number > reached && !gone) return false;
                    over.push_back(std::move(one));
                    return true;
                });
                is_last = waiting.empty();
                is_watched = !is_last;
            }
            for (const Waiting& one : over) one.done->complete(failure_of(one.number));
            if (is_last) return;
            page().sleep(seen);
        }
    }

    Failure failure_of(std::uint64_t number) const {
        if (page().reached.load() < number)
            return failure_elsewhere("the process that recorded this event has ended before it came to it");
        return number != 0 && page().first_failed.load() <= number && number <= page().last_failed.load()
                   ? failure_elsewhere("work before this event failed in the process that recorded it")
                   : nullptr;
    }
};

SharedEvent::SharedEvent(const SourceLocation& where)
    : watch_(std::make_shared<Watch>(SharedFile(sizeof(Page), "Event", where))) {}

SharedEvent::SharedEvent(const SharedFileName& name, const SourceLocation& where)
    : watch_(std::make_shared<Watch>(SharedFile(name, sizeof(Page), "the event", "import_event", where))) {}

SharedFileName SharedEvent::name(const SourceLocation& where) const {
    return watch_->file.name("export_event", where);
}

void SharedEvent::record(const CompletionRef& done) {
    struct Reached : Waiter {
        std::shared_ptr<Watch> watch;
        std::uint64_t number = 0;
    };
    auto reached = std::make_unique<Reached>();
    reached->watch = watch_;
    reached->wake = [](Waiter& self, const Completion& completion) noexcept {
        const std::unique_ptr<Reached> mine(static_cast<Reached*>(&self));
        mine->watch->page().reach(mine->number, completion.failure() != nullptr);
    };
    Page& page = watch_->page();
    page.recorder.store(static_cast<std::int32_t>(getpid()));
    reached->number = page.recorded.fetch_add(1) + 1;
    if (done->add(*reached)) (void)reached.release();
    else page.reach(reached->number, done->failure() != nullptr);
}

CompletionRef SharedEvent::newest() {
    const std::uint64_t number = watch_->page().recorded.load();
    if (watch_->page().reached.load() >= number && watch_->failure_of(number) == nullptr) return {};
    return watch_->wait_for(number);
}

bool SharedEvent::is_over() const {
    const Page& page = watch_->page();
    const std::uint64_t number = page.recorded.load();
    return page.reached.load() >= number || page.recorder_is_gone();
}

Failure SharedEvent::failure() const {
    return is_over() ? watch_->failure_of(watch_->page().recorded.load()) : nullptr;
}

}  // namespace heddle::detail::cpu
