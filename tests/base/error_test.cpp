// Errors: their data, their classes, and the report hook.
#include "support.hpp"

#include <atomic>
#include <set>
#include <string>

using namespace heddle_test;

namespace {

ErrorInfo example(ErrorCode code) {
    ErrorInfo info;
    info.code = code;
    info.message = "the message";
    info.call = "someNativeCall";
    info.native_code = 17;
    info.native_name = "nativeErrorName";
    info.device = Device("cpu:0");
    info.stream_id = 42;
    info.stream = "the stream";
    info.where = {"the_file.cpp", 1234};
    return info;
}

}  // namespace

TEST_CASE("each error code is thrown as its own class") {
    CHECK_THROWS_AS(throw_error(example(ErrorCode::usage)), UsageError);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::no_device)), NoDevice);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::out_of_memory)), OutOfMemory);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::unsupported)), Unsupported);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::work_failed)), WorkFailed);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::device_lost)), DeviceLost);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::native)), NativeError);
    CHECK_THROWS_AS(throw_error(example(ErrorCode::forked)), ForkedError);
}

TEST_CASE("an error carries everything it was made of") {
    const Error error{example(ErrorCode::native)};
    CHECK(error.code() == ErrorCode::native);
    CHECK(error.native_code() == 17);
    CHECK(error.native_name() == "nativeErrorName");
    CHECK(error.call() == "someNativeCall");
    CHECK(error.device() == Device("cpu:0"));
    CHECK(error.stream_id() == 42);
    CHECK(error.stream() == "the stream");
    CHECK(error.where().line == 1234);
    CHECK(std::string(error.where().file) == "the_file.cpp");
    CHECK(error.info().message == "the message");
    CHECK(error.cause() == nullptr);
}

TEST_CASE("an error's text says what, in which call, on which stream of which device, and where") {
    const std::string text = Error{example(ErrorCode::native)}.what();
    CHECK_THAT(text, contains("the message"));
    CHECK_THAT(text, contains("someNativeCall"));
    CHECK_THAT(text, contains("nativeErrorName"));
    CHECK_THAT(text, contains("the stream"));
    CHECK_THAT(text, contains("cpu:0"));
    CHECK_THAT(text, contains("the_file.cpp"));
    CHECK_THAT(text, contains("1234"));
}

TEST_CASE("an error that concerns no device, stream or native call does not speak of them") {
    ErrorInfo info;
    info.message = "only a message";
    const Error error{info};
    CHECK_THAT(error.what(), contains("only a message"));
    CHECK_FALSE(error.device().has_value());
    CHECK(std::string(error.what()).find("stream") == std::string::npos);
}

TEST_CASE("copies of an error share its data") {
    const Error error{example(ErrorCode::usage)};
    const Error copy = error;
    CHECK(&copy.info() == &error.info());
}

TEST_CASE("every error code has its own text") {
    std::set<std::string> texts;
    for (ErrorCode code :
         {ErrorCode::usage, ErrorCode::no_device, ErrorCode::out_of_memory, ErrorCode::unsupported,
          ErrorCode::work_failed, ErrorCode::device_lost, ErrorCode::native, ErrorCode::forked,
          ErrorCode::compile, ErrorCode::rank_lost})
        texts.insert(to_string(code));
    CHECK(texts.size() == 10);
    CHECK(texts.count("") == 0);
}

TEST_CASE("setting a report hook returns the one before") {
    int first = 0, second = 0;
    const ReportHook original = set_report_hook([&](const Error&) { ++first; });
    const ReportHook before = set_report_hook([&](const Error&) { ++second; });
    REQUIRE(before);
    before(Error{example(ErrorCode::usage)});
    CHECK(first == 1);
    CHECK(second == 0);
    set_report_hook(original);
}

TEST_CASE("what a destructor cannot throw goes to the report hook") {
    const Reports reports;
    Stream outer(test_device()), inner(test_device());
    {
        const ScopedStream in{outer};
        auto broken = std::make_unique<ScopedStream>(inner);
        const ScopedStream later{outer};
        broken.reset();  // a later scope is still open
    }
    REQUIRE(reports.count() >= 1);
    CHECK(reports.all().front().code() == ErrorCode::usage);
}

TEST_CASE("a report hook gets an object of the class that belongs to the code, with its cause") {
    std::atomic<bool> is_reported{false}, is_work_failed{false};
    std::string cause;
    const ReportHook before = set_report_hook([&](const Error& error) {
        is_work_failed = dynamic_cast<const WorkFailed*>(&error) != nullptr;
        cause = cause_of(error);
        is_reported = true;
    });
    {
        Stream stream(test_device());
        poison(stream, "what nobody asked for");
    }
    // A worker reports the failure after it has released the stream. Other work may run before the
    // report.
    CHECK(eventually([&] {
        finish_work(test_device());
        return is_reported.load();
    }));
    set_report_hook(before);
    CHECK(is_work_failed);
    CHECK(cause == "what nobody asked for");
}

TEST_CASE("a report hook that throws does no harm") {
    int called = 0;
    const ReportHook before = set_report_hook([&](const Error&) {
        ++called;
        throw Boom("hook");
    });
    {
        Stream a(test_device()), b(test_device());
        auto broken = std::make_unique<ScopedStream>(a);
        const ScopedStream later{b};
        broken.reset();
    }
    set_report_hook(before);
    CHECK(called >= 1);
}

TEST_CASE("a failed host function's error names its stream, its device and what was thrown") {
    const Stream stream(test_device(), {.priority = 0, .name = "the failing one"});
    const unsigned line = __LINE__ + 1;
    launch_host(stream, [] { throw Boom("what was thrown"); });
    const Error error = thrown_by([&] { stream.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(error.device() == test_device());
    CHECK(error.stream() == "the failing one");
    CHECK(error.stream_id() == stream.id());
    CHECK(cause_of(error) == "what was thrown");
    CHECK_THAT(error.what(), contains("what was thrown"));
    CHECK(error.where().line == line);
    CHECK_THAT(error.where().file, contains("error_test.cpp"));
}
