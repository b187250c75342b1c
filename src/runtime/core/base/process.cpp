#include "core/base/process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace heddle::detail {

namespace {

/// Returns the fields of /proc/.../stat after the name, which may contain anything. Returns an
/// empty list if the process or thread does not exist.
std::vector<std::string> stat_of(const std::string& folder) {
    std::ifstream file(folder + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_ends = text.rfind(')');
    if (name_ends == std::string::npos) return {};
    std::istringstream rest(text.substr(name_ends + 1));
    return {std::istream_iterator<std::string>(rest), {}};
}
constexpr std::size_t state_field = 0, began_field = 19;  // fields 3 and 22 of proc(5)

bool has_ended(const std::vector<std::string>& stat) {
    return stat[state_field] == "Z" || stat[state_field] == "X";
}

/// Returns whether any thread of the process still runs. Its first thread may have ended before the
/// others.
bool has_threads(const std::string& folder) {
    DIR* const tasks = opendir((folder + "/task").c_str());
    if (tasks == nullptr) return false;
    bool found = false;
    while (const dirent* entry = found ? nullptr : readdir(tasks)) {
        if (entry->d_name[0] == '.') continue;
        const std::vector<std::string> stat = stat_of(folder + "/task/" + entry->d_name);
        found = !stat.empty() && !has_ended(stat);
    }
    closedir(tasks);
    return found;
}

}  // namespace

Process process_of(std::int32_t id) {
    const std::vector<std::string> stat = stat_of("/proc/" + std::to_string(id));
    return {id,
            stat.size() > began_field ? std::strtoull(stat[began_field].c_str(), nullptr, 10) : 0};
}

Process this_process() { return process_of(static_cast<std::int32_t>(getpid())); }

bool is_gone(const Process& process) {
    const std::string folder = "/proc/" + std::to_string(process.id);
    const std::vector<std::string> stat = stat_of(folder);
    if (stat.size() <= began_field) return kill(process.id, 0) != 0 && errno == ESRCH;
    if (process.began != 0 &&
        std::strtoull(stat[began_field].c_str(), nullptr, 10) != process.began)
        return true;
    return has_ended(stat) && !has_threads(folder);
}

}  // namespace heddle::detail
