// Random programs as data: what streams, events and buffers there are, and statements in the order of the program.
#pragma once

#include <heddle/heddle.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle_test::programs {

using namespace heddle;

/// Elements are ints, as conditions are; they are counted with as numbers that wrap around.
using Word = std::uint32_t;

enum class Place : std::uint8_t { device, pinned, pageable };

struct BufferInfo {
    Place place = Place::device;
    int device = 0;  ///< index into Program::devices; of pinned memory without meaning
    std::size_t size = 0;
    bool constant = false;  ///< never written, so that other threads may read it at any time
    bool flag = false;      ///< one int, for conditions
    bool local = false;     ///< made and freed by one statement
};

enum class StreamRole : std::uint8_t {
    base,       ///< there from the beginning to the end
    temporary,  ///< made by a statement, and destroyed at its end with whatever is pending
    branch,     ///< of a fork_join
};

struct StreamInfo {
    int device = 0;
    StreamRole role = StreamRole::base;
    int priority = 0;
};

enum class What : std::uint8_t {
    // Work. `to` is written, `from` is read, `stream` runs it.
    scale,    ///< to = to * a + b, a kernel
    mix,      ///< to = to * a + from + b, a kernel
    fill,     ///< to = b
    copy,     ///< to = from, as many elements as both have
    copy_2d,  ///< the first half of each row of four
    host,     ///< a host function: to = to * a + b, and + from where there is one
    // Order.
    wait_stream,  ///< stream waits for other
    record,       ///< event, on stream
    wait_event,   ///< stream waits for event
    mark,         ///< stream waits for a new event of other, which is gone at once
    set_current,  ///< set_stream(stream), which waits for the one before
    copy_across,  ///< a copy between devices without a stream: on the current one of to, with both sides' in order
    // Statements with others in them.
    scope,      ///< a ScopedStream
    fork,       ///< a fork_join, each body a branch on streams[i]
    temporary,  ///< a stream that lives as long as the body
    local,      ///< an array that lives as long as the body
    thread,     ///< the body on another thread, which is joined at once
    condition,  ///< to = from % 2, then body 0 or 1
    loop,       ///< to = from % 4, then body 0 until the number is counted down
    graph,      ///< launch of Program::graphs[event]
    // Statements with which the host waits: between segments only.
    wait_here,        ///< for stream
    wait_here_event,  ///< for event
    wait_here_all,    ///< for the device of stream
    look,             ///< to_host(from), without a stream
    upload,           ///< to = numbers made of b, from pageable memory that is changed right afterwards
    download,         ///< from, to pageable memory
    copy_here,        ///< to = from, of which one is a pageable array that streams may still use
    make_anew,        ///< to is freed, and made again on stream
};

struct Statement {
    What what = What::scale;
    int id = 0;
    int stream = -1, other = -1;
    int from = -1, to = -1;
    int event = -1;
    Word a = 1, b = 0;
    int slow = 0;           ///< turns of an idle loop before the work
    bool implicit = false;  ///< the call names no stream: it means the current one
    bool owns = false;      ///< host functions: with a capture that has to be destroyed; arrays: given to one
    bool pooled = false;    ///< the stream is leased
    bool prepared = false;  ///< the launch is prepared in the first round, and changed in later ones
    bool wait_on_enter = true, wait_on_exit = false, throws = false;  ///< scopes
    bool optional = false;     ///< left out in every third round, where rounds may differ in shape
    Word varies = 0;           ///< times the number of the round is added to b, and taken from the size
    std::vector<int> streams;  ///< of the branches
    std::vector<std::vector<Statement>> bodies;
};

using Block = std::vector<Statement>;

/// What can be captured or recorded as a batch, several times, and what follows once.
struct Segment {
    int root = 0;  ///< the stream that is captured: current while the body runs
    bool wait_on_enter = true;
    int rounds = 1;
    bool join = false;    ///< captures: streams that do not come back are joined by heddle
    bool inside = false;  ///< batches: what joins the rounds is recorded too
    Block body;
    Block after;
};

/// A graph made before the program runs. Its statements are of one stream, whichever it is launched on.
struct GraphInfo {
    int device = 0;
    bool captured = true;  ///< else made of nodes
    Block body;
};

struct Program {
    std::uint64_t seed = 0;
    std::vector<Device> devices;
    std::vector<StreamInfo> streams;
    std::vector<BufferInfo> buffers;
    std::vector<int> events;   ///< their devices
    std::vector<int> current;  ///< the stream that is current on each device, to begin with
    std::vector<GraphInfo> graphs;
    std::vector<Segment> segments;
    int statements = 0;  ///< ids given so far
    bool mixed = false;  ///< CPU streams take part beside CUDA's
};

enum class Mode : std::uint8_t { eager, named, capture, update, clone, nested, batch };
inline constexpr Mode all_modes[] = {Mode::eager, Mode::named,  Mode::capture, Mode::update,
                                     Mode::clone, Mode::nested, Mode::batch};
const char* name_of(Mode mode);

inline bool captures(Mode mode) {
    return mode == Mode::capture || mode == Mode::update || mode == Mode::clone || mode == Mode::nested;
}
/// Whether rounds leave statements out: not where one graph has to fit them all.
inline bool changes_shape(Mode mode) { return !captures(mode); }
/// What is launched again is what was captured, with the numbers of that time.
inline int round_of(Mode mode, int round) { return captures(mode) && mode != Mode::update ? 0 : round; }
inline bool is_left_out(const Statement& s, Mode mode, int round) {
    return s.optional && changes_shape(mode) && round % 3 == 1;
}
inline Word added(const Statement& s, int round) { return s.b + s.varies * static_cast<Word>(round); }
/// The elements that a statement works on.
std::size_t extent(const Program& p, const Statement& s, int round);

inline bool is_work(What what) { return what <= What::host; }
/// What is waited for: how a wait is named that is left out. Scopes have two.
struct WaitName {
    int id = -1;
    int part = 0;
    bool operator==(const WaitName&) const = default;
};

/// A statement as it would be written.
std::string text_of(const Program& p, const Statement& s);
std::string text_of(const Program& p);

/// The program with the seed, for devices of one kind, with CPU streams beside them if they are CUDA's. The same on every machine with as many devices.
struct GeneratorOptions {
    int statements = 40;
    bool slow = true;         ///< some work takes long
    bool temporaries = true;  ///< streams come and go
    bool alone = true;  ///< no other thread captures meanwhile, so that the host may wait for whole devices
};
Program generate(std::uint64_t seed, const std::vector<Device>& devices, GeneratorOptions options = {});

}  // namespace heddle_test::programs
