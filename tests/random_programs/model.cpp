#include "model.hpp"

#include "asking.hpp"

#include <algorithm>

namespace heddle_test::programs {

void Clock::set(int stream, unsigned count) {
    const auto at = static_cast<std::size_t>(stream);
    if (counts_.size() <= at) counts_.resize(at + 1);
    counts_[at] = count;
}

void Clock::know(const Point& point) {
    if (of(point.stream) < point.count) set(point.stream, point.count);
}

void Clock::join(const Clock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < other.counts_.size(); ++i)
        counts_[i] = std::max(counts_[i], other.counts_[i]);
}

void Clock::meet(const Clock& other) {
    if (counts_.size() > other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t i = 0; i < counts_.size(); ++i)
        counts_[i] = std::min(counts_[i], other.counts_[i]);
}

Model::Model(const Program& program, Strictness strictness)
    : program_(program), strictness_(strictness), streams_(program.streams.size()),
      events_(program.events.size()), graphs_(program.graphs.size()),
      recorded_(program.events.size()), enqueued_(program.streams.size()),
      buffers_(program.buffers.size()), current_(program.current),
      branches_(program.devices.size()) {}

void Model::know_stream() {
    streams_.emplace_back();
    enqueued_.push_back(0);
}

void Model::record(int event, int stream) {
    at(events_, event) = at(streams_, stream);
    at(recorded_, event) = true;
}

void Model::wait_event(int stream, int event) { at(streams_, stream).join(at(events_, event)); }

void Model::enter_segment() { std::fill(recorded_.begin(), recorded_.end(), false); }

std::vector<Point> Model::missing(int stream, int from, int to) const {
    Clock known = at(streams_, stream);
    known.join(host_);
    std::vector<Point> points;
    const auto need = [&](const Point& p) {
        if (known.of(p.stream) < p.count) points.push_back(p);
    };
    if (from >= 0 && at(buffers_, from).write) need(*at(buffers_, from).write);
    if (to >= 0) {
        if (at(buffers_, to).write) need(*at(buffers_, to).write);
        for (const Point& p : at(buffers_, to).reads) need(p);
    }
    return points;
}

void Model::access(int statement, int stream, int from, int to) {
    Clock& clock = at(streams_, stream);
    clock.join(host_);
    for (const Point& p : missing(stream, from, to)) note({p.statement, statement});
    const Point point{stream, ++at(enqueued_, stream), statement, in_body_};
    clock.set(stream, point.count);
    if (from >= 0) {
        auto& reads = at(buffers_, from).reads;
        std::erase_if(reads, [&](const Point& p) { return p.stream == stream; });
        reads.push_back(point);
    }
    if (to >= 0) {
        at(buffers_, to).write = point;
        at(buffers_, to).reads.clear();
    }
}

void Model::forget(int buffer) {
    if (static_cast<std::size_t>(buffer) >= buffers_.size())
        buffers_.resize(static_cast<std::size_t>(buffer) + 1);
    at(buffers_, buffer) = {};
}

void Model::wait_here(int stream) { host_.join(at(streams_, stream)); }
void Model::wait_here_event(int event) { host_.join(at(events_, event)); }

// heddle only promises that the work on the buffer is complete. In practice, all work before it is
// complete, too.
void Model::look(int buffer) {
    const auto know = [&](const Point& p) {
        // heddle waits neither for work that did not run, nor for earlier work on the stream of
        // that work.
        if (p.in_body && strictness_ == Strictness::promised) return;
        host_.know(p);
        if (strictness_ == Strictness::whatever) host_.join(at(streams_, p.stream));
    };
    if (at(buffers_, buffer).write) know(*at(buffers_, buffer).write);
    for (const Point& p : at(buffers_, buffer).reads) know(p);
}

void Model::copy_across(int statement, int stream, int other, int from, int to) {
    wait(stream, other);
    access(statement, stream, from, to);
    wait(other, stream);
}

// Models that the host accesses the pageable array after it has waited for the array's users.
void Model::copy_here(int statement, int stream, int from, int to) {
    const bool up = program_.buffers[static_cast<std::size_t>(from)].space == Space::pageable;
    look(up ? from : to);
    access(statement, stream, up ? -1 : from, up ? to : -1);
    if (up && strictness_ == Strictness::promised) return;
    wait_here(stream);
    if (!up) forget(to);
}

// Models a wait for all users of the arrays that the work uses.
void Model::by_data(int statement, int stream, int order, const Statements& work) {
    at(streams_, order) = at(streams_, stream);
    at(streams_, order).set(order, at(enqueued_, order));
    for (const Statement& w : work) {
        for (const Point& p : missing(order, w.from, w.to)) at(streams_, order).know(p);
        if (w.what != What::fail) access(statement, order, w.from, w.to);
    }
    wait(stream, order);
}

