// Generates programs. Before each access, adds the waits that are missing according to the model.
// The form of each wait is random.
#include "asking.hpp"
#include "model.hpp"
#include "random.hpp"

#include <algorithm>

namespace heddle_test::programs {

namespace {

class Generator {
public:
    Generator(std::uint64_t seed, const std::vector<Device>& devices, GeneratorOptions options)
        : random_(seed), options_(options) {
        program_.seed = seed;
        program_.devices = devices;
    }

    Program run() {
        program_.fails = options_.failures;
        lay_out();
        Model model(program_);
        model_ = &model;
        current_ = program_.current;
        const std::size_t segments = 1 + random_.below(3);
        for (std::size_t i = 0; i < segments; ++i) {
            budget_ = options_.statements / static_cast<int>(segments);
            program_.segments.push_back(segment());
        }
        if (options_.failures)  // at the end, every array is read
            for (std::size_t b = 0; b < program_.buffers.size(); ++b)
                if (!program_.buffers[b].local)
                    add_ask(static_cast<int>(b), program_.segments.back().after);
        return std::move(program_);
    }

private:
    bool chance(std::size_t percent) { return random_.below(100) < percent; }
    int any(std::size_t n) { return static_cast<int>(random_.below(n)); }
    template <class V> auto one_of(const V& v) { return v[random_.below(v.size())]; }
    const StreamInfo& stream(int s) const { return program_.streams[static_cast<std::size_t>(s)]; }
    const BufferInfo& buffer(int b) const { return program_.buffers[static_cast<std::size_t>(b)]; }
    Device device(int d) const { return program_.devices[static_cast<std::size_t>(d)]; }
    int& current(int d) { return current_[static_cast<std::size_t>(d)]; }

    Statement make(What what) {
        Statement s;
        s.what = what;
        s.id = program_.statements++;
        s.a = static_cast<Word>(random_.below(1000)) * 2 + 3;
        s.b = static_cast<Word>(random_.below(100000)) + 1;
        if (chance(30)) s.varies = static_cast<Word>(random_.below(9)) + 1;
        return s;
    }

    // Adds streams, buffers, events and graphs.
    void lay_out() {
        const int devices = static_cast<int>(program_.devices.size());
        for (int d = 0; d < devices; ++d) {
            const bool cuda = device(d).is_cuda();
            program_.mixed = program_.mixed || (!cuda && device(0).is_cuda());
            const int count = d == 0 ? 2 + any(3) : 1 + any(3);
            program_.current.push_back(static_cast<int>(program_.streams.size()));
            for (int i = 0; i < count; ++i)
                program_.streams.push_back({d, StreamRole::base, chance(20) ? -any(6) : 0});
            for (int i = 2 + any(2); i > 0; --i) add_buffer({Space::device, d, size()});
            BufferInfo constant{Space::device, d, size()};
            constant.constant = true;
            add_buffer(constant);
            BufferInfo flag{Space::device, d, 1};
            flag.flag = true;
            add_buffer(flag);
            for (int i = 1 + any(2); i > 0; --i) program_.events.push_back(d);
        }
        for (int i = 1 + any(2); i > 0; --i) add_buffer({Space::pinned, 0, size()});
        for (int i = any(3); i > 0; --i) {
            pageable_.push_back(static_cast<int>(program_.buffers.size()));
            program_.buffers.push_back({Space::pageable, 0, size()});
        }
        for (std::size_t s = 0; s < program_.streams.size(); ++s)
            live_.push_back(static_cast<int>(s));
        for (int i = any(3); i > 0; --i) add_graph();
    }

    std::size_t size() { return chance(8) ? 20000 + random_.below(20000) : 5 + random_.below(60); }

    void add_buffer(const BufferInfo& info) {
        program_.buffers.push_back(info);
        if (!info.flag && !info.constant)
            writable_.push_back(static_cast<int>(program_.buffers.size()) - 1);
        if (!info.flag) readable_.push_back(static_cast<int>(program_.buffers.size()) - 1);
    }

