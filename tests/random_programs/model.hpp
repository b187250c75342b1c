// The happens-before model: a vector clock for each stream, each event and the host.
#pragma once

#include "program.hpp"

#include <optional>
#include <vector>

namespace heddle_test::programs {

/// An operation of a stream, and its statement.
struct Point {
    int stream = -1;
    unsigned count = 0;
    int statement = -1;
    bool in_body = false;  ///< part of a condition's body: it may not run
};

/// A vector clock: for each stream, how many of its operations are known to be complete.
class Clock {
public:
    unsigned of(int stream) const {
        return static_cast<std::size_t>(stream) < counts_.size()
                   ? counts_[static_cast<std::size_t>(stream)]
                   : 0;
    }
    void set(int stream, unsigned count);
    /// Raises the count of the point's stream to at least the point's.
    void know(const Point& point);
    void join(const Clock& other);
    void meet(const Clock& other);

private:
    std::vector<unsigned> counts_;
};

/// Two statements that access the same memory without an order.
struct Race {
    int first = -1, second = -1;
};

/// Which orders the model counts.
enum class Strictness : std::uint8_t {
    promised,  ///< the orders that heddle promises
    whatever,  ///< those, and orders that hold in practice
};

class Model {
    template <class V> static decltype(auto) at(V& v, int i) {
        return v[static_cast<std::size_t>(i)];
    }

public:
    explicit Model(const Program& program, Strictness strictness = Strictness::promised);

    /// Checks a whole program in a mode, optionally with one wait left out. Returns a race, or
    /// nullopt if all conflicting accesses are ordered.
    static std::optional<Race> check(const Program& program, Mode mode,
                                     Strictness strictness = Strictness::promised,
                                     WaitName left_out = {});

    // Step by step, for the generator:
    void wait(int stream, int other) { at(streams_, stream).join(at(streams_, other)); }
    void record(int event, int stream);
    void wait_event(int stream, int event);
    bool is_recorded(int event) const { return recorded_[static_cast<std::size_t>(event)]; }
    void enter_segment();
    /// Returns the operations that must precede a statement on this stream and are not ordered
    /// before it.
    std::vector<Point> missing(int stream, int from, int to) const;
    /// Adds an operation to the model, and notes a race if its order is missing.
    void access(int statement, int stream, int from, int to);
    void forget(int buffer);  ///< call when the buffer is freed or allocated
    void wait_here(int stream);
    void wait_here_event(int event);
    void look(int buffer);
    void copy_across(int statement, int stream, int other, int from, int to);
    void copy_here(int statement, int stream, int from, int to);
    /// Models work through an order by data that is current on `stream`; `order`: its streams' id.
    void by_data(int statement, int stream, int order, const Block& work);
    const Clock& clock(int stream) const { return streams_[static_cast<std::size_t>(stream)]; }
    const Clock& event_clock(int event) const { return events_[static_cast<std::size_t>(event)]; }
    /// Call it around the bodies of a condition.
    void set_in_body(bool in_body) { in_body_ = in_body; }
    void know_stream();  ///< call after adding a stream to the program

private:
    struct Buffer {
        std::optional<Point> write;
        std::vector<Point> reads;
    };

    void run(Mode mode);
    void barrier(int root);
    void block(const Block& block, int round);
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
    std::vector<bool> recorded_;  ///< whether each event was recorded in this segment
    std::vector<unsigned> given_;
    Clock host_, start_;
    std::vector<Buffer> buffers_;
    std::vector<int> current_;
    int current_device_ = 0;
    int root_ = 0;
    bool in_capture_ = false;
    bool in_body_ = false;
    /// The stream of the condition whose body is being modelled, or -1.
    int condition_ = -1;
    bool join_ = false;
    std::vector<int> to_join_;
    /// Work of earlier branches and leases, for each device.
    std::vector<Clock> branches_;
    std::optional<Race> race_;
};

}  // namespace heddle_test::programs
