#include "pests.hpp"

#include "random.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <string_view>

namespace heddle_test::programs {

Pests::Pests(int count, const PestsView& view, std::uint64_t seed) {
    if (count > 0 && view.moves_scopes) {
        auto before = std::make_shared<ReportHook>();
        *before = set_report_hook([before](const Error& error) {
            const std::string_view text = error.what();
            if (text.find("was left on thread") != text.npos) return;
            if (*before) (*before)(error);
            else std::cerr << text << std::endl;
        });
        before_ = before;
    }
    for (int i = 0; i < count; ++i)
        threads_.emplace_back(
            [this, view, seed, i] { pester(view, seed * 31 + static_cast<std::uint64_t>(i)); });
}

Pests::~Pests() {
    stop_ = true;
    for (std::thread& t : threads_) t.join();
    delete moved_.load();
    if (before_ != nullptr) set_report_hook(*before_);
}

/// Leaves the scope that another thread has entered, if any. Enters a scope that another thread
/// will leave.
void Pests::move_scope(StreamRef stream, bool waits_on_exit) {
    delete moved_.exchange(nullptr);
    auto scope = std::make_unique<ScopedStream>(
        stream, ScopeOptions{.wait_on_enter = false, .wait_on_exit = waits_on_exit});
    delete moved_.exchange(scope.release());
}

void Pests::pester(const PestsView& view, std::uint64_t seed) {
    Random random(seed);
    std::vector<Stream> own;
    for (const StreamRef s : view.streams)
        if (own.empty() || own.back().device() != s.device()) own.emplace_back(s.device());
    Event event(own.front().device());
    const auto some = [&](const auto& all) -> const auto& { return all[random.below(all.size())]; };
    while (!stop_) {
        try {
            const StreamRef stream = some(view.streams);
            const StreamRef mine = some(own);
            switch (random.below(12)) {
            case 0:
            case 1: (void)stream.is_complete(); break;
            case 2: stream.synchronize(); break;
            // Each thread has its own event, because two threads must not record and query the same
            // event.
            case 3: (void)event.is_complete(); break;
            case 4: event.synchronize(); break;
            case 5:
                if (view.wait_on_streams) mine.wait_stream(stream);
                break;
            case 6: event = mine.record_event(); break;
            case 7: {
                const ScopedStream in(mine, {.wait_on_enter = false});
                (void)to_host(*some(view.constants));
                break;
            }
            case 8:
                if (view.whole_devices && random.below(4) == 0) synchronize_device(stream.device());
                break;
            case 9:
                if (view.enqueues) launch_host(stream, [] {});
                break;
            case 10:
                if (view.moves_scopes) move_scope(mine, random.below(2) == 0);
                break;
            default: std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
            }
        } catch (const Error&) {  // a captured stream cannot be queried
        }
    }
}

}  // namespace heddle_test::programs