    /// Adds a graph: several operations, one after the other, on arrays of one device.
    void add_graph() {
        GraphInfo graph;
        graph.device = 0;
        graph.captured = chance(50);
        for (int i = 1 + any(4); i > 0; --i) {
            Statement s = choose_work(0, true);
            if (s.to < 0 || s.what == What::copy_2d) continue;
            s.varies = 0;
            s.stream = -1;
            if (s.what == What::fill || s.what == What::copy) {  // see keep_trace()
                Statement trace = make(What::mix);
                trace.from = s.to;
                trace.to = pick(writable_,
                                [&](int b) { return reaches(0, b) && b != s.to && b != s.from; });
                if (trace.to < 0) continue;
                trace.varies = 0;
                graph.body.push_back(std::move(trace));
            }
            graph.body.push_back(std::move(s));
            if (options_.failures && chance(10)) add_failure_of(-1, graph.body);
        }
        if (!graph.body.empty()) {
            for (const Statement& s : graph.body) kept_.push_back(s.to);
            for (const Statement& s : graph.body) kept_.push_back(s.from);
            program_.graphs.push_back(std::move(graph));
        }
    }

    /// Returns whether a stream can copy a buffer. CPU streams cannot access the memory of GPUs.
    bool may_copy(int s, int b) const {
        return device(stream(s).device).is_cuda() || buffer(b).space != Space::device ||
               device(buffer(b).device).is_cpu();
    }
    /// Returns whether kernels on a stream can access a buffer.
    bool reaches(int s, int b) const {
        const Device on = device(stream(s).device);
        if (buffer(b).space == Space::pinned) return true;
        if (buffer(b).space == Space::pageable) return on.is_cpu();
        return on.is_cpu() ? device(buffer(b).device).is_cpu()
                           : buffer(b).device == stream(s).device;
    }
    bool is_host_memory(int b) const {
        return buffer(b).space == Space::pinned || device(buffer(b).device).is_cpu();
    }
    template <class P> int pick(const std::vector<int>& among, P&& fits) {
        std::vector<int> good;
        for (const int b : among)
            if (fits(b)) good.push_back(b);
        return good.empty() ? -1 : one_of(good);
    }

    /// Returns a statement with work that a stream can do. Its `to` is -1 if there is no such work.
    Statement choose_work(int s, bool kernels_only) {
        const auto reached = [&](int b) { return reaches(s, b); };
        Statement w = make(What::scale);
        w.stream = s;
        const std::size_t dice = random_.below(100);
        if (dice < 25) {
            w.to = pick(writable_, reached);
        } else if (dice < 60) {
            w.what = What::mix;
            w.to = pick(writable_, reached);
            w.from = pick(readable_, [&](int b) { return reaches(s, b) && b != w.to; });
            if (w.from < 0) w.to = -1;
        } else if (dice < 66) {
            w.what = What::fill;
            w.to = pick(writable_, reached);
        } else if (dice < 84) {
            w.what = dice < 80 ? What::copy : What::copy_2d;
            const auto copied = [&](int b) {
                return kernels_only ? reaches(s, b) : may_copy(s, b);
            };
            w.to = pick(writable_, copied);
            w.from = pick(readable_, [&](int b) { return b != w.to && copied(b); });
            if (w.from < 0) w.to = -1;
        } else if (!kernels_only) {
            w.what = What::host;
            w.owns = chance(40);
            w.to = pick(writable_, [&](int b) { return is_host_memory(b); });
            if (chance(50))
                w.from = pick(readable_, [&](int b) { return is_host_memory(b) && b != w.to; });
        } else {
            w.to = pick(writable_, reached);
        }
        if (options_.slow && chance(12) && is_function(w)) w.slow = 2000 + any(60) * 1000;
        if (w.to >= 0 && chance(15)) w.optional = true;
        w.captures = chance(30) && is_function(w);
        return w;
    }

    // Functions that add waits before a statement.

    /// Makes stream `s` wait for all work that must precede a statement. Returns false if waiting
    /// for streams and events cannot create that order.
    bool order(int s, int from, int to, Statements& out) {
        while (true) {
            const std::vector<Point> missing = model_->missing(s, from, to);
            if (missing.empty()) return true;
            if (!order_after(s, one_of(missing), out)) return false;
        }
    }

