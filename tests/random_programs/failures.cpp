// Computes the expected results of programs whose work fails, statement after statement. Each
// stream may have a failure, and each array may have failures of its users. Eager code on CPU
// devices and batches behave in this way. On CUDA devices, work after a failed host function may
// run, and all connected streams fail if a host function fails in a batch (guide, chapter 11). So
// if work was dropped, the arrays that it should have written may have a failure or any value.
#include "asking.hpp"
#include "reference.hpp"

namespace heddle_test::programs {

namespace {

/// A failure: the number of the run of the statement that failed. 0 for no failure.
using Failed = int;

/// The CPU in a program for GPUs. It is not one of the program's devices.
constexpr int no_device = -1;

/// A stream that has used an array. After the stream has ended, `left` is the failure that the
/// stream left in the array.
struct User {
    int stream = -1;  ///< -1 if it has ended
    int device = 0;
    bool writes = false;
    /// Whether the stream may or may not count as a user, like the root of a batch or the base of a
    /// branch.
    bool may_be_none = false;
    Failed left = 0;
    /// Whether the stream may be reused, and then fail, because it was a branch or a lease.
    bool is_kept = false;
    /// Whether the stream has one of several failures: of an awaited batch, or of several users of
    /// an array. Eager streams that wait for each other have the first failure.
    bool is_mixed = false;
};

class FailingInterpreter {
    template <class V> static decltype(auto) at(V& v, int i) {
        return v[static_cast<std::size_t>(i)];
    }

public:
    FailingInterpreter(const Program& p, Mode mode)
        : program_(p), mode_(mode), is_cuda_(p.devices[0].is_cuda()), failed_(p.streams.size()),
          events_(p.events.size()), recorded_(p.events.size()), users_(p.buffers.size()),
          current_(p.current), bases_(p.streams.size(), -1), is_kept_(p.streams.size()),
          is_mixed_(p.streams.size()), is_mixed_event_(p.events.size()) {
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            out_.buffers.push_back(first_values(p, static_cast<int>(i)));
        out_.unknown.resize(p.buffers.size());
        for (std::size_t i = 0; i < p.buffers.size(); ++i)
            if (p.buffers[i].space == Space::device)
                use(static_cast<int>(i), at(current_, p.buffers[i].device), true);
    }

