// CUDA's error log in heddle's errors. All but the last tests need no GPU.
#include "cuda/device/driver_log.hpp"

#include "cuda/device/driver.hpp"
#include "cuda/device/errors.hpp"
#include "support.hpp"

#include <string>
#include <thread>

using namespace heddle_test;
using heddle::detail::cu::api;
using heddle::detail::cu::DriverLog;

namespace {

constexpr int invalid = 1, no_memory = 2;

/// Adds the messages of a call that failed, as the driver writes them.
void fails(DriverLog& log, const std::string& why, int code) {
    log.add("[22:21:32.099][25642][CUDA][E] " + why);
    log.add("[22:21:32.099][25642][CUDA][E] Returning " + std::to_string(code) + " (X) from cuX\n");
}

}  // namespace

TEST_CASE("CUDA's log explains the newest failure with a code", "[cuda]") {
    DriverLog log;
    CHECK(log.take(invalid).empty());
    fails(log, "buffer cannot be NULL", invalid);
    CHECK(log.take(invalid) == "buffer cannot be NULL");
    CHECK(log.take(invalid).empty());  // each message is taken once

    fails(log, "first", invalid);
    fails(log, "second", invalid);
    CHECK(log.take(invalid) == "second");
}

TEST_CASE("CUDA's log omits the messages of calls that failed with other codes", "[cuda]") {
    DriverLog log;
    fails(log, "too large", no_memory);
    CHECK(log.take(invalid).empty());
    fails(log, "not a stream", invalid);
    fails(log, "too large", no_memory);
    CHECK(log.take(invalid).empty());  // the failure was not the newest one
    fails(log, "too large", no_memory);
    fails(log, "not a stream", invalid);
    CHECK(log.take(invalid) == "not a stream");
}

TEST_CASE("CUDA's log joins the messages of one failure", "[cuda]") {
    DriverLog log;
    log.add("[CUDA][E] one");
    fails(log, "two", invalid);
    log.add("[CUDART][E] Returning 1 (cudaErrorInvalidValue) from cudaX");  // the caller of cuX
    CHECK(log.take(invalid) == "one; two");
    log.add("no line names the code");
    CHECK(log.take(invalid) == "no line names the code");
}

TEST_CASE("CUDA's log keeps the newest messages, and shortens long ones", "[cuda]") {
    DriverLog log;
    for (int i = 0; i < 20; ++i) log.add(std::to_string(i));
    CHECK(log.take(invalid) == "14; 15; 16; 17; 18; 19");
    log.add(std::string(1000, 'x'));
    CHECK(log.take(invalid) == std::string(DriverLog::most_characters, 'x'));
    log.add("");
    log.add("[only a prefix]");
    log.add("[not closed");
    CHECK(log.take(invalid) == "[not closed");
}

TEST_CASE("an error without messages of CUDA's log has the text of its code", "[cuda]") {
    CHECK(detail::cu::failure_text(cudaErrorInvalidValue) == "invalid argument");
}

CUDA_TEST_CASE("an error of a native call has the text of CUDA's log") {
    if (api.cuLogsRegisterCallback == nullptr) HEDDLE_SKIP("the driver has no log");
    // A driver function that heddle does not call. It logs that the buffer is null. Source: CUDA
    // programming guide, error log management.
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    REQUIRE(api.cudaGetDriverEntryPointByVersion("cuLogsDumpToMemory", &found, 12090,
                                                 cudaEnableDefault, &result) == cudaSuccess);
    REQUIRE(found != nullptr);
    using Dump = CUresult(CUDAAPI*)(unsigned*, char*, std::size_t*, unsigned);
    const auto dump = reinterpret_cast<Dump>(found);

    const auto fail = [&] { detail::cu::check(dump(nullptr, nullptr, nullptr, 0), "dump", 0, {}); };
    const Error error = thrown_by(fail);
    INFO(error.info().message);
    CHECK(error.info().message.find("dump failed: invalid argument (CUDA's log: ") == 0);
    CHECK(error.info().message.find("Returning") == std::string::npos);

    // Messages belong to the thread whose call failed.
    CHECK(dump(nullptr, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
    std::string of_other_thread;
    std::thread([&] { of_other_thread = detail::cu::failure_text(cudaErrorInvalidValue); }).join();
    CHECK(of_other_thread == "invalid argument");
    CHECK(detail::cu::failure_text(cudaErrorInvalidValue) != "invalid argument");
}
