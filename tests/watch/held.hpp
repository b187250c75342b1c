// Streams that host functions hold, for tests of the watch.
#pragma once

#include <heddle/observe/watch.hpp>

#include <future>
#include <string>
#include <utility>

#include "support.hpp"

namespace heddle_test {

/// A host function that returns after open() was called, at the latest by the destructor.
class Held {
public:
    explicit Held(StreamRef stream, Where where = {}) {
        launch_host(
            stream,
            [inside = inside_, opened = opened_] {
                inside.set();
                opened.wait();
            },
            where);
    }
    ~Held() { open(); }
    /// Blocks until a worker runs the function.
    void wait() const { CHECK(inside_.wait()); }
    void open() {
        if (!std::exchange(is_open_, true)) door_.set_value();
    }

private:
    Flag inside_;
    std::promise<void> door_;
    std::shared_future<void> opened_ = door_.get_future().share();
    bool is_open_ = false;
};

inline Stream named(const char* name, int priority = 0) {
    return Stream{cpu_device(), {.priority = priority, .name = name}};
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Watches the process while this object exists. Reports only on request.
struct Watched {
    Watched() { watch({.limit = std::chrono::milliseconds(0), .on_signal = false}); }
    ~Watched() { end_watch(); }
};

}  // namespace heddle_test