    bool order_after(int s, const Point& point, Statements& out) {
        if (chance(60)) {
            std::vector<int> marks;
            for (std::size_t e = 0; e < program_.events.size(); ++e)
                if (model_->is_recorded(static_cast<int>(e)) &&
                    model_->event_clock(static_cast<int>(e)).of(point.stream) >= point.count)
                    marks.push_back(static_cast<int>(e));
            if (!marks.empty()) {
                add_wait_event(s, one_of(marks), out);
                return true;
            }
        }
        std::vector<int> streams;
        for (const int t : live_)
            if (t != s && model_->clock(t).of(point.stream) >= point.count) streams.push_back(t);
        if (streams.empty()) {
            for (std::size_t e = 0; e < program_.events.size(); ++e)
                if (model_->is_recorded(static_cast<int>(e)) &&
                    model_->event_clock(static_cast<int>(e)).of(point.stream) >= point.count) {
                    add_wait_event(s, static_cast<int>(e), out);
                    return true;
                }
            return false;
        }
        const bool alive = std::find(streams.begin(), streams.end(), point.stream) != streams.end();
        const int t = alive && chance(80) ? point.stream : one_of(streams);
        if (chance(12)) return add_mark(s, t, out);
        if (chance(55) || !add_record(t, out)) add_wait(s, t, out);
        else add_wait_event(s, out.back().event, out);
        return true;
    }

    void add_wait(int s, int t, Statements& out) {
        Statement w = make(What::wait_stream);
        w.stream = s;
        w.other = t;
        model_->wait(s, t);
        out.push_back(std::move(w));
    }
    bool add_mark(int s, int t, Statements& out) {
        Statement m = make(What::mark);
        m.stream = s;
        m.other = t;
        model_->wait(s, t);
        out.push_back(std::move(m));
        return true;
    }
    bool add_record(int t, Statements& out) {
        std::vector<int> fitting;
        for (std::size_t e = 0; e < program_.events.size(); ++e)
            if (program_.events[e] == stream(t).device) fitting.push_back(static_cast<int>(e));
        if (fitting.empty()) return false;
        Statement r = make(What::record);
        r.stream = t;
        r.event = one_of(fitting);
        model_->record(r.event, t);
        out.push_back(std::move(r));
        return true;
    }
    void add_wait_event(int s, int e, Statements& out) {
        Statement w = make(What::wait_event);
        w.stream = s;
        w.event = e;
        model_->wait_event(s, e);
        out.push_back(std::move(w));
    }

    // Functions that add blocks.

    int any_stream() { return chance(35) ? current(current_device_) : one_of(live_); }

    bool is_implicit(int s) {
        return s == current(stream(s).device) && stream(s).device == current_device_ && chance(70);
    }

    void add_work(Statements& out, int s) {
        Statement w = choose_work(s, false);
        if (w.to < 0 || !order(s, w.from, w.to, out)) return;
        if ((w.what == What::fill || w.what == What::copy) &&
            !(keep_trace(out, s, w.to, w.from) && order(s, w.from, w.to, out)))
            return;
        const bool one_device = w.from < 0 || (buffer(w.from).space == Space::device &&
                                               buffer(w.to).space == Space::device &&
                                               buffer(w.from).device == buffer(w.to).device);
        const bool at_home =
            buffer(w.to).space == Space::device && buffer(w.to).device == stream(s).device;
        if (is_function(w) || (one_device && at_home)) w.implicit = is_implicit(s);
        if (w.what == What::scale && !w.captures && !w.implicit && !buffer(w.to).local &&
            chance(20))
            w.prepared = true;
        w.algorithm = may_be_algorithm(w);
        // The number of an algorithm's operations depends on the size, and a graph cannot be
        // updated to another number.
        if (w.algorithm) w.varies -= w.varies % 5;
        model_->access(w.id, s, w.from, w.to);
        out.push_back(std::move(w));
    }

    /// Mixes a buffer that is about to be overwritten or freed into one that stays, so that the
    /// result shows an earlier race. Sometimes omits this. Returns false if the caller must stop.
    bool keep_trace(Statements& out, int s, int gone, int not_to) {
        Statement trace = make(What::mix);
        trace.stream = s;
        trace.from = gone;
        trace.to = pick(writable_, [&](int b) {
            return b != gone && b != not_to && !buffer(b).local && reaches(s, b);
        });
        if (chance(6) || trace.to < 0 || !reaches(s, gone)) return chance(50);
        if (!order(s, trace.from, trace.to, out)) return false;
        model_->access(trace.id, s, trace.from, trace.to);
        out.push_back(std::move(trace));
        return true;
    }

    void add_needless_wait(Statements& out) {
        const int s = one_of(live_), t = one_of(live_);
        if (chance(50)) return add_wait(s, t, out);
        if (chance(70)) {
            add_record(t, out);
        } else if (!program_.events.empty()) {
            const int e = any(program_.events.size());
            if (model_->is_recorded(e)) add_wait_event(s, e, out);
        }
    }

