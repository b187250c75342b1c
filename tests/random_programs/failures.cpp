// The expected result of programs whose work fails: as on one stream after the other, where each
// stream is poisoned or not. It is that of eager code on CPU devices, and batches do the same.
#include "reference.hpp"

namespace heddle_test::programs {

namespace {

class FailingInterpreter {
    template <class V> static decltype(auto) at(V& v, int i) {
        return v[static_cast<std::size_t>(i)];
    }

public:
    FailingInterpreter(const Program& p, Mode mode)
        : program_(p), mode_(mode), failed_(p.streams.size()), events_(p.events.size()),
          recorded_(p.events.size()), current_(p.current) {
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            out_.buffers.push_back(first_values(p, static_cast<int>(i)));
    }

    Outcome run() {
        for (const Segment& segment : program_.segments) {
            recorded_.assign(recorded_.size(), false);
            for (int round = 0; round < segment.rounds; ++round) {
                if (round > 0) barrier(segment.root);
                int& now = at(current_, device_of(segment.root));
                if (segment.wait_on_enter) wait(segment.root, now);
                within(segment.root, [&] { block(segment.body, round); });
            }
        }
        for (std::size_t i = 0; i < failed_.size(); ++i)
            if (program_.streams[i].role == StreamRole::base) out_.failed.push_back(failed_[i]);
        return std::move(out_);
    }

private:
    int device_of(int stream) const { return at(program_.streams, stream).device; }
    void wait(int stream, int other) {
        if (at(failed_, other)) at(failed_, stream) = true;
    }

    void barrier(int root) {
        const auto for_each = [&](auto&& function) {
            for (std::size_t i = 0; i < program_.streams.size(); ++i)
                if (program_.streams[i].role == StreamRole::base) function(static_cast<int>(i));
        };
        for_each([&](int one) { wait(root, one); });
        for_each([&](int one) { wait(one, root); });
    }

    template <class F> void within(int stream, F&& body) {
        const int device = device_of(stream), before = at(current_, device);
        at(current_, device) = stream;
        body();
        at(current_, device) = before;
    }

    void block(const Block& block, int round) {
        for (const Statement& s : block)
            if (!is_left_out(s, mode_, round)) statement(s, round);
    }

    void statement(const Statement& s, int round) {
        switch (s.what) {
        case What::fail: at(failed_, s.stream) = true; break;
        case What::wait_stream:
        case What::mark: wait(s.stream, s.other); break;
        case What::record:
            at(events_, s.event) = at(failed_, s.stream);
            at(recorded_, s.event) = true;
            break;
        case What::wait_event:
            if (at(recorded_, s.event) && at(events_, s.event)) at(failed_, s.stream) = true;
            break;
        case What::set_current:
            wait(s.stream, at(current_, device_of(s.stream)));
            at(current_, device_of(s.stream)) = s.stream;
            break;
        case What::copy_across:
            wait(s.stream, s.other);
            work(s, round);
            wait(s.other, s.stream);
            break;
        case What::scope: {
            const int before = at(current_, device_of(s.stream));
            if (s.wait_on_enter) wait(s.stream, before);
            within(s.stream, [&] { block(s.bodies[0], round); });
            if (s.wait_on_exit) wait(before, s.stream);
            break;
        }
        case What::fork:
            for (const int branch : s.streams) at(failed_, branch) = at(failed_, s.stream);
            for (std::size_t i = 0; i < s.bodies.size(); ++i)
                within(s.streams[i], [&] { block(s.bodies[i], round); });
            for (const int branch : s.streams) wait(s.stream, branch);
            break;
        case What::temporary:
            at(failed_, s.stream) = false;
            block(s.bodies[0], round);
            break;
        case What::thread: {
            const std::vector<int> before = current_;
            block(s.bodies[0], round);
            current_ = before;
            break;
        }
        default: work(s, round);
        }
    }

    void work(const Statement& s, int round) {
        if (!at(failed_, s.stream)) do_work(program_, s, round, out_);
    }

    const Program& program_;
    Mode mode_;
    Outcome out_;
    std::vector<bool> failed_, events_, recorded_;
    std::vector<int> current_;
};

}  // namespace

Outcome expected_with_failures(const Program& p, Mode mode) {
    return FailingInterpreter(p, mode).run();
}

}  // namespace heddle_test::programs
