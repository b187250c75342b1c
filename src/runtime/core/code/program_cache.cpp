#include "core/code/program_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL  // no library to link
#include <xxhash.h>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/format.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail {

namespace {

constexpr std::string_view magic = "heddle program 2\n";

void put(std::string& to, std::string_view text) {
    to += detail::formatted("{}:{}\n", text.size(), text);
}

/// Reads a text that put() wrote. Returns false if there is no text.
bool take(std::string_view& from, std::string& text) {
    std::size_t size = 0, i = 0;
    for (; i < from.size() && from[i] >= '0' && from[i] <= '9' && i < 12; ++i)
        size = size * 10 + static_cast<std::size_t>(from[i] - '0');
    if (i == 0 || i >= from.size() || from[i] != ':' || from.size() - i - 1 < size + 1)
        return false;
    text = from.substr(i + 1, size);
    if (from[i + 1 + size] != '\n') return false;
    from.remove_prefix(i + size + 2);
    return true;
}

void report_once(const std::string& directory, const std::string& what, int code) {
    static std::atomic<bool> reported{false};
    if (reported.exchange(true)) return;
    detail::report_error(ErrorCode::native, detail::ErrorSite("compile", {}).with_native(code),
                         "compiled programs are not cached in \"{}\": {} ({}). Set "
                         "HEDDLE_CACHE_DIR to another folder",
                         directory, what, std::generic_category().message(code));
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

/// Owns a file descriptor.
struct Descriptor {
    int value;
    explicit Descriptor(int descriptor) noexcept : value(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    ~Descriptor() {
        if (value >= 0) ::close(value);
    }
    explicit operator bool() const noexcept { return value >= 0; }
};

// The folder may contain files of any kind. With these flags, opening a file does not block on
// pipes and does not follow links.
constexpr int open_safely = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
constexpr off_t largest_entry = off_t{1} << 30;
/// Separates an entry's name from the unique part of a temporary file's name.
constexpr const char* temporary_mark = ".";
constexpr std::string_view suffix = ".program";
/// Seconds without change after which a temporary file counts as abandoned.
constexpr std::time_t left_over = 3600;

std::string entry_name(const std::string& key) {
    return hex_of(hash_text(key)) + std::string(suffix);
}

int open_folder(const std::string& directory) noexcept {
    return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/// Makes a folder that only this user can access. Missing parents get default permissions.
void make_folder(std::string directory) {
    while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
    std::error_code shows_later;
    std::filesystem::create_directories(std::filesystem::path(directory).parent_path(),
                                        shows_later);
    ::mkdir(directory.c_str(), 0700);
}

/// Returns whether only this user or root can have written the file. This must be checked because
/// cached code runs on the GPU, in this process.
bool is_trusted(const Descriptor& file) noexcept {
    struct stat is {};
    return fstat(file.value, &is) == 0 && (is.st_uid == geteuid() || is.st_uid == 0) &&
           (is.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool read_all(int file, std::size_t size, std::string& text) {
    text.resize(size);
    for (std::size_t done = 0; done < size;) {
        const ssize_t got = ::read(file, text.data() + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
    }
    return true;
}

/// Returns whether an entry of `size` bytes may be written. A write beyond RLIMIT_FSIZE would end
/// the process with SIGXFSZ.
bool may_write(std::size_t size, std::uint64_t limit) noexcept {
    struct rlimit most {};
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        size > most.rlim_cur)
        return false;
    return size <= limit && size <= static_cast<std::size_t>(largest_entry);
}

std::string unique_text() {
    static std::atomic<std::uint64_t> count{0};
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return detail::formatted("{:x}-{:x}-{:x}-{:x}", getpid(), now.tv_sec, now.tv_nsec,
                             count.fetch_add(1));
}

/// Removes temporary files of killed writers. Then removes the least recently used entries until
/// the remaining ones have at most `limit` bytes in total. Other processes may remove files at the
/// same time.
void tidy(int folder, const std::string& just_written, std::uint64_t limit) {
    struct Entry {
        std::string name;
        timespec used;
        std::uint64_t size;
    };
    std::vector<Entry> entries;
    std::uint64_t total = 0;
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> all(again >= 0 ? fdopendir(again) : nullptr,
                                                  closedir);
    if (all == nullptr) {
        if (again >= 0) ::close(again);
        return;
    }
    const std::time_t now = std::time(nullptr);
    while (const dirent* one = readdir(all.get())) {
        const std::string name = one->d_name;
        const std::size_t at = name.find(suffix);
        struct stat is {};
        if (at != 32 || name.find_first_not_of("0123456789abcdef") != at) continue;  // not an entry
        if (fstatat(folder, one->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(is.st_mode))
            continue;
        if (name.size() == at + suffix.size()) {
            total += static_cast<std::uint64_t>(is.st_size);
            if (name != just_written)
                entries.push_back({name, is.st_mtim, static_cast<std::uint64_t>(is.st_size)});
        } else if (is.st_mtim.tv_sec < now - left_over) {
            unlinkat(folder, one->d_name, 0);
        }
    }
    std::ranges::sort(entries, {},
                      [](const Entry& e) { return std::pair(e.used.tv_sec, e.used.tv_nsec); });
    for (const Entry& entry : entries) {
        if (total <= limit) return;
        // Another process may have removed the entry first.
        if (unlinkat(folder, entry.name.c_str(), 0) == 0 || errno == ENOENT) total -= entry.size;
    }
}

}  // namespace

std::array<std::uint64_t, 2> hash_text(std::string_view text) noexcept {
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    return {hash.high64, hash.low64};
}

std::string hex_of(const std::array<std::uint64_t, 2>& hash) {
    return detail::formatted("{:016x}{:016x}", hash[0], hash[1]);
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
    if (const char* const named = value_of(Variable::cache_dir)) return named;
    const auto folder = [](const char* variable, const char* below) -> std::string {
        const char* value = std::getenv(variable);
        return value != nullptr && *value != '\0' ? std::string(value) + below : std::string();
    };
    const std::string cache = folder("XDG_CACHE_HOME", "/heddle");
    return !cache.empty() ? cache : folder("HOME", "/.cache/heddle");
}

std::string entry_path(const std::string& directory, const std::string& key) {
    return directory + "/" + entry_name(key);
}

std::uint64_t cache_limit() {
    static constinit MadeOnce<EnvironmentNumber> mebibytes;
    const auto make = [] { return new EnvironmentNumber(Variable::cache_mib, 1, 1 << 20, 1024); };
    return static_cast<std::uint64_t>(mebibytes.get(make).get()) << 20;
}

std::optional<Compiled> read_entry(const std::string& directory, const std::string& key) {
    const Descriptor folder(open_folder(directory));
    if (!folder || !is_trusted(folder)) return std::nullopt;
    const Descriptor file(openat(folder.value, entry_name(key).c_str(), open_safely | O_RDONLY));
    struct stat is {};
    if (!file || fstat(file.value, &is) != 0 || !S_ISREG(is.st_mode) || !is_trusted(file))
        return std::nullopt;
    std::string all;
    if (is.st_size > largest_entry ||
        !read_all(file.value, static_cast<std::size_t>(is.st_size), all))
        return std::nullopt;
    std::string_view rest = all;
    if (!rest.starts_with(magic)) return std::nullopt;
    rest.remove_prefix(magic.size());
    std::string sum, found_key, name;
    if (!take(rest, sum) || sum != hex_of(hash_text(rest))) return std::nullopt;
    if (!take(rest, found_key) || found_key != key) return std::nullopt;
    Compiled compiled;
    compiled.succeeded = true;
    if (!take(rest, compiled.image) || !take(rest, compiled.log)) return std::nullopt;
    while (!rest.empty())
        if (!take(rest, name) || !take(rest, compiled.lowered_names[name])) return std::nullopt;
    // Marks the entry as used, for tidy(). If that is not permitted, the entry only looks older.
    futimens(file.value, nullptr);
    return compiled;
}

void write_entry(const std::string& directory, const std::string& key, const Compiled& compiled,
                 std::uint64_t limit) noexcept {
    try {
        make_folder(directory);
        const Descriptor folder(open_folder(directory));
        if (!folder) return report_once(directory, "the folder cannot be created", errno);
        if (!is_trusted(folder))
            return report_once(directory,
                               "the folder belongs to another user, or other users may write to it",
                               EPERM);
        std::string body;
        put(body, key);
        put(body, compiled.image);
        put(body, compiled.log);
        for (const auto& [name, lowered] : compiled.lowered_names)
            put(body, name), put(body, lowered);
        std::string head(magic);
        put(head, hex_of(hash_text(body)));
        if (!may_write(head.size() + body.size(), limit))
            return report_once(directory, "the compiled program is larger than the cache allows",
                               EFBIG);

        // Written under a unique name, then renamed: readers find a whole entry or none.
        const std::string name = entry_name(key), fresh = name + temporary_mark + unique_text();
        Descriptor file(
            openat(folder.value, fresh.c_str(), open_safely | O_WRONLY | O_CREAT | O_EXCL, 0600));
        if (!file) return report_once(directory, "a file cannot be created", errno);
        bool good = write_all(file.value, head) && write_all(file.value, body);
        int code = errno;
        if (::close(std::exchange(file.value, -1)) != 0 && good) good = false, code = errno;
        if (good && renameat(folder.value, fresh.c_str(), folder.value, name.c_str()) != 0)
            good = false, code = errno;
        if (good) return tidy(folder.value, name, limit);
        unlinkat(folder.value, fresh.c_str(), 0);
        report_once(directory, "a file cannot be written", code);
    } catch (...) {
        report(std::current_exception());  // out of memory: the next run compiles again
    }
}

}  // namespace heddle::detail