    Statements block(int depth) {
        Statements out;
        for (int i = 1 + any(5); i > 0 && budget_ > 0; --i) add(depth, out);
        return out;
    }

    void add(int depth, Statements& out) {
        --budget_;
        const std::size_t dice = random_.below(depth < 4 ? 100 : 66);
        if (options_.failures) return add_with_failures(dice, depth, out);
        if (dice < 58) add_work(out, any_stream());
        else if (dice < 63) add_needless_wait(out);
        else if (dice < 65) add_copy_across(out);
        else if (dice < 66) add_set_current(out);
        else if (dice < 76) add_scope(depth, out);
        else if (dice < 81) add_fork(depth, out);
        else if (dice < 87)
            options_.temporaries ? add_temporary(depth, out) : add_scope(depth, out);
        else if (dice < 91) add_local(depth, out);
        else if (dice < 93) add_thread(depth, out);
        else if (dice < 96) add_condition(out);
        else if (dice < 98) add_captured(out);
        else add_graph_launch(out);
    }

    void add_with_failures(std::size_t dice, int depth, Statements& out) {
        if (dice < 3) add_failure(out);
        else if (dice < 56) add_work(out, any_stream());
        else if (dice < 63) add_needless_wait(out);
        else if (dice < 65) add_copy_across(out);
        else if (dice < 66) add_set_current(out);
        else if (dice < 78) add_scope(depth, out);
        else if (dice < 84) add_fork(depth, out);
        else if (dice < 91) add_temporary(depth, out);
        else if (dice < 93) add_local(depth, out);
        else if (dice < 95) add_thread(depth, out);
        else if (dice < 97) add_captured(out);
        else add_graph_launch(out);
    }

    void add_failure(Statements& out) {
        add_failure_of(any_stream(), out);
        out.back().optional = chance(15);
    }
    void add_failure_of(int stream, Statements& out) {
        Statement s = make(What::fail);
        s.stream = stream;
        s.owns = device(0).is_cuda() || chance(50);
        out.push_back(std::move(s));
    }

    // Functions that add statements between the parts of a failing program.

    /// `in_batch`: whether the statement may be part of a batch, where ordering by data is invalid.
    void add_between_failures(Statements& out, bool in_batch) {
        const std::size_t dice = random_.below(100);
        if (dice < 45)
            add_ask(one_of(chance(80) || pageable_.empty() ? readable_ : pageable_), out);
        else if (dice < 60) add_clear(out);
        else if (dice < 75 && !in_batch) add_by_data(out);
        else if (dice < 85) add_pageable(out);
        else add_work(out, one_of(live_));
    }

    void add_ask(int b, Statements& out) {
        const bool is_cuda = device(0).is_cuda();
        Statement s = make(What::ask);
        s.varies = 0;
        s.from = b;
        do s.a = static_cast<Word>(any(ways_to_ask().size()));
        while (!ways_to_ask()[s.a].fits(buffer(b), is_cuda));
        const int home = buffer(b).space == Space::device ? buffer(b).device : 0;
        s.stream = pick(live_, [&](int t) { return stream(t).device == home; });
        if (ways_to_ask()[s.a].hears != Hears::users) {
            if (!order(s.stream, b, -1, out)) return;
            model_->access(s.id, s.stream, b, -1);
        }
        out.push_back(std::move(s));
    }

    void add_clear(Statements& out) {
        Statement s = make(What::clear);
        s.stream = one_of(live_);
        s.owns = options_.alone && chance(30);
        out.push_back(std::move(s));
    }

    void add_pageable(Statements& out) {
        if (!pageable_.empty()) add_pageable_work(out);
    }

    /// Adds work through a DataOrder, which waits for other work automatically.
    void add_by_data(Statements& out) {
        Statement s = make(What::by_data);
        s.varies = 0;
        s.stream = one_of(live_);
        s.other = new_stream(stream(s.stream).device, StreamRole::branch);
        s.to = pick(writable_, [&](int b) { return reaches(s.stream, b); });
        Statements body;
        for (int k = 1 + any(4); k > 0; --k) {
            Statement w = make(chance(20) ? What::fail : What::scale);
            w.varies = 0;
            w.to = s.to;
            if (w.what == What::scale && chance(70)) {
                w.what = chance(70) ? What::mix : What::copy;
                w.from = pick(readable_, [&](int b) { return b != s.to && reaches(s.stream, b); });
                if (w.from < 0) continue;
            }
            w.algorithm = may_be_algorithm(w);
            body.push_back(std::move(w));
        }
        model_->by_data(s.id, s.stream, s.other, body);
        s.bodies.push_back(std::move(body));
        out.push_back(std::move(s));
    }

