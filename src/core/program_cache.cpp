#include "core/program_cache.hpp"

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/registry.hpp"

namespace heddle::detail {

namespace {

constexpr std::string_view magic = "heddle program 1\n";

void put(std::string& to, std::string_view text) {
    fmt::format_to(std::back_inserter(to), "{}:{}\n", text.size(), text);
}

/// Reads what put() wrote; false at the first thing that is none.
bool take(std::string_view& from, std::string& text) {
    std::size_t size = 0, i = 0;
    for (; i < from.size() && from[i] >= '0' && from[i] <= '9' && i < 12; ++i)
        size = size * 10 + static_cast<std::size_t>(from[i] - '0');
    if (i == 0 || i >= from.size() || from[i] != ':' || from.size() - i - 1 < size + 1) return false;
    text = from.substr(i + 1, size);
    if (from[i + 1 + size] != '\n') return false;
    from.remove_prefix(i + size + 2);
    return true;
}

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

void report_once(const std::string& directory, const std::string& what, int code) {
    static std::atomic<bool> reported{false};
    if (reported.exchange(true)) return;
    report(Error(
        {.code = ErrorCode::native,
         .message = fmt::format("compiled programs are not kept: {} in \"{}\" ({}). HEDDLE_CACHE_DIR names "
                                "another folder",
                                what, directory, std::generic_category().message(code)),
         .call = "compile",
         .native_code = code}));
}

bool write_all(int file, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t done = ::write(file, text.data(), text.size());
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(done));
    }
    return true;
}

}  // namespace

// Each lane takes every word, multiplied to 128 bits and folded, with constants of its own (odd, from the digits of pi).
std::array<std::uint64_t, 2> hash_text(std::string_view text) noexcept {
    std::uint64_t a = 0x243f6a8885a308d3u ^ text.size(), b = 0x13198a2e03707345u + text.size();
    const auto add = [&](std::uint64_t word) {
        a = mixed(a ^ word, 0xa4093822299f31d1u) + std::rotl(a, 23);
        b = mixed(b + word, 0x082efa98ec4e6c89u) ^ std::rotl(b, 41);
    };
    for (; text.size() >= 8; text.remove_prefix(8)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data(), 8);
        add(word);
    }
    std::uint64_t last = 0;
    std::memcpy(&last, text.data(), text.size());
    add(last);
    add(0x452821e638d01377u);
    add(a ^ std::rotl(b, 32));
    return {a, b};
}

std::string hex_of(const std::array<std::uint64_t, 2>& hash) {
    return fmt::format("{:016x}{:016x}", hash[0], hash[1]);
}

std::optional<std::string> cache_key(const std::string& source, const ProgramOptions& options,
                                     const std::string& compiler) {
    const std::optional<std::string> files = included_files(source, options);
    if (!files) return std::nullopt;
    std::string key;
    put(key, compiler);
    put(key, options.architecture);
    put(key, options.name);
    put(key, std::to_string(options.options.size()));
    for (const std::string& option : options.options) put(key, option);
    put(key, std::to_string(options.names.size()));
    for (const std::string& name : options.names) put(key, name);
    for (const auto& [name, text] : options.headers) put(key, name), put(key, text);
    put(key, *files);
    put(key, source);
    return key;
}

std::string cache_directory() {
    const auto folder = [](const char* variable, const char* below) -> std::string {
        const char* value = std::getenv(variable);
        return value != nullptr && *value != '\0' ? std::string(value) + below : std::string();
    };
    for (const auto& found : {folder("HEDDLE_CACHE_DIR", ""), folder("XDG_CACHE_HOME", "/heddle")})
        if (!found.empty()) return found;
    return folder("HOME", "/.cache/heddle");
}

std::string entry_path(const std::string& directory, const std::string& key) {
    return directory + "/" + hex_of(hash_text(key)) + ".program";
}

std::optional<Compiled> read_entry(const std::string& directory, const std::string& key) {
    std::ifstream file(entry_path(directory, key), std::ios::binary);
    if (!file) return std::nullopt;
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    std::string_view rest = all;
    if (!rest.starts_with(magic)) return std::nullopt;
    rest.remove_prefix(magic.size());
    std::string sum, found_key, count, name;
    if (!take(rest, sum) || sum != hex_of(hash_text(rest))) return std::nullopt;
    if (!take(rest, found_key) || found_key != key) return std::nullopt;
    Compiled compiled;
    compiled.succeeded = true;
    if (!take(rest, compiled.image) || !take(rest, compiled.log)) return std::nullopt;
    while (!rest.empty())
        if (!take(rest, name) || !take(rest, compiled.lowered_names[name])) return std::nullopt;
    return compiled;
}

void write_entry(const std::string& directory, const std::string& key, const Compiled& compiled) noexcept {
    try {
        std::error_code made;
        std::filesystem::create_directories(directory, made);
        if (made) return report_once(directory, "the folder cannot be made", made.value());
        std::string body;
        put(body, key);
        put(body, compiled.image);
        put(body, compiled.log);
        for (const auto& [name, lowered] : compiled.lowered_names) put(body, name), put(body, lowered);
        std::string head(magic);
        put(head, hex_of(hash_text(body)));

        // Under a name that nobody else writes, then renamed: an entry is there as a whole or not at all.
        const std::string path = entry_path(directory, key);
        std::string fresh = path + ".XXXXXX";
        const int file = ::mkstemp(fresh.data());
        if (file < 0) return report_once(directory, "no file can be made", errno);
        bool good = write_all(file, head) && write_all(file, body);
        int code = errno;
        if (::close(file) != 0 && good) good = false, code = errno;
        if (good && std::rename(fresh.c_str(), path.c_str()) != 0) good = false, code = errno;
        if (good) return;
        ::unlink(fresh.c_str());
        report_once(directory, "a file cannot be written", code);
    } catch (...) {
        report(std::current_exception());  // no memory: it is compiled again the next time
    }
}

}  // namespace heddle::detail
