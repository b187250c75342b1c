#include "watch/programs/programs.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace heddle_test {

void leave_limit_to_programs() { alarm(0); }

void print_line(std::string_view line) {
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(stdout);
}

void print_mark(std::string_view mark, std::string_view text) {
    print_line("mark " + std::string(mark) + "=" + std::string(text));
}

Where here(std::string_view mark, Where where) {
    const std::string_view path = where.file;
    print_mark(mark,
               std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(where.line));
    return where;
}

void never_return() {
    const Door never;
    for (;;) never.pass();
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