bool Model::is_current(const Statement& s) const {
    const int device = device_of(s.stream);
    return at(current_, device) == s.stream &&
           (device == current_device_ || s.what == What::copy_across);
}

std::optional<Race> Model::check(const Program& program, Mode mode, Strictness strictness,
                                 WaitName left_out) {
    Model model(program, strictness);
    model.left_out_ = left_out;
    model.run(mode);
    return model.race_;
}

/// Orders all streams after the work of all streams that persist. In a capture, orders them after
/// the work of all participants.
void Model::barrier(int root) {
    for (std::size_t i = 0; i < streams_.size(); ++i)
        if (captures(mode_) || program_.streams[i].role == StreamRole::base)
            at(streams_, root).join(streams_[i]);
    for (Clock& clock : streams_) clock.join(at(streams_, root));
}

/// Models the flush of a batch: later work of its participants is ordered after the whole batch.
void Model::sent() {
    if (mode_ == Mode::batch && strictness_ == Strictness::whatever) barrier(root_);
}

void Model::run(Mode mode) {
    mode_ = mode;
    for (const Segment& segment : program_.segments) {
        enter_segment();
        root_ = segment.root;
        join_ = segment.join;
        const std::vector<int> current = current_;
        const int device = current_device_;
        for (int round = 0; round < segment.rounds; ++round) {
            if (round > 0 || captures(mode)) barrier(root_);
            if (mode == Mode::batch && (round == 0 || segment.inside)) sent();
            if (!captures(mode) && segment.wait_on_enter)
                at(streams_, root_).join(at(streams_, at(current, device_of(root_))));
            at(current_, device_of(root_)) = root_;
            current_device_ = device_of(root_);
            in_capture_ = captures(mode);
            start_ = at(streams_, root_);
            block(segment.body, round_of(mode, round));
            in_capture_ = false;
            current_ = current;
            current_device_ = device;
            if (captures(mode)) {
                barrier(root_);
                enter_segment();  // events recorded in a capture belong to its graph
            }
            sent();
        }
        block(segment.after, 0);
    }
}

void Model::block(const Statements& block, int round) {
    for (const Statement& s : block)
        if (!programs::is_left_out(s, mode_, round)) statement(s, round);
}

void Model::condition(const Statement& s, int round) {
    access(s.id, s.stream, s.from, s.to);
    access(s.id, s.stream, s.to, -1);
    if (strictness_ == Strictness::whatever && !in_capture_) {
        sent();
        wait_here(s.stream);
    }
    const int before = at(current_, device_of(s.stream)), device = current_device_;
    at(current_, device_of(s.stream)) = s.stream;
    current_device_ = device_of(s.stream);
    condition_ = s.stream;
    std::vector<Clock> end;
    const std::vector<Clock> begin = streams_;
    const std::vector<unsigned> enqueued = enqueued_;
    // Only one of the bodies runs. Both for it and for later work, operations of the other bodies
    // count as complete.
    const auto know_bodies = [&] {
        for (std::size_t t = 0; t < enqueued_.size(); ++t)
            if (enqueued_[t] != enqueued[t])
                at(streams_, s.stream).set(static_cast<int>(t), enqueued_[t]);
    };
    for (const Statements& body : s.bodies) {
        streams_ = begin;
        know_bodies();
        in_body_ = true;
        block(body, round);
        in_body_ = false;
        if (s.what == What::loop) access(s.id, s.stream, -1, s.to);
        if (end.empty()) end = streams_;
        else
            for (std::size_t i = 0; i < end.size(); ++i) end[i].meet(streams_[i]);
    }
    // Later work of the stream is ordered after all of its earlier work. It is also ordered after
    // the streams of the body that ran.
    streams_ = end;
    know_bodies();
    at(current_, device_of(s.stream)) = before;
    current_device_ = device;
    condition_ = -1;
}

