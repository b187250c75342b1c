#include "watch/stacks.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string_view>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/thread_sanitizer.hpp"

namespace heddle::detail {

namespace {

constexpr int most_frames = 48;
int stack_signal = 0;  ///< 0: none is free

/// What the asked thread answers. The number of the question tells an answer that comes too late.
struct Answer {
    std::atomic<std::uint32_t> asked{0}, answered{0};
    std::atomic<int> thread{0};
    void* frames[most_frames] = {};
    int count = 0;
};
constinit Answer answer;

extern "C" void heddle_answer_with_stack(int) {
    const int error = errno;
    const std::uint32_t question = answer.asked.load(std::memory_order_acquire);
    const bool is_asked = answer.thread.exchange(0) == static_cast<int>(syscall(SYS_gettid));
    if (is_asked) {
        answer.count = backtrace(answer.frames, most_frames);
        answer.answered.store(question, std::memory_order_release);
    }
    errno = error;
}

/// Waits until is_done() returns true, a quarter of a second at most.
template <class F> bool wait_a_little(F&& is_done) noexcept {
    constexpr std::int64_t patience = 250'000'000, pause = 1'000'000;
    const std::int64_t until = decision_ns() + patience;
    while (!is_done() && decision_ns() < until) decision_pause(pause);
    return is_done();
}

/// `back`: how far to look for the name before the address.
std::string frame_text(void* address, std::size_t back) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(at - back), &info) == 0 || info.dli_fname == nullptr)
        return formatted("{:#x}", at);
    std::string_view file = info.dli_fname;
    file.remove_prefix(file.find_last_of('/') + 1);
    if (info.dli_sname == nullptr)
        return formatted("{}+{:#x}", file, at - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
    return formatted("{}+{:#x} ({})",
                     std::string_view(status == 0 && name != nullptr ? name.get() : info.dli_sname),
                     at - reinterpret_cast<std::uintptr_t>(info.dli_saddr), file);
}

/// Names of frames, made on a thread of their own: looking for names takes the loader's lock, which
/// a thread may hold that is stuck in a library's initialisation.
struct Names {
    std::vector<void*> frames;
    std::vector<std::string> texts;
    std::atomic<bool> is_done{false};
};

/// Leaves out how a worker came to the program's code.
std::vector<std::string> without_own(std::vector<std::string> texts) {
    const auto first = std::ranges::find_if(texts, [](const std::string& one) {
        return one.starts_with("heddle::detail::cpu::Queue::") ||
               one.starts_with("heddle::detail::cpu::GraphRun::") ||
               one.starts_with("heddle::detail::cpu::Spread::");
    });
    if (first != texts.begin()) texts.erase(first, texts.end());
    return texts;
}

std::vector<std::string> texts_of(std::vector<void*> frames) {
    const auto names = std::make_shared<Names>();
    names->frames = frames;
    try {
        std::thread([names]() noexcept {
            try {
                // A frame's address is that of the next instruction, but for the innermost.
                for (std::size_t i = 0; i < names->frames.size(); ++i)
                    names->texts.push_back(frame_text(names->frames[i], i != 0 ? 1 : 0));
                names->is_done.store(true, std::memory_order_release);
            } catch (...) {
                // Without memory there are addresses.
            }
        }).detach();
        if (wait_a_little([&] { return names->is_done.load(std::memory_order_acquire); }))
            return without_own(names->texts);
    } catch (...) {
        // Without a thread likewise.
    }
    std::vector<std::string> addresses;
    for (void* one : frames)
        addresses.push_back(formatted("{:#x}", reinterpret_cast<std::uintptr_t>(one)));
    return addresses;
}

}  // namespace

void prepare_stacks() noexcept {
    // ThreadSanitizer hands signals to a thread when that calls something, and stacks of streams
    // are on other threads there.
    if (tsan::is_compiled_in || stack_signal != 0) return;
    void* one[1];
    (void)backtrace(one, 1);  // loads a library, which a signal handler must not do
    for (int signal = SIGRTMAX - 1; signal > SIGRTMIN + 2 && stack_signal == 0; --signal)
        if (take_unused_signal(signal, &heddle_answer_with_stack)) stack_signal = signal;
}

bool take_unused_signal(int signal, void (*handler)(int)) noexcept {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return false;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    (void)sigemptyset(&action.sa_mask);
    return sigaction(signal, &action, nullptr) == 0;
}

bool has_stacks() noexcept { return stack_signal != 0; }

std::vector<std::string> stack_of(int thread) {
    if (stack_signal == 0 || thread <= 0) return {};
    // A handler that the program has set since is not ours to call.
    struct sigaction now {};
    if (sigaction(stack_signal, nullptr, &now) != 0 || now.sa_handler != &heddle_answer_with_stack)
        return {};
    const std::uint32_t question = answer.asked.fetch_add(1) + 1;
    answer.thread.store(thread);
    if (syscall(SYS_tgkill, getpid(), thread, stack_signal) != 0) return {};
    const bool has_answered =
        wait_a_little([&] { return answer.answered.load(std::memory_order_acquire) == question; });
    // What answers later finds that it is not asked.
    if (!has_answered) {
        answer.thread.store(0);
        return {};
    }
    constexpr std::size_t own = 2;  // the handler, and what called it
    const std::span<void* const> frames(answer.frames, static_cast<std::size_t>(answer.count));
    const auto rest = frames.subspan(std::min<std::size_t>(own, frames.size()));
    return texts_of(std::vector<void*>(rest.begin(), rest.end()));
}

std::string name_of_thread(int thread) {
    const std::string file = formatted("/proc/self/task/{}/comm", thread);
    char name[32] = {};
    const int opened = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (opened >= 0) {
        const auto size = read(opened, name, sizeof name - 1);
        close(opened);
        if (size > 1) return std::string(name, static_cast<std::size_t>(size) - 1);
    }
    return formatted("thread {}", thread);
}

}  // namespace heddle::detail
