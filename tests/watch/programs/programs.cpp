#include "watch/programs/programs.hpp"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <time.h>
#include <unistd.h>

namespace heddle_test {

void print_mark(std::string_view mark, std::string_view text) {
    std::printf("mark %.*s=%.*s\n", static_cast<int>(mark.size()), mark.data(),
                static_cast<int>(text.size()), text.data());
    std::fflush(stdout);
}

Where here(std::string_view mark, Where where) {
    const std::string_view path = where.file;
    print_mark(mark,
               std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line));
    return where;
}

void print_hangs() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::printf("hangs at %" PRId64 "\n",
                std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()});
    std::fflush(stdout);
}

void print_ended() {
    std::printf("did not hang\n");
    std::fflush(stdout);
    std::_Exit(3);
}

void never_return() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

void Sleep::operator()(std::size_t i, View<float> x) const {
    sleep_a_while();
    x[i] += 1;
}

EventHandle read_handle(int pipe_end) {
    std::array<std::byte, sizeof(EventHandle)> bytes{};
    if (read(pipe_end, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        std::abort();
    return std::bit_cast<EventHandle>(bytes);
}

}  // namespace heddle_test