void Model::statement(const Statement& s, int round) {
    if (s.implicit && !is_current(s)) note({s.id, s.id});
    switch (s.what) {
    case What::scale:
    case What::mix:
    case What::fill:
    case What::copy:
    case What::copy_2d:
    case What::host: access(s.id, s.stream, s.from, s.to); break;
    case What::fail: break;
    case What::wait_stream:
        if (!is_left_out(s, 0)) wait(s.stream, s.other);
        break;
    case What::record: record(s.event, s.stream); break;
    case What::wait_event:
        if (!is_left_out(s, 0) && at(recorded_, s.event)) wait_event(s.stream, s.event);
        break;
    case What::mark:
        if (!is_left_out(s, 0)) wait(s.stream, s.other);
        break;
    case What::set_current:
        wait(s.stream, at(current_, device_of(s.stream)));
        at(current_, device_of(s.stream)) = s.stream;
        break;
    case What::copy_across:
        if (at(current_, device_of(s.other)) != s.other) note({s.id, s.id});
        copy_across(s.id, s.stream, s.other, s.from, s.to);
        break;
    case What::copy_here:
        sent();
        copy_here(s.id, s.stream, s.from, s.to);
        break;
    case What::scope: {
        const int device = device_of(s.stream), outer_device = current_device_;
        const int before = at(current_, device);
        if (s.wait_on_enter && !is_left_out(s, 0)) wait(s.stream, before);
        at(current_, device) = s.stream;
        current_device_ = device;
        block(s.bodies[0], round);
        if (s.wait_on_exit && !is_left_out(s, 1)) wait(before, s.stream);
        at(current_, device) = before;
        current_device_ = outer_device;
        break;
    }
    case What::fork: {
        const int device = device_of(s.stream), outer_device = current_device_;
        const int before = at(current_, device);
        for (const int branch : s.streams) {
            at(streams_, branch) = at(streams_, s.stream);
            if (strictness_ == Strictness::whatever)
                at(streams_, branch).join(at(branches_, device));
        }
        for (std::size_t i = 0; i < s.bodies.size(); ++i) {
            at(current_, device) = s.streams[i];
            current_device_ = device;
            block(s.bodies[i], round);
        }
        for (const int branch : s.streams) {
            wait(s.stream, branch);
            at(branches_, device).join(at(streams_, branch));
        }
        at(current_, device) = before;
        current_device_ = outer_device;
        break;
    }
    case What::temporary:
        at(streams_, s.stream) = in_capture_ && condition_ < 0 ? start_ : Clock();
        at(streams_, s.stream).set(s.stream, at(enqueued_, s.stream));
        if (s.pooled && strictness_ == Strictness::whatever)
            at(streams_, s.stream).join(at(branches_, device_of(s.stream)));
        if (condition_ >= 0) at(streams_, s.stream).join(at(streams_, condition_));
        block(s.bodies[0], round);
        if (condition_ >= 0) wait(condition_, s.stream);
        else if (in_capture_ && !join_) wait(root_, s.stream);
        if (s.pooled) at(branches_, device_of(s.stream)).join(at(streams_, s.stream));
        break;
    case What::local:
        forget(s.to);
        access(s.id, s.stream, -1, s.to);
        block(s.bodies[0], round);
        forget(s.to);
        break;
    case What::thread: {
        const std::vector<int> before = current_;
        block(s.bodies[0], round);
        current_ = before;
        break;
    }
    case What::condition:
    case What::loop: condition(s, round); break;
    case What::graph:
        if (!in_capture_) sent();
        if (strictness_ == Strictness::whatever) at(streams_, s.stream).join(at(graphs_, s.event));
        for (const Statement& step : at(program_.graphs, s.event).body)
            if (is_work(step.what)) access(s.id, s.stream, step.from, step.to);
        at(graphs_, s.event) = at(streams_, s.stream);
        if (!in_capture_) sent();  // the flush submits the work that holds the stream
        break;
    case What::captured:
        if (!in_capture_) sent();
        for (const Statement& step : s.bodies[0])
            if (is_work(step.what)) access(s.id, s.stream, step.from, step.to);
        block(s.bodies[1], round);
        if (!in_capture_) {
            sent();
            if (s.from >= 0) look(s.from);
        }
        break;
    case What::wait_here:
        sent();
        wait_here(s.stream);
        break;
    case What::wait_here_event:
        if (!at(recorded_, s.event)) break;
        sent();
        wait_here_event(s.event);
        break;
    case What::wait_here_all:
        sent();
        for (std::size_t i = 0; i < streams_.size(); ++i)
            if (program_.streams[i].device == device_of(s.stream)) host_.join(streams_[i]);
        break;
    case What::look:
        sent();
        look(s.from);
        break;
    case What::upload:
        access(s.id, s.stream, -1, s.to);
        if (strictness_ == Strictness::whatever) wait_here(s.stream);
        break;
    case What::download:
        access(s.id, s.stream, s.from, -1);
        wait_here(s.stream);
        break;
    case What::make_anew:
        forget(s.to);
        access(s.id, s.stream, -1, s.to);
        break;
    case What::ask:
        if (ways_to_ask()[s.a].hears != Hears::users) access(s.id, s.stream, s.from, -1);
        break;
    case What::clear: break;
    case What::by_data: by_data(s.id, s.stream, s.other, s.bodies[0]); break;
    }
}

}  // namespace heddle_test::programs