    /// Adds a capture. Also adds a stream that is destroyed while the capture is open.
    void add_captured(Statements& out) {
        Statement s = make(What::captured);
        s.stream = any_stream();
        s.varies = 0;
        if (device(stream(s.stream).device).kind() != device(0).kind()) return;
        s.bodies.push_back(simple_body(s.stream, out));
        if (options_.failures && chance(30)) add_failure_of(s.stream, s.bodies.back());
        s.bodies.emplace_back();
        if (options_.temporaries) add_beside(s);
        out.push_back(std::move(s));
    }
    void add_beside(Statement& s) {
        const int other = pick(live_, [&](int t) {
            return t != s.stream && stream(t).device == stream(s.stream).device;
        });
        if (other < 0) return;
        Statement side = make(What::temporary);
        side.stream = new_stream(stream(other).device, StreamRole::temporary);
        Statements inside;
        add_wait(side.stream, other, inside);
        for (int k = 1 + any(2); k > 0; --k) {
            Statement w = choose_work(side.stream, true);
            // If the new stream waited for the captured one, it would join the capture.
            if (w.to < 0 || !model_->missing(side.stream, w.from, w.to).empty()) continue;
            w.optional = false;
            model_->access(w.id, side.stream, w.from, w.to);
            s.from = w.to;
            inside.push_back(std::move(w));
        }
        add_wait(other, side.stream, inside);
        side.bodies.push_back(std::move(inside));
        s.bodies[1].push_back(std::move(side));
    }

    void add_scope(int depth, Statements& out) {
        Statement s = make(What::scope);
        s.stream = one_of(live_);
        s.wait_on_enter = chance(85);
        s.wait_on_exit = chance(65);
        s.throws = chance(20);
        const int d = stream(s.stream).device, before = current(d), outer_device = current_device_;
        if (s.wait_on_enter) model_->wait(s.stream, before);
        current(d) = s.stream;
        current_device_ = d;
        s.bodies.push_back(block(depth + 1));
        current(d) = before;
        current_device_ = outer_device;
        if (s.wait_on_exit) model_->wait(before, s.stream);
        out.push_back(std::move(s));
    }

    int new_stream(int device, StreamRole role) {
        program_.streams.push_back({device, role, 0});
        model_->know_stream();
        return static_cast<int>(program_.streams.size()) - 1;
    }

    void add_fork(int depth, Statements& out) {
        Statement s = make(What::fork);
        s.stream = current(current_device_);
        const int d = current_device_, before = current(d);
        const int branches = 2 + any(3);
        for (int i = 0; i < branches; ++i) {
            s.streams.push_back(new_stream(d, StreamRole::branch));
            model_->wait(s.streams.back(), s.stream);
        }
        for (int i = 0; i < branches; ++i) {
            const int branch = s.streams[static_cast<std::size_t>(i)];
            live_.push_back(branch);
            current(d) = branch;
            Statements body;
            for (int k = any(4); k > 0; --k) {
                if (chance(70)) add_work(body, branch);
                else add(depth + 1, body);
            }
            s.bodies.push_back(std::move(body));
            current(d) = before;
            std::erase(live_, branch);
        }
        for (const int branch : s.streams) model_->wait(s.stream, branch);
        out.push_back(std::move(s));
    }

    void add_temporary(int depth, Statements& out) {
        Statement s = make(What::temporary);
        s.stream = new_stream(chance(70) ? current_device_ : any(program_.devices.size()),
                              StreamRole::temporary);
        s.pooled = chance(30);
        Statements body;
        if (joins_ || chance(60)) add_wait(s.stream, one_of(live_), body);
        live_.push_back(s.stream);
        for (int k = 1 + any(4); k > 0; --k) {
            if (chance(75)) add_work(body, s.stream);
            else add(depth + 1, body);
        }
        std::erase(live_, s.stream);
        if (joins_ || chance(60)) add_wait(one_of(live_), s.stream, body);
        else if (chance(50)) add_record(s.stream, body);
        s.bodies.push_back(std::move(body));
        out.push_back(std::move(s));
    }

