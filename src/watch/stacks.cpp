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
#include <link.h>
#include <memory>
#include <span>
#include <string_view>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "watch/symbols.hpp"

namespace heddle::detail {

namespace {

constexpr int most_frames = 48;
int stack_signal = 0;  ///< 0 if none was available

/// The stack of the thread that was asked for it. `asked` numbers the requests, so that a late
/// answer to an earlier one is recognised.
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

/// Waits until is_done() returns true, for at most 250 ms. Returns whether it did.
template <class F> bool wait_a_little(F&& is_done) noexcept {
    constexpr std::int64_t patience = 250'000'000, pause = 1'000'000;
    const std::int64_t until = decision_ns() + patience;
    while (!is_done() && decision_ns() < until) decision_pause(pause);
    return is_done();
}

/// A frame of a stack, with the loader's information about it.
struct Frame {
    std::uintptr_t at;
    std::string path = {};         ///< of the program or library; empty if unknown
    std::string file = {};         ///< its name
    const void* loaded = nullptr;  ///< its address in memory
    std::uintptr_t moved = 0;      ///< its load offset
    LookedUp found = {};
};

/// Returns a frame. `back`: how far before the address the name is looked up.
Frame frame_at(void* address, std::size_t back) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    Frame made{at};
    Dl_info info;
    void* extra = nullptr;
    if (dladdr1(reinterpret_cast<void*>(at - back), &info, &extra, RTLD_DL_LINKMAP) == 0 ||
        info.dli_fname == nullptr || extra == nullptr)
        return made;
    const auto& map = *static_cast<const link_map*>(extra);
    made.path = map.l_name != nullptr && *map.l_name != 0 ? map.l_name : "/proc/self/exe";
    made.file = info.dli_fname;
    made.file.erase(0, made.file.find_last_of('/') + 1);
    made.loaded = info.dli_fbase;
    made.moved = map.l_addr;
    made.found.address = at - back - made.moved;
    if (info.dli_sname != nullptr)
        made.found = {made.found.address, info.dli_sname,
                      reinterpret_cast<std::uintptr_t>(info.dli_saddr) - made.moved};
    return made;
}

/// Looks up functions in the symbol tables of their files, if the loader does not know them.
void look_up_rest(std::vector<Frame>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (!frames[i].found.function.empty() || frames[i].path.empty()) continue;
        std::vector<std::size_t> same;
        std::vector<LookedUp> wanted;
        for (std::size_t k = i; k < frames.size(); ++k)
            if (frames[k].path == frames[i].path && frames[k].found.function.empty()) {
                same.push_back(k);
                wanted.push_back(frames[k].found);
            }
        look_up_in_file(frames[i].path.c_str(), frames[i].loaded, wanted);
        for (std::size_t k = 0; k < same.size(); ++k) frames[same[k]].found = wanted[k];
        for (const std::size_t one : same) frames[one].path.clear();  // done
    }
}

std::string frame_text(const Frame& frame) {
    if (frame.file.empty()) return formatted("{:#x}", frame.at);
    const std::string& symbol = frame.found.function;
    if (symbol.empty())
        return formatted("{}+{:#x}", frame.file,
                         frame.at - reinterpret_cast<std::uintptr_t>(frame.loaded));
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return formatted(
        "{}+{:#x} ({})",
        readable_function(status == 0 && name != nullptr ? std::string(name.get()) : symbol),
        frame.at - frame.moved - frame.found.begin, frame.file);
}

/// The names of frames, made on a thread of their own. The lookup acquires the loader's lock, which
/// may be held by a thread that is stuck in a library's initialisation. Names that the loader knows
/// are made first, because reading the files of large programs takes time.
struct Names {
    std::vector<void*> frames;
    std::vector<std::string> texts, full_texts;
    std::atomic<bool> is_done{false}, is_full{false};

    void make() {
        std::vector<Frame> all;
        // A frame's address is that of the next instruction, except in the innermost frame.
        for (std::size_t i = 0; i < frames.size(); ++i)
            all.push_back(frame_at(frames[i], i != 0 ? 1 : 0));
        for (const Frame& one : all) texts.push_back(frame_text(one));
        is_done.store(true, std::memory_order_release);
        look_up_rest(all);
        for (const Frame& one : all) full_texts.push_back(frame_text(one));
        is_full.store(true, std::memory_order_release);
    }
};

/// Removes the outer frames, beginning with heddle's own code on a worker.
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
                names->make();
            } catch (...) {
                // Out of memory: addresses replace the names.
            }
        }).detach();
        if (wait_a_little([&] { return names->is_full.load(std::memory_order_acquire); }))
            return without_own(names->full_texts);
        if (names->is_done.load(std::memory_order_acquire)) return without_own(names->texts);
    } catch (...) {
        // No thread could be started: addresses replace the names.
    }
    std::vector<std::string> addresses;
    for (void* one : frames)
        addresses.push_back(formatted("{:#x}", reinterpret_cast<std::uintptr_t>(one)));
    return addresses;
}

}  // namespace

void prepare_stacks() noexcept {
    // ThreadSanitizer delivers a signal only when the thread makes a call. Its builds also run the
    // stacks of streams on other threads.
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
    // The program may have installed its own handler since.
    struct sigaction now {};
    if (sigaction(stack_signal, nullptr, &now) != 0 || now.sa_handler != &heddle_answer_with_stack)
        return {};
    const std::uint32_t question = answer.asked.fetch_add(1) + 1;
    answer.thread.store(thread);
    if (syscall(SYS_tgkill, getpid(), thread, stack_signal) != 0) return {};
    const bool has_answered =
        wait_a_little([&] { return answer.answered.load(std::memory_order_acquire) == question; });
    // A thread that answers later finds that it is not asked.
    if (!has_answered) {
        answer.thread.store(0);
        return {};
    }
    constexpr std::size_t own = 2;  // the handler and its caller
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
