#include "child.hpp"

#include "support.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace heddle_test {

namespace {

ChildResult wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    ChildResult result;
    if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    return result;
}

/// Starts a test case. Its standard output and standard error are written to `output`.
pid_t start(const std::string& name, const std::vector<std::string>& environment, int output) {
    std::vector<std::string> variables = environment;
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string passed = *e;
        const bool replaced =
            std::any_of(environment.begin(), environment.end(), [&](const std::string& v) {
                return passed.compare(0, v.find('=') + 1, v, 0, v.find('=') + 1) == 0;
            });
        if (!replaced) variables.push_back(passed);
    }
    std::vector<char*> envp;
    for (std::string& v : variables) envp.push_back(v.data());
    envp.push_back(nullptr);
    std::string program = "/proc/self/exe", test = name;
    char* argv[] = {program.data(), test.data(), nullptr};

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    pid_t child = 0;
    const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv, envp.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("the child could not be started");
    return child;
}

}  // namespace

void end_if_it_hangs() {
    alarm(static_cast<unsigned>(patience(std::chrono::minutes(1)) / std::chrono::seconds(1)));
}

Child::Child(const std::string& name, const std::vector<std::string>& environment) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pipe_ = ends[0];
    id_ = start(name, environment, ends[1]);
    close(ends[1]);
}

Child::~Child() {
    close(pipe_);
    if (id_ == 0) return;
    kill(id_, SIGKILL);
    wait_for(id_);
}

bool Child::read(std::chrono::milliseconds patience) {
    pollfd more{pipe_, POLLIN, 0};
    if (poll(&more, 1, static_cast<int>(patience.count())) <= 0) return true;
    char buffer[4096];
    const ssize_t got = ::read(pipe_, buffer, sizeof buffer);
    if (got > 0) output_.append(buffer, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
}

ChildResult Child::wait() {
    while (read(std::chrono::minutes(1))) {}
    ChildResult result = wait_for(std::exchange(id_, 0));
    result.output = output_;
    return result;
}

ChildResult run_test_case(const std::string& name, const std::vector<std::string>& environment) {
    char path[] = "/tmp/heddle_child_XXXXXX";
    const int file = mkstemp(path);
    if (file < 0) throw std::runtime_error("no temporary file");
    ChildResult result = wait_for(start(name, environment, file));
    lseek(file, 0, SEEK_SET);
    char buffer[4096];
    for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;)
        result.output.append(buffer, static_cast<std::size_t>(got));
    close(file);
    unlink(path);
    return result;
}

void check_test_case(const std::string& name, const std::vector<std::string>& environment) {
    const ChildResult child = run_test_case(name, environment);
    INFO(name << "\n" << child.output);
    CHECK(child.status == 0);
}

std::string hex_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte b : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(b));
        text += digits;
    }
    return text;
}

void read_hex(const std::string& text, std::span<std::byte> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
}

ChildResult run_forked(const std::function<int()>& body) {
    if (HEDDLE_TEST_SANITIZED) throw std::logic_error("HEDDLE_SKIP_WITHOUT_FORK() is missing");
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) {
        end_if_it_hangs();
        int status = 99;
        try {
            status = body();
        } catch (const Error& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
            status = 98;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "in the child: %s\n", error.what());
        }
        _exit(status);
    }
    return wait_for(child);
}

void check_forked(const std::function<int()>& body, int line) {
    const ChildResult child = run_forked(body);
    INFO("in line " << line);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
}

bool main_thread_is_blocked() {
    const std::string self = std::to_string(getpid());
    std::ifstream file("/proc/" + self + "/task/" + self + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_ends = text.rfind(')');
    return name_ends != std::string::npos && text.compare(name_ends, 3, ") S") == 0;
}

}  // namespace heddle_test