    void add_local(int depth, Statements& out) {
        Statement s = make(What::local);
        s.stream = any_stream();
        s.to = static_cast<int>(program_.buffers.size());
        BufferInfo info{Space::device, stream(s.stream).device, size()};
        info.local = true;
        program_.buffers.push_back(info);
        s.implicit = is_implicit(s.stream);
        s.varies = 0;
        s.owns = chance(20);
        model_->forget(s.to);
        model_->access(s.id, s.stream, -1, s.to);
        writable_.push_back(s.to);
        readable_.push_back(s.to);
        // Kernels use the array and mix it with other arrays before any other statement can access
        // it.
        Statements body;
        for (int k = 1 + any(3); k > 0; --k) {
            Statement w = make(What::mix);
            w.stream = chance(50) ? s.stream : any_stream();
            const bool into = chance(50);
            const int other = pick(into ? readable_ : writable_,
                                   [&](int b) { return b != s.to && reaches(w.stream, b); });
            w.from = into ? other : s.to;
            w.to = into ? s.to : other;
            if (other < 0 || !reaches(w.stream, s.to) || !order(w.stream, w.from, w.to, body))
                continue;
            if (options_.slow && chance(20)) w.slow = 2000 + any(40) * 1000;
            model_->access(w.id, w.stream, w.from, w.to);
            body.push_back(std::move(w));
        }
        if (chance(60))
            for (Statement& more : block(depth + 1)) body.push_back(std::move(more));
        keep_trace(body, pick(live_, [&](int t) { return reaches(t, s.to); }), s.to, -1);
        s.bodies.push_back(std::move(body));
        std::erase(writable_, s.to);
        std::erase(readable_, s.to);
        model_->forget(s.to);
        out.push_back(std::move(s));
    }

    void add_set_current(Statements& out) {
        Statement s = make(What::set_current);
        std::vector<int> base;
        for (const int t : live_)
            if (stream(t).role == StreamRole::base && stream(t).device == current_device_)
                base.push_back(t);
        s.stream = one_of(base);
        model_->wait(s.stream, current(current_device_));
        current(current_device_) = s.stream;
        out.push_back(std::move(s));
    }

    void add_copy_across(Statements& out) {
        Statement s = make(What::copy_across);
        const auto has_device = [&](int b) { return buffer(b).space == Space::device; };
        s.to = pick(writable_, has_device);
        s.from = pick(readable_, [&](int b) {
            return has_device(b) && buffer(b).device != buffer(s.to).device;
        });
        if (s.from < 0) return;
        s.stream = current(buffer(s.to).device);
        s.other = current(buffer(s.from).device);
        // Runs on the destination's stream. If only the source is on CUDA, runs on the source's.
        if (device(buffer(s.to).device).is_cpu() && device(buffer(s.from).device).is_cuda())
            std::swap(s.stream, s.other);
        if (!keep_trace(out, s.stream, s.to, s.from) || !order(s.stream, s.from, s.to, out)) return;
        model_->copy_across(s.id, s.stream, s.other, s.from, s.to);
        s.implicit = true;
        out.push_back(std::move(s));
    }

    void add_thread(int depth, Statements& out) {
        Statement s = make(What::thread);
        const std::vector<int> before = current_;
        s.bodies.push_back(block(depth + 1));
        current_ = before;
        out.push_back(std::move(s));
    }

    void add_condition(Statements& out) {
        Statement s = make(chance(60) ? What::condition : What::loop);
        s.stream = any_stream();
        const int d = stream(s.stream).device;
        if (device(d).kind() != device(0).kind()) return;
        s.to = -1;
        for (std::size_t b = 0; b < program_.buffers.size(); ++b)
            if (program_.buffers[b].flag && program_.buffers[b].device == d)
                s.to = static_cast<int>(b);
        s.from = pick(readable_, [&](int b) { return reaches(s.stream, b); });
        // The condition depends on only one or two bits of an element of `s.from`. So that buffer
        // is also mixed into another one, where a race then shows.
        if (s.from < 0 || !keep_trace(out, s.stream, s.from, -1)) return;
        if (!order(s.stream, s.from, s.to, out)) return;
        s.varies = 0;
        model_->access(s.id, s.stream, s.from, s.to);
        model_->access(s.id, s.stream, s.to, -1);
        const std::size_t bodies = s.what == What::condition ? 2 : 1;
        for (std::size_t i = 0; i < bodies; ++i) {
            model_->set_in_body(true);
            s.bodies.push_back(simple_body(s.stream, out));
            if (options_.temporaries && chance(30)) add_side(s.stream, s.bodies.back(), out);
            model_->set_in_body(false);
        }
        if (s.what == What::loop) model_->access(s.id, s.stream, -1, s.to);
        out.push_back(std::move(s));
    }

