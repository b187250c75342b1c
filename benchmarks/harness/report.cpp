#include "report.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "json/json.hpp"

namespace bench {
namespace {

/// Returns the value with `digits` decimals. By default, returns four significant digits.
std::string text(double value, int digits = -1) {
    if (std::isnan(value)) return "-";
    if (digits < 0) digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
    return buffer;
}

std::string json_row(const Result& r) {
    namespace json = heddle::json;
    return json::object({
        {"name", json::string(r.name)},
        {"device", json::string(r.device)},
        {"heddle", json::number(r.heddle)},
        {"raw", json::number(r.raw)},
        {"unit", json::string(r.unit)},
        {"ratio", json::number(r.ratio)},
        {"ratio_p10", json::number(r.ratio_p10)},
        {"ratio_p90", json::number(r.ratio_p90)},
        {"peer", r.peer.empty() ? "null" : json::string(r.peer)},
    });
}

}  // namespace

Report::Report(const char* program, int argc, char** argv)
    : program_(program), options_(parse_options(program_, argc, argv)) {
    write_json();
    begin("start");
    watcher_ = std::thread([this] { watch(); });
}

Report::~Report() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    end_.notify_all();
    watcher_.join();
}

bool Report::wants(const std::string& name) {
    const bool wanted = name.find(only()) != std::string::npos;
    (wanted ? some_wanted_ : some_left_out_) = true;
    return wanted;
}

void Report::compare(const std::string& name, const std::string& device, const Side& heddle,
                     const Peer& peer, const Batches& batches, const Unit& unit) {
    if (!wants(name)) return;
    Batches scaled = batches;
    scaled.seconds *= options_.time;
    attempt(name, [&] { add(measure(name, device, heddle, peer, scaled, unit, quick())); });
}

void Report::add(Result result) {
    if (results_.empty())
        std::printf("| what | device | heddle | beside | unit | ratio | p10 to p90 | what stands "
                    "beside |\n"
                    "| --- | --- | ---: | ---: | --- | ---: | --- | --- |\n");
    const std::string spread = std::isnan(result.ratio_p10)
                                   ? "-"
                                   : text(result.ratio_p10, 3) + " to " + text(result.ratio_p90, 3);
    std::printf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", result.name.c_str(),
                result.device.c_str(), text(result.heddle).c_str(), text(result.raw).c_str(),
                result.unit.c_str(), text(result.ratio, 3).c_str(), spread.c_str(),
                result.peer.empty() ? "-" : result.peer.c_str());
    std::fflush(stdout);
    keep(std::move(result));
}

void Report::keep(Result result) {
    results_.push_back(std::move(result));
    write_json();
}

int Report::finish() const {
    const bool none = some_left_out_ && !some_wanted_;
    std::fflush(stdout);
    if (none)
        std::fprintf(stderr, "%s: --only \"%s\" leaves out every row\n", program_.c_str(),
                     only().c_str());
    return failed_ || none ? 1 : 0;
}

/// Sets the current row and its deadline.
void Report::begin(const std::string& name) {
    {
        const std::lock_guard lock(mutex_);
        doing_ = name;
    }
    deadline_ns_ = now_ns() + static_cast<std::int64_t>(options_.limit_s * 1e9);
}

void Report::failed(const std::string& name, const std::exception& error) {
    failed_ = true;
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s: %s\n", program_.c_str(), name.c_str(), error.what());
}

/// Ends the program if it hangs. The JSON file then has all rows that were measured before.
void Report::watch() {
    std::unique_lock lock(mutex_);
    while (!end_.wait_for(lock, std::chrono::milliseconds(500), [this] { return over_; })) {
        if (now_ns() < deadline_ns_) continue;
        std::fprintf(stderr, "%s: out of time in: %s\n", program_.c_str(), doing_.c_str());
        _exit(124);
    }
}

void Report::write_json() const {
    if (options_.json.empty()) return;
    std::FILE* file = std::fopen(options_.json.c_str(), "w");
    if (file == nullptr) {
        std::perror(options_.json.c_str());
        std::exit(1);
    }
    std::vector<std::string> rows;
    for (const Result& r : results_) rows.push_back(json_row(r));
    std::fprintf(file, "%s\n", heddle::json::array_of_lines(rows).c_str());
    std::fclose(file);
}

}  // namespace bench
