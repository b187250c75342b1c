// Random programs as data: their streams, events and buffers, and their statements in program
// order.
#pragma once

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle_test::programs {

using namespace heddle;

/// Elements are ints, and so are conditions. Arithmetic uses unsigned numbers, which wrap around.
using Word = std::uint32_t;

enum class Space : std::uint8_t { device, pinned, pageable };

struct BufferInfo {
    Space space = Space::device;
    int device = 0;  ///< index in Program::devices; unused for pinned memory
    std::size_t size = 0;
    bool constant = false;  ///< never written, so that other threads may read it at any time
    bool flag = false;      ///< whether it is a single int, for conditions
    bool local = false;     ///< whether one statement allocates and frees it
};

enum class StreamRole : std::uint8_t {
    base,  ///< exists as long as the program runs
    /// Exists during one statement. May be destroyed with pending work.
    temporary,
    branch,  ///< a branch of a fork_join
};

struct StreamInfo {
    int device = 0;
    StreamRole role = StreamRole::base;
    int priority = 0;
};

enum class What : std::uint8_t {
    // Statements that enqueue work on `stream`. The work writes `to` and reads `from`.
    scale,    ///< a kernel: to = to * a + b
    mix,      ///< a kernel: to = to * a + from + b
    fill,     ///< to = b
    copy,     ///< to = from, up to the smaller size
    copy_2d,  ///< copies the first half of each row of four
    host,     ///< a host function: to = to * a + b, plus `from` if set
    fail,     ///< a kernel, or a host function if `owns`: throws, and writes nothing
    // Statements that order streams:
    wait_stream,  ///< `stream` waits for `other`
    record,       ///< records `event` on `stream`
    wait_event,   ///< `stream` waits for `event`
    mark,         ///< `stream` waits for a new event of `other`, which is destroyed immediately
    set_current,  ///< set_stream(stream); it waits for the previous stream
    /// A copy between devices without a named stream. Runs on the destination's current stream, or
    /// on the source's if only the source is on CUDA. Is ordered with the work of both streams.
    copy_across,
    // Statements that contain other statements:
    scope,      ///< a ScopedStream
    fork,       ///< a fork_join; each body is a branch on one of `streams`
    temporary,  ///< a stream that exists while the body runs
    local,      ///< an array that exists while the body runs
    thread,     ///< runs the body on another thread, which is joined immediately
    condition,  ///< to = from % 2, then runs body 0 or 1
    loop,       ///< to = from % 4; then runs body 0 `to` times
    graph,      ///< launches Program::graphs[event]
    /// Captures body 0, which is work of `stream`, and launches the graph once on `stream`.
    /// Meanwhile, body 1 runs on streams outside the capture, and `from` is read.
    captured,
    // Statements that make the host wait. They are only used between segments:
    wait_here,        ///< waits for `stream`
    wait_here_event,  ///< waits for `event`
    wait_here_all,    ///< waits for the device of `stream`
    look,             ///< to_host(from), which names no stream
    /// to = numbers made from b, copied from pageable memory that is overwritten immediately.
    upload,
    download,  ///< copies `from` into pageable memory
    /// to = from. One of the two is a pageable array that streams may still use.
    copy_here,
    make_anew,  ///< frees `to`, and allocates it again on `stream`
    // Statements that only failing programs have:
    ask,    ///< reads the elements of `from`, in way `a` (asking.hpp)
    clear,  ///< stream.clear_error(); if `owns`, clear_errors() of its device
    /// Runs body 0 through a DataOrder that is current on `stream`. All of its work writes
    /// `to`, so work after a failure is dropped. `other` stands for the streams of the order.
    by_data,
};

struct Statement {
    What what = What::scale;
    int id = 0;
    int stream = -1, other = -1;
    int from = -1, to = -1;
    int event = -1;
    Word a = 1, b = 0;
    int slow = 0;           ///< iterations of a spin loop before the work
    bool implicit = false;  ///< the call names no stream, and uses the current one
    /// For a host function: captures an object that must be destroyed. For an array: is moved into
    /// a host function.
    bool owns = false;
    bool pooled = false;  ///< whether the stream is leased from a pool
    /// The launch is prepared in the first round, and updated in later rounds.
    bool prepared = false;
    bool captures = false;  ///< whether the function is a lambda that captures all that it uses
    /// Whether an algorithm does the work, instead of the kernel (which_algorithm()).
    bool algorithm = false;
    bool wait_on_enter = true, wait_on_exit = false, throws = false;  ///< for scopes
    bool optional = false;     ///< whether every third round leaves it out, if rounds may differ
    Word varies = 0;           ///< multiplied by the round; changes b and the size
    std::vector<int> streams;  ///< for a fork: the streams of the branches
    std::vector<std::vector<Statement>> bodies;
};

/// Returns whether the statement is a kernel or a host function.
inline bool is_function(const Statement& s) {
    return s.what == What::scale || s.what == What::mix || s.what == What::host;
}

/// Returns whether the statement is a copy or fill that receives addresses within its arrays
/// instead of views.
inline bool is_by_address(const Statement& s) {
    const bool may_be = s.what == What::fill || s.what == What::copy || s.what == What::copy_2d ||
                        s.what == What::copy_here || s.what == What::copy_across;
    return may_be && s.id % 3 == 0;
}

/// Returns whether the statement is a kernel or a host function that is enqueued while its stream
/// is lent: natively, where that is possible.
inline bool is_lent(const Statement& s) { return is_function(s) && s.id % 11 == 5; }

enum class AlgorithmKind : std::uint8_t {
    exclusive_scan,  ///< to[i] = b + to[0] + ... + to[i - 1]
    inclusive_scan,  ///< to[i] = to[0] + ... + to[i]
    sort,            ///< sorts `to`
    reduce,          ///< to[0] = b + the sum of `from`
};
/// Returns the algorithm of a statement with `algorithm`. A Scale has become one that changes `to`,
/// and a Mix has become a sum.
inline AlgorithmKind which_algorithm(const Statement& s) {
    if (s.what == What::mix) return AlgorithmKind::reduce;
    return static_cast<AlgorithmKind>(s.id / 4 % 3);
}
/// Returns whether an algorithm can do the work: in the form of a plain launch only.
inline bool may_be_algorithm(const Statement& s) {
    return (s.what == What::scale || s.what == What::mix) && s.id % 4 == 2 && s.slow == 0 &&
           !s.prepared && !s.captures && !is_lent(s);
}

using Statements = std::vector<Statement>;

/// A part of a program. Its body can be captured or batched, and run several times. After the body,
/// `after` runs once.
struct Segment {
    int root = 0;  ///< the captured stream; it is current while the body runs
    bool wait_on_enter = true;
    int rounds = 1;
    bool join = false;    ///< for captures: whether heddle joins the streams that are left open
    bool inside = false;  ///< for batches: whether the waits between rounds are recorded, too
    Statements body;
    Statements after;
};

/// A graph that is made before the program runs. Its statements run in order, on the stream of the
/// launch.
struct GraphInfo {
    int device = 0;
    bool captured = true;  ///< if false, it is built from nodes
    Statements body;
};

struct Program {
    std::uint64_t seed = 0;
    std::vector<Device> devices;
    std::vector<StreamInfo> streams;
    std::vector<BufferInfo> buffers;
    std::vector<int> events;   ///< by event: its device
    std::vector<int> current;  ///< by device: its current stream at the beginning
    std::vector<GraphInfo> graphs;
    std::vector<Segment> segments;
    int statements = 0;  ///< number of ids in use
    bool mixed = false;  ///< whether CPU streams take part, in addition to CUDA streams
    /// Whether work may fail. Then the result includes which streams are poisoned (failures.cpp).
    bool fails = false;
};

enum class Mode : std::uint8_t { eager, named, capture, update, clone, nested, batch };
inline constexpr Mode all_modes[] = {Mode::eager, Mode::named,  Mode::capture, Mode::update,
                                     Mode::clone, Mode::nested, Mode::batch};
const char* to_string(Mode mode);

inline bool captures(Mode mode) {
    return mode == Mode::capture || mode == Mode::update || mode == Mode::clone ||
           mode == Mode::nested;
}
/// Returns whether rounds may leave out statements. They must not if one graph serves all rounds.
inline bool changes_shape(Mode mode) { return !captures(mode); }
/// Returns the round from which a statement takes its constants and sizes when it runs in `round`.
/// A graph that is launched again uses those of the round in which it was captured.
inline int round_of(Mode mode, int round) {
    return captures(mode) && mode != Mode::update ? 0 : round;
}
inline bool is_left_out(const Statement& s, Mode mode, int round) {
    return s.optional && changes_shape(mode) && round % 3 == 1;
}
inline Word added(const Statement& s, int round) {
    return s.b + s.varies * static_cast<Word>(round);
}
/// Returns the number of elements that a statement uses.
std::size_t extent(const Program& p, const Statement& s, int round);

inline bool is_work(What what) { return what <= What::host; }
/// Identifies a wait that can be left out. A scope has two.
struct WaitName {
    int id = -1;
    int part = 0;
    bool operator==(const WaitName&) const = default;
};

/// Returns a statement, or a whole program, as source text.
std::string text_of(const Program& p, const Statement& s);
std::string text_of(const Program& p);

struct GeneratorOptions {
    int statements = 40;
    bool slow = true;         ///< whether some work is slow
    bool temporaries = true;  ///< whether streams are created and destroyed
    /// Whether no other thread captures meanwhile. Then the host may wait for whole devices.
    bool alone = true;
    /// Whether some work fails. Then nothing is captured, and the host never waits.
    bool failures = false;
};
/// Returns the program for a seed. The devices must be of one kind, except that a CPU device may
/// follow CUDA devices to add CPU streams. Equal devices produce the same program on every machine.
Program generate(std::uint64_t seed, const std::vector<Device>& devices,
                 GeneratorOptions options = {});

}  // namespace heddle_test::programs