    /// Adds a stream to a condition's body. It is created and destroyed within the body.
    void add_side(int s, Statements& body, Statements& before) {
        Statement side = make(What::temporary);
        side.stream = new_stream(stream(s).device, StreamRole::temporary);
        Statements inside;
        model_->wait(side.stream, s);
        Statement begin = make(What::wait_stream);
        begin.stream = side.stream;
        begin.other = s;
        inside.push_back(std::move(begin));
        Statement w = choose_work(side.stream, true);
        const bool fits = w.to >= 0 && (w.from < 0 || reaches(s, w.from));
        if (!fits || !order(s, w.from, w.to, before)) return;
        model_->wait(side.stream, s);
        w.optional = false;
        model_->access(w.id, side.stream, w.from, w.to);
        inside.push_back(std::move(w));
        Statement end = make(What::wait_stream);
        end.stream = s;
        end.other = side.stream;
        model_->wait(s, side.stream);
        inside.push_back(std::move(end));
        side.bodies.push_back(std::move(inside));
        body.push_back(std::move(side));
    }

    /// Returns a body: kernels, copies and fills on one stream. Waits that they need are added
    /// before the condition.
    Statements simple_body(int s, Statements& before) {
        Statements body;
        for (int k = any(4); k > 0; --k) {
            Statement w = choose_work(s, true);
            const bool elsewhere = w.from >= 0 && !reaches(s, w.from);
            if (w.to < 0 || elsewhere) continue;
            if (!order(s, w.from, w.to, before)) continue;
            w.optional = false;
            model_->access(w.id, s, w.from, w.to);
            body.push_back(std::move(w));
        }
        return body;
    }

    void add_graph_launch(Statements& out) {
        if (program_.graphs.empty()) return;
        Statement s = make(What::graph);
        s.event = any(program_.graphs.size());
        const GraphInfo& graph = program_.graphs[static_cast<std::size_t>(s.event)];
        s.stream = pick(live_, [&](int t) { return stream(t).device == graph.device; });
        if (s.stream < 0) return;
        for (const Statement& step : graph.body)
            if (!order(s.stream, step.from, step.to, out)) return;
        for (const Statement& step : graph.body) model_->access(s.id, s.stream, step.from, step.to);
        out.push_back(std::move(s));
    }

    Segment segment() {
        Segment segment;
        std::vector<int> roots;
        for (const int s : live_)
            if (device(stream(s).device).kind() == device(0).kind()) roots.push_back(s);
        segment.root = one_of(roots);
        segment.wait_on_enter = chance(70);
        segment.rounds = 1 + any(4);
        // All streams wait for each other between two rounds, so all failures are passed on.
        if (options_.failures && chance(70)) segment.rounds = 1;
        segment.join = chance(40);
        joins_ = segment.rounds > 1;
        segment.inside = chance(50);
        model_->enter_segment();
        const int d = stream(segment.root).device, before = current(d);
        if (segment.wait_on_enter) model_->wait(segment.root, before);
        current(d) = segment.root;
        current_device_ = d;
        while (budget_ > 0) add(0, segment.body);
        current(d) = before;
        current_device_ = 0;
        model_->enter_segment();  // events recorded in a capture belong to its graph
        for (int i = options_.failures ? any(8) : 0; i > 0; --i)
            add_between_failures(segment.after, segment.inside);
        for (int i = options_.failures ? 0 : any(5); i > 0; --i) add_host_statement(segment.after);
        return segment;
    }

