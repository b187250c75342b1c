#include "watch.hpp"

#include "support.hpp"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace heddle_test::programs {

namespace {

using Time = std::chrono::steady_clock::time_point;

std::chrono::seconds patience() {
    const char* text = std::getenv("HEDDLE_TEST_PATIENCE");
    return std::chrono::seconds(text != nullptr ? std::atoi(text) : HEDDLE_TEST_SANITIZED != 0 ? 200 : 60);
}

/// Looks at all programs that run; never ends.
class Watcher {
public:
    static Watcher& instance() {
        static Watcher& watcher = *new Watcher;
        return watcher;
    }

    std::size_t begin(std::function<std::string()> text) {
        alarm(0);  // the suite's watchdog knows only whole tests
        const std::lock_guard lock(mutex_);
        running_.emplace(++last_, Entry{std::chrono::steady_clock::now() + patience(), std::move(text)});
        return last_;
    }
    void end(std::size_t id) {
        const std::lock_guard lock(mutex_);
        running_.erase(id);
    }

private:
    struct Entry {
        Time limit;
        std::function<std::string()> text;
    };

    Watcher() { std::thread([this] { look(); }).detach(); }

    void look() {
        while (true) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            const std::lock_guard lock(mutex_);
            bool late = false;
            for (const auto& [id, entry] : running_) {
                if (entry.limit > std::chrono::steady_clock::now()) continue;
                std::cerr << "\nthis program hangs: " << entry.text() << std::endl;
                late = true;
            }
            if (!late) continue;
            std::signal(SIGABRT, SIG_DFL);
            std::abort();
        }
    }

    std::mutex mutex_;
    std::size_t last_ = 0;
    std::map<std::size_t, Entry> running_;
};

}  // namespace

Watch::Watch(const std::function<std::string()>& text) : id_(Watcher::instance().begin(text)) {}
Watch::~Watch() { Watcher::instance().end(id_); }

}  // namespace heddle_test::programs
