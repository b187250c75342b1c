// Starts a process for each number of worker threads, because heddle reads that number only once,
// at its start.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "measure.hpp"

namespace bench {

namespace detail {
/// The message that a child process sends to its parent.
struct Message {
    double heddle, raw, ratio, ratio_p10, ratio_p90;
    char peer[100];
    char error[200];  ///< if empty, the other members describe a row
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) < 4096,
              "a pipe takes it at once");

template <std::size_t size> inline void put(char (&to)[size], const std::string& text) {
    std::strncpy(to, text.c_str(), size - 1);
}

}  // namespace detail

/// Returns the row that `f` measures in a process with `threads` worker threads.
template <class F> Result in_process(int threads, F&& f) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("HEDDLE_CPU_THREADS", std::to_string(threads).c_str(), 1);
        detail::Message message{};
        try {
            const Result row = f();
            message = {row.heddle, row.raw, row.ratio, row.ratio_p10, row.ratio_p90, {}, {}};
            detail::put(message.peer, row.peer);
        } catch (const std::exception& error) {
            detail::put(message.error, error.what()[0] != '\0' ? error.what() : "failed");
        }
        _exit(write(ends[1], &message, sizeof message) == sizeof message ? 0 : 1);
    }
    close(ends[1]);
    detail::Message message{};
    const bool whole = read(ends[0], &message, sizeof message) == sizeof message;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!whole) throw std::runtime_error("the process ended before it had measured anything");
    if (message.error[0] != '\0') throw std::runtime_error(message.error);
    return {.heddle = message.heddle,
            .raw = message.raw,
            .ratio = message.ratio,
            .ratio_p10 = message.ratio_p10,
            .ratio_p90 = message.ratio_p90,
            .peer = message.peer};
}

}  // namespace bench
