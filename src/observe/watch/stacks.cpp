#include "watch/stacks.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <span>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/format.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "watch/symbols.hpp"

namespace heddle::detail {

namespace {

constexpr int most_frames = 48;
int stack_signal = 0;  ///< the reserved signal; 0 if none was available

/// The stack of one thread, filled in by that thread. `asked` numbers the requests, so that a late
/// answer to an earlier request is recognised.
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

/// Waits until is_done() returns true, for at most 250 ms. Returns whether is_done() became true.
template <class F> bool wait_a_little(F&& is_done) noexcept {
    constexpr std::int64_t patience = 250'000'000, pause = 1'000'000;
    const std::int64_t until = decision_ns() + patience;
    while (!is_done() && decision_ns() < until) decision_pause(pause);
    return is_done();
}

/// A frame of a stack, with the loader's information about it.
struct Frame {
    std::uintptr_t at;
    std::string path = {};         ///< path of the program or library; empty if unknown
    std::string file = {};         ///< name of that file, without folders
    const void* loaded = nullptr;  ///< where the file is loaded
    std::uintptr_t moved = 0;      ///< the difference between addresses in memory and in the file
    LookedUp found = {};
};

/// Returns a frame. The function's name is looked up `back` bytes before the address.
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

/// Looks up functions that the loader does not know, in the symbol tables of their files.
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
        for (const std::size_t one : same) frames[one].path.clear();  // these frames are done
    }
}

std::string frame_text(const Frame& frame) {
    if (frame.file.empty()) return formatted("{:#x}", frame.at);
    const std::string& symbol = frame.found.function;
    if (symbol.empty())
        return formatted("{}+{:#x}", frame.file,
                         frame.at - reinterpret_cast<std::uintptr_t>(frame.loaded));
    return formatted("{}+{:#x} ({})", readable_function(demangled(symbol)),
                     frame.at - frame.moved - frame.found.begin, frame.file);
}

/// The names of frames, which a separate thread looks up, because the lookup acquires the loader's
/// lock, and a thread that is stuck in a library's initialisation may hold that lock. Names that
/// the loader knows are looked up first, because reading the files of large programs takes time.
struct Names {
    std::vector<void*> frames;
    std::vector<std::string> texts, full_texts;
    std::atomic<bool> is_done{false}, is_full{false};

    void make() {
        std::vector<Frame> all;
        // An outer frame has the address of the next instruction, so its name is looked up 1 byte
        // earlier.
        for (std::size_t i = 0; i < frames.size(); ++i)
            all.push_back(frame_at(frames[i], i != 0 ? 1 : 0));
        for (const Frame& one : all) texts.push_back(frame_text(one));
        is_done.store(true, std::memory_order_release);
        look_up_rest(all);
        for (const Frame& one : all) full_texts.push_back(frame_text(one));
        is_full.store(true, std::memory_order_release);
    }
};

/// Removes the outer frames that are not part of the program: on a worker, heddle's code and all
/// frames outside it.
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
                // Without memory for names, the stack shows addresses.
            }
        }).detach();
        if (wait_a_little([&] { return names->is_full.load(std::memory_order_acquire); }))
            return without_own(names->full_texts);
        if (names->is_done.load(std::memory_order_acquire)) return without_own(names->texts);
    } catch (...) {
        // Without a thread that looks up names, the stack shows addresses.
    }
    std::vector<std::string> addresses;
    for (void* one : frames)
        addresses.push_back(formatted("{:#x}", reinterpret_cast<std::uintptr_t>(one)));
    return addresses;
}

}  // namespace

void prepare_stacks() noexcept {
    // In a build with ThreadSanitizer, a thread receives a signal only when it makes a call, and
    // the work of streams runs on other stacks. So such builds reserve no signal.
    if (tsan::is_compiled_in || stack_signal != 0) return;
    void* one[1];
    (void)backtrace(one, 1);  // loads its library now, which a signal handler must not do
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
    // The program may have installed its own handler since prepare_stacks().
    struct sigaction now {};
    if (sigaction(stack_signal, nullptr, &now) != 0 || now.sa_handler != &heddle_answer_with_stack)
        return {};
    const std::uint32_t question = answer.asked.fetch_add(1) + 1;
    answer.thread.store(thread);
    if (syscall(SYS_tgkill, getpid(), thread, stack_signal) != 0) return {};
    const bool has_answered =
        wait_a_little([&] { return answer.answered.load(std::memory_order_acquire) == question; });
    // Withdraws the request, so that a late answer is ignored.
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