    Outcome run() {
        for (const Segment& segment : program_.segments) {
            recorded_.assign(recorded_.size(), false);
            root_ = segment.root;
            for (int round = 0; round < segment.rounds; ++round) {
                if (round > 0) barrier(segment.root);
                int& now = at(current_, device_of(segment.root));
                if (segment.wait_on_enter) wait(segment.root, now);
                within(segment.root, [&] { block(segment.body, round); });
            }
            block(segment.after, 0);
        }
        for (std::size_t i = 0; i < failed_.size(); ++i)
            if (program_.streams[i].role == StreamRole::base && !is_cuda_)
                out_.failed.push_back(failed_[i] != 0);
        if (is_cuda_) out_.unknown.assign(out_.unknown.size(), true);
        return std::move(out_);
    }

private:
    int device_of(int stream) const { return at(program_.streams, stream).device; }
    void fail(int stream, Failed failure) {
        if (failure == 0 || at(failed_, stream) != 0) return;
        at(failed_, stream) = failure;
        if (at(is_kept_, stream)) kept_failed_ = failure;
    }
    void begin(int stream, bool is_kept) {
        at(failed_, stream) = 0;
        at(is_kept_, stream) = is_kept;
        at(is_mixed_, stream) = false;
    }
    void take_over(int stream, Failed failure, bool is_mixed) {
        if (failure == 0) return;
        const Failed own = at(failed_, stream);
        if (own == 0 ? is_mixed : mode_ == Mode::batch && (is_mixed || own != failure))
            at(is_mixed_, stream) = true;
        fail(stream, failure);
    }
    void wait(int stream, int other) {
        take_over(stream, at(failed_, other), at(is_mixed_, other));
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

    void block(const Statements& block, int round) {
        for (const Statement& s : block)
            if (!is_left_out(s, mode_, round)) statement(s, round);
    }

    void statement(const Statement& s, int round) {
        switch (s.what) {
        case What::fail: fail(s.stream, ++failures_); break;
        case What::wait_stream:
        case What::mark: wait(s.stream, s.other); break;
        case What::record:
            at(events_, s.event) = at(failed_, s.stream);
            at(is_mixed_event_, s.event) = at(is_mixed_, s.stream);
            at(recorded_, s.event) = true;
            break;
        case What::wait_event:
            if (at(recorded_, s.event))
                take_over(s.stream, at(events_, s.event), at(is_mixed_event_, s.event));
            break;
        case What::set_current:
            wait(s.stream, at(current_, device_of(s.stream)));
            at(current_, device_of(s.stream)) = s.stream;
            break;
        case What::copy_across:
            wait(s.stream, s.other);
            work(s, s.stream, round);
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
            for (const int branch : s.streams) {
                begin(branch, true);
                wait(branch, s.stream);
                at(bases_, branch) = s.stream;
            }
            for (std::size_t i = 0; i < s.bodies.size(); ++i)
                within(s.streams[i], [&] { block(s.bodies[i], round); });
            for (const int branch : s.streams) {
                wait(s.stream, branch);
                end(branch);
            }
            break;
        case What::temporary:
            begin(s.stream, s.pooled);
            block(s.bodies[0], round);
            end(s.stream);
            break;
        case What::thread: {
            const std::vector<int> before = current_;
            block(s.bodies[0], round);
            current_ = before;
            break;
        }
        case What::local:
        case What::make_anew:
            at(users_, s.to).clear();
            at(out_.unknown, s.to) = at(failed_, s.stream) != 0;
            at(out_.buffers, s.to).assign(at(out_.buffers, s.to).size(), static_cast<int>(s.b));
            use(s.to, s.stream, true);
            if (s.what == What::local) block(s.bodies[0], round);
            break;
        case What::graph: all_on(s.stream, at(program_.graphs, s.event).body, 0); break;
        case What::captured:
            block(s.bodies[1], round);
            if (s.from >= 0) {
                const Heard heard = ask_users(s.from, -1);
                answer(s, heard);
                if (is_cuda_) read_for_host(s.from, 0, heard);
            }
            all_on(s.stream, s.bodies[0], round);
            break;
        case What::by_data: by_data(s); break;
        case What::clear:
            if (s.owns) clear_all(device_of(s.stream));
            else clear(s.stream);
            break;
        case What::ask: {
            const Hears hears = ways_to_ask()[s.a].hears;
            Heard heard;
            if (hears == Hears::users) heard = ask_users(s.from, -1);
            else heard.must = at(failed_, s.stream);
            // A batch's root may count as a user of all arrays that the batch uses.
            if (hears == Hears::clone && mode_ == Mode::batch) heard.may = at(failed_, root_);
            answer(s, heard);
            if (hears == Hears::stream || hears == Hears::clone) {
                may_use_in_batch(s, s.stream);
                use(s.from, s.stream, false);
            } else read_for_host(s.from, device_of(s.stream), heard);
            break;
        }
        default: work(s, s.stream, round);
        }
    }

    struct Heard {
        Failed must = 0;
        Failed may = 0;         ///< of streams that may exist, and only read the array
        bool is_mixed = false;  ///< `must` is one of several failures
    };

    void use(int buffer, int stream, bool writes) {
        if (buffer < 0) return;
        for (User& one : at(users_, buffer))
            if (one.stream == stream) {
                one.writes = one.writes || writes;
                one.may_be_none = false;
                return;
            }
        at(users_, buffer).push_back({stream, device_of(stream), writes});
    }

    /// Records a read by a stream that was destroyed, possibly with pending work. The reader of
    /// host memory may be a CPU stream, whose failure remains when a GPU's failures are cleared.
    void read_for_host(int buffer, int device, const Heard& heard) {
        const Failed failure = heard.must != 0 ? heard.must : heard.may;
        if (failure == 0) return;
        const bool on_cpu = is_cuda_ && at(program_.buffers, buffer).space != Space::device;
        at(users_, buffer)
            .push_back(
                {.device = on_cpu ? no_device : device, .may_be_none = true, .left = failure});
    }

    void may_use(const Statement& s, int stream) {
        for (const int buffer : {s.from, s.to})
            if (buffer >= 0) at(users_, buffer).push_back({stream, device_of(stream), false, true});
    }

    /// In a batch, the root stream and the streams that will join `stream` may also count as users
    /// of the arrays of a statement on `stream`.
    void may_use_in_batch(const Statement& s, int stream) {
        if (mode_ != Mode::batch) return;
        if (root_ != stream) may_use(s, root_);
        for (int base = at(bases_, stream); base >= 0; base = at(bases_, base)) may_use(s, base);
    }

    void work(const Statement& s, int stream, int round, bool in_graph = false) {
        may_use_in_batch(s, stream);
        // used_on() declares a write, too. A captured view declares the read, and so do the native
        // host functions of CPU streams (runner.cpp).
        const bool is_native = is_lent(s) && !is_cuda_ && !in_graph;
        use(s.from, stream, s.what == What::host && !s.captures && !is_native);
        use(s.to, stream, true);
        const bool is_dropped = at(failed_, stream) != 0;
        if (is_cuda_ && is_dropped) at(out_.unknown, s.to) = true;
        if (is_dropped) return;
        if (s.from >= 0 && at(out_.unknown, s.from)) at(out_.unknown, s.to) = true;
        do_work(program_, s, round, out_);
    }

    void all_on(int stream, const Statements& block, int round) {
        for (const Statement& s : block)
            if (s.what == What::fail) fail(stream, ++failures_);
            else work(s, stream, round, true);
    }

    void by_data(const Statement& s) {
        const int order = s.other;
        begin(order, false);
        wait(order, s.stream);
        for (const Statement& w : s.bodies[0]) {
            for (const int buffer : {w.from, w.to}) {
                if (buffer < 0) continue;
                const Heard heard = ask_users(buffer, order);
                out_.is_unsure = out_.is_unsure || (heard.may != 0 && heard.must == 0);
                take_over(order, heard.must, heard.is_mixed);
            }
            use(w.from, order, false);
            use(w.to, order, true);
            if (w.what == What::fail) fail(order, ++failures_);
            else work(w, order, 0);
        }
        wait(s.stream, order);
        end(order);
    }

    void end(int stream) {
        const Failed failure = at(failed_, stream);
        const bool is_kept = at(is_kept_, stream);
        for (std::vector<User>& users : users_)
            for (User& one : users)
                if (one.stream == stream)
                    one = {-1,      one.device, one.writes,           one.may_be_none,
                           failure, is_kept,    at(is_mixed_, stream)};
    }

    void clear(int stream) {
        const Failed cleared = std::exchange(at(failed_, stream), 0);
        if (cleared == 0) return;
        const bool is_any = at(is_mixed_, stream);
        at(is_mixed_, stream) = false;
        // A stream with pending work still passes its failure on.
        for (std::vector<User>& users : users_)
            for (User& one : users)
                if (one.left == cleared || (one.left != 0 && (is_any || one.is_mixed)))
                    one.writes = false;
    }
    void clear_all(int device) {
        for (std::size_t i = 0; i < failed_.size(); ++i)
            if (program_.streams[i].role == StreamRole::base &&
                program_.streams[i].device == device)
                clear(static_cast<int>(i));
        for (std::vector<User>& users : users_) {
            const auto is_cleared = [&](const User& one) {
                return one.left != 0 && one.device == device;
            };
            std::erase_if(users, [&](const User& one) { return is_cleared(one) && !one.is_kept; });
            // The stream of a lease can be leased again, and fail again.
            for (User& one : users)
                if (is_cleared(one)) one.left = 0;
        }
    }

    Heard ask_users(int buffer, int without) {
        Heard heard;
        for (const User& one : at(users_, buffer)) {
            if (one.stream >= 0 && one.stream == without) continue;
            if (one.is_kept && kept_failed_ != 0) heard.may = kept_failed_;
            const Failed failure = one.stream >= 0 ? at(failed_, one.stream) : one.left;
            if (failure == 0) continue;
            const bool is_sure = !one.may_be_none && (one.stream >= 0 || one.writes);
            const bool is_mixed = one.stream >= 0 ? at(is_mixed_, one.stream) : one.is_mixed;
            if (is_mixed || (heard.must != 0 && heard.must != failure)) heard.is_mixed = true;
            (is_sure ? heard.must : heard.may) = failure;
        }
        return heard;
    }

    void answer(const Statement& s, const Heard& heard) {
        const bool must = heard.must != 0;
        const bool may_be_connected = is_cuda_ && mode_ == Mode::batch && failures_ != 0;
        const bool is_known = !out_.is_unsure && !at(out_.unknown, s.from) && !may_be_connected;
        out_.answers.push_back(
            {.statement = s.id,
             .may_give = !must || is_cuda_ || out_.is_unsure,
             .may_throw = must || heard.may != 0 || out_.is_unsure || may_be_connected,
             .is_known = is_known && !(must && is_cuda_),
             .elements = at(out_.buffers, s.from)});
    }

    const Program& program_;
    Mode mode_;
    bool is_cuda_;
    Outcome out_;
    std::vector<Failed> failed_, events_;
    Failed failures_ = 0, kept_failed_ = 0;
    int root_ = 0;  ///< root of the current segment
    std::vector<bool> recorded_;
    std::vector<std::vector<User>> users_;
    std::vector<int> current_;
    std::vector<int> bases_;     ///< for branches: the stream that will join them
    std::vector<bool> is_kept_;  ///< for branches and leases: whether the stream may be reused
    std::vector<bool> is_mixed_, is_mixed_event_;
};

}  // namespace

Outcome expected_with_failures(const Program& p, Mode mode) {
    return FailingInterpreter(p, mode).run();
}

}  // namespace heddle_test::programs