    void add_host_statement(Statements& out) {
        Statement s = make(What::look);
        s.stream = one_of(live_);
        s.varies = 0;
        switch (random_.below(pageable_.empty() ? 9 : 12)) {
        case 0:
            s.what = What::wait_here;
            model_->wait_here(s.stream);
            break;
        case 1:
            s.what = What::wait_here_event;
            s.event = any(program_.events.size());
            if (model_->is_recorded(s.event)) model_->wait_here_event(s.event);
            break;
        case 2:
            if (!options_.alone || !chance(40)) return;
            s.what = What::wait_here_all;
            for (std::size_t t = 0; t < program_.streams.size(); ++t)
                if (stream(static_cast<int>(t)).device == stream(s.stream).device)
                    model_->wait_here(static_cast<int>(t));
            break;
        case 3:
        case 4:
        case 5:
            s.from = one_of(readable_);
            model_->look(s.from);
            break;
        case 6:
            s.what = What::upload;
            s.to = one_of(writable_);
            if (!may_copy(s.stream, s.to)) return;
            if (!keep_trace(out, s.stream, s.to, -1) || !order(s.stream, -1, s.to, out)) return;
            model_->access(s.id, s.stream, -1, s.to);
            break;
        case 7:
            s.what = What::download;
            s.from = one_of(readable_);
            if (!may_copy(s.stream, s.from) || !order(s.stream, s.from, -1, out)) return;
            model_->access(s.id, s.stream, s.from, -1);
            model_->wait_here(s.stream);
            break;
        case 9:
        case 10: return add_pageable_work(out);
        case 11:
            s.what = What::copy_here;
            s.from = one_of(pageable_);
            s.to = one_of(writable_);
            if (chance(50)) std::swap(s.from, s.to);
            if (!may_copy(s.stream, s.from) || !may_copy(s.stream, s.to)) return;
            if (buffer(s.to).space != Space::pageable && !keep_trace(out, s.stream, s.to, -1))
                return;
            if (!order(s.stream, buffer(s.from).space == Space::pageable ? -1 : s.from,
                       buffer(s.to).space == Space::pageable ? -1 : s.to, out))
                return;
            model_->copy_here(s.id, s.stream, s.from, s.to);
            break;
        default:
            s.what = What::make_anew;
            s.to = pick(writable_, [&](int b) {
                return buffer(b).space == Space::device &&
                       std::find(kept_.begin(), kept_.end(), b) == kept_.end();
            });
            if (s.to < 0) return;
            s.stream = pick(live_, [&](int t) { return stream(t).device == buffer(s.to).device; });
            if (!keep_trace(out, s.stream, s.to, -1)) return;
            model_->forget(s.to);
            model_->access(s.id, s.stream, -1, s.to);
        }
        out.push_back(std::move(s));
    }

    /// Adds a kernel or a host function that uses a pageable array. Later, the host may copy the
    /// array without an explicit wait, even if that stream no longer exists.
    void add_pageable_work(Statements& out) {
        const int d = static_cast<int>(program_.devices.size()) - 1;
        if (!device(d).is_cpu()) return;
        const int b = one_of(pageable_);
        Statement w = make(chance(50) ? What::scale : What::host);
        w.varies = 0;
        w.to = b;
        w.slow = options_.slow ? 30000 : 0;
        if (!options_.temporaries || chance(50)) {
            w.stream = pick(live_, [&](int t) { return stream(t).device == d; });
            if (!order(w.stream, -1, b, out)) return;
            model_->access(w.id, w.stream, -1, b);
            out.push_back(std::move(w));
        } else {
            Statement s = make(What::temporary);
            s.stream = w.stream = new_stream(d, StreamRole::temporary);
            s.pooled = chance(30);
            Statements body;
            if (!order(w.stream, -1, b, body)) return;
            model_->access(w.id, w.stream, -1, b);
            body.push_back(std::move(w));
            s.bodies.push_back(std::move(body));
            out.push_back(std::move(s));
        }
    }

    Random random_;
    GeneratorOptions options_;
    Program program_;
    Model* model_ = nullptr;
    std::vector<int> live_, writable_, readable_, kept_, pageable_;
    std::vector<int> current_;
    int current_device_ = 0;
    /// Whether each temporary stream first waits for another stream, and another stream waits for
    /// its end. Needed for several rounds: the barrier between them only covers streams that
    /// persist.
    bool joins_ = false;
    int budget_ = 0;
};

void leave_nothing_out(Statements& block) {
    for (Statement& s : block) {
        s.optional = false;
        for (Statements& body : s.bodies) leave_nothing_out(body);
    }
}

}  // namespace

Program generate(std::uint64_t seed, const std::vector<Device>& devices, GeneratorOptions options) {
    Program program = Generator(seed, devices, options).run();
    // A read by the host also orders the host after the work on the buffer. If leaving out
    // statements in some rounds would remove a necessary order, none is left out.
    if (Model::check(program, Mode::eager))
        for (Segment& segment : program.segments) leave_nothing_out(segment.body);
    return program;
}

}  // namespace heddle_test::programs
