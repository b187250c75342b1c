// A model of happens-before: a vector clock for each stream, for each event, and for the host.
#pragma once

#include "program.hpp"

#include <optional>
#include <vector>

namespace heddle_test::programs {

/// An operation of a stream, and the statement that enqueues it.
struct Point {
    int stream = -1;
    unsigned count = 0;
    int statement = -1;
    bool in_body = false;  ///< whether it is in a condition's body, and so may not run
};

/// A vector clock. For each stream, it has the number of operations that are known to be complete.
class Clock {
public:
    unsigned of(int stream) const {
        return static_cast<std::size_t>(stream) < counts_.size()
                   ? counts_[static_cast<std::size_t>(stream)]
                   : 0;
    }
    void set(int stream, unsigned count);
    /// Raises the count for the point's stream, so that it covers the point.
    void know(const Point& point);
    void join(const Clock& other);
    void meet(const Clock& other);

private:
    std::vector<unsigned> counts_;
};

/// Two statements that access the same memory without any order between them.
struct Race {
    int first = -1, second = -1;
};

/// The orders that count in the model.
enum class Strictness : std::uint8_t {
    promised,  ///< only orders that heddle promises
    whatever,  ///< also orders that happen to exist in practice
};

class Model {
    template <class V> static decltype(auto) at(V& v, int i) {
        return v[static_cast<std::size_t>(i)];
    }

public:
    explicit Model(const Program& program, Strictness strictness = Strictness::promised);

    /// Checks a whole program in a mode. One wait may be left out. Returns a race. Returns nullopt
    /// if all conflicting accesses are ordered.
    static std::optional<Race> check(const Program& program, Mode mode,
                                     Strictness strictness = Strictness::promised,
                                     WaitName left_out = {});

    // For the generator, which adds one step after the other:
    void wait(int stream, int other) { at(streams_, stream).join(at(streams_, other)); }
    void record(int event, int stream);
    void wait_event(int stream, int event);
    bool is_recorded(int event) const { return recorded_[static_cast<std::size_t>(event)]; }
    void enter_segment();
    /// Returns the operations that must precede a statement on this stream, but are not ordered
    /// before it.
    std::vector<Point> missing(int stream, int from, int to) const;
    /// Adds an access to the model. Records a race if an order is missing.
    void access(int statement, int stream, int from, int to);
    void forget(int buffer);  ///< call when the buffer is freed or allocated
    void wait_here(int stream);
    void wait_here_event(int event);
    void look(int buffer);
    void copy_across(int statement, int stream, int other, int from, int to);
    void copy_here(int statement, int stream, int from, int to);
    /// Models work through a DataOrder that is current on `stream`; `order` identifies it.
    void by_data(int statement, int stream, int order, const Statements& work);
    const Clock& clock(int stream) const { return streams_[static_cast<std::size_t>(stream)]; }
    const Clock& event_clock(int event) const { return events_[static_cast<std::size_t>(event)]; }
    /// Must be called before and after the bodies of a condition.
    void set_in_body(bool in_body) { in_body_ = in_body; }
    void know_stream();  ///< call after adding a stream to the program

private:
    struct Buffer {
        std::optional<Point> write;
        std::vector<Point> reads;
    };

    void run(Mode mode);
    void barrier(int root);
    void block(const Statements& block, int round);
    void statement(const Statement& s, int round);
    void condition(const Statement& s, int round);
    bool is_current(const Statement& s) const;
    void note(const Race& race) {
        if (!race_) race_ = race;
    }
    bool is_left_out(const Statement& s, int part) const {
        return left_out_ == WaitName{s.id, part};
    }
    void sent();
    int device_of(int stream) const {
        return program_.streams[static_cast<std::size_t>(stream)].device;
    }

    const Program& program_;
    Strictness strictness_;
    Mode mode_ = Mode::eager;
    WaitName left_out_;
    std::vector<Clock> streams_, events_, graphs_;
    std::vector<bool> recorded_;  ///< by event: whether it was recorded in this segment
    std::vector<unsigned> enqueued_;
    Clock host_, start_;
    std::vector<Buffer> buffers_;
    std::vector<int> current_;
    int current_device_ = 0;
    int root_ = 0;
    bool in_capture_ = false;
    bool in_body_ = false;
    /// The stream of the condition whose body is currently modelled. -1 outside bodies.
    int condition_ = -1;
    bool join_ = false;
    /// By device: the work of earlier branches and leases.
    std::vector<Clock> branches_;
    std::optional<Race> race_;
};

}  // namespace heddle_test::programs
