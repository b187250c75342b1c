#include "watch.hpp"

#include "core/stream/registry.hpp"
#include "support.hpp"
#include "watchdog.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <execinfo.h>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace heddle_test::programs {

namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds limit{60};

char title_begun_last[256] = "";

extern "C" void say_and_crash(int signal) {
    std::signal(signal, SIG_DFL);
    for (const char* text :
         {"\nthe last random program: ", static_cast<const char*>(title_begun_last), "\n"})
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
    void* frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
    std::raise(signal);
}

/// Prints the streams with pending work. If a driver hangs, querying it would hang, too.
void print_streams() {
    alarm(10);  // ends the process if this hangs
    heddle::detail::for_each_stream([](heddle::detail::StreamRecord& stream) {
        if (stream.has(heddle::detail::stream_flag::dead)) return;
        std::cerr << stream.display_name() << " of " << stream.device.name() << ": ";
        try {
            std::cerr << (stream.backend->is_complete(stream, {}) ? "complete" : "pending");
        } catch (const Error& error) {
            std::cerr << error.what();
        }
        std::cerr << std::endl;
    });
}

/// Watches all running programs. Never destroyed.
class Watchdog {
public:
    static Watchdog& instance() {
        static Watchdog& watchdog = *new Watchdog;
        return watchdog;
    }

    std::size_t begin(const std::string& title, std::function<std::string()> text) {
        alarm(0);  // turns off the suite's watchdog, which limits whole tests
        const std::lock_guard lock(mutex_);
        std::snprintf(title_begun_last, sizeof title_begun_last, "%s", title.c_str());
        for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) std::signal(signal, say_and_crash);
        running_.emplace(++last_, Entry{std::chrono::steady_clock::now() + patience(limit), title,
                                        std::move(text)});
        return last_;
    }
    void end(std::size_t id) {
        const std::lock_guard lock(mutex_);
        running_.erase(id);
    }

private:
    struct Entry {
        Time limit;
        std::string title;
        std::function<std::string()> text;
    };

    Watchdog() {
        void* one[1];
        // The first backtrace() loads a library, which a signal handler must not do. So it is
        // called here.
        (void)backtrace(one, 1);
        std::thread([this] { look(); }).detach();
    }

    void look() {
        while (true) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            const std::lock_guard lock(mutex_);
            bool late = false;
            for (const auto& [id, entry] : running_) {
                if (entry.limit > std::chrono::steady_clock::now()) continue;
                std::cerr << "\nthis program hangs: " << entry.title << "\n"
                          << entry.text() << std::endl;
                late = true;
            }
            if (!late) continue;
            print_all_stacks();
            print_streams();
            std::signal(SIGABRT, SIG_DFL);
            std::abort();
        }
    }

    std::mutex mutex_;
    std::size_t last_ = 0;
    std::map<std::size_t, Entry> running_;
};

}  // namespace

Watch::Watch(const std::string& title, const std::function<std::string()>& text)
    : id_(Watchdog::instance().begin(title, text)) {}
Watch::~Watch() { Watchdog::instance().end(id_); }

}  // namespace heddle_test::programs
