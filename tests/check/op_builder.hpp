// Builds lists of operations for the ordering checker, in the order of a program's calls.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "check/check_op.hpp"
#include "check/finding.hpp"
#include "check/shape.hpp"

namespace heddle_test {

using namespace heddle;  // NOLINT
using detail::CheckAccess;
using detail::CheckNode;
using detail::CheckOp;
using detail::CheckShape;
using detail::Finding;
using detail::FindingKind;
using detail::KnownOrder;

/// Memory at a made-up address.
struct Memory {
    std::uint64_t id = 0, data = 0, bytes = 0, pitch = 0;
    std::uint32_t rows = 1;

    Memory part(std::uint64_t offset, std::uint64_t size) const {
        return {id, data + offset, size, 0, 1};
    }
    Memory columns(std::uint64_t offset, std::uint64_t size, std::uint64_t apart,
                   std::uint32_t count) const {
        return {id, data + offset, size, apart, count};
    }
    /// Returns the same bytes, to be accessed by a plain pointer.
    Memory raw() const { return {0, data, bytes, pitch, rows}; }
};

CheckAccess access_to(const Memory& memory, AccessMode mode);
CheckAccess in(const Memory& memory);
CheckAccess out(const Memory& memory);
CheckAccess atomics(const Memory& memory);

using Accesses = std::vector<CheckAccess>;

/// An operation's place in the list, counted from 1. It is also the operation's site.
using Line = std::uint32_t;

class Program {
public:
    Program();
    Program(const Program& other);
    ~Program();

    struct StreamName {
        std::uint64_t id = 0;
    };
    struct EventName {
        std::uint64_t id = 0;
    };

    StreamName stream(std::uint32_t device = 0);
    EventName event();
    /// Returns memory that was allocated before the list's first operation.
    Memory array(std::uint64_t bytes = 100);

    /// Appends an operation of any kind.
    Line add(OpKind kind, StreamName stream, Accesses accesses = {});
    Line launch(StreamName stream, Accesses accesses);
    Line read(StreamName stream, const Memory& x);
    Line write(StreamName stream, const Memory& x);
    Line copy(StreamName stream, const Memory& to, const Memory& from);
    Line host_read(const Memory& x);
    Line host_write(const Memory& x);
    /// Appends a wait for the users of memory. Without a stream, the host waits.
    Line after_users(StreamName s, const Memory& x);
    Line used_on(StreamName s, const Memory& x);
    Line host_function(StreamName stream, Accesses accesses = {});
    std::uint64_t id_of(Line line) const;

    Line record(StreamName stream, EventName event);
    EventName record(StreamName stream);
    Line wait(StreamName stream, EventName event);
    Line wait_stream(StreamName stream, StreamName other, OpKind kind = OpKind::wait);
    Line elided_wait(StreamName stream, StreamName other);
    Line synchronize(StreamName stream);
    Line begin_synchronize(StreamName stream);
    Line synchronize(EventName event);
    Line synchronize_device(std::uint32_t device);
    Line end_synchronize();
    /// Appends a query that was answered with "complete".
    Line query(StreamName stream);
    Line query(EventName event);
    Memory allocate(StreamName stream, std::uint64_t bytes = 100);
    /// Allocates memory that belonged to another owner before.
    Memory allocate_at(StreamName stream, std::uint64_t data, std::uint64_t bytes = 100);
    Line free(StreamName stream, const Memory& x);

    Line event_op(OpKind kind, EventName event);
    Line collective(StreamName stream, std::uint64_t number, std::uint32_t share,
                    std::uint32_t shares, Accesses accesses);
    Line launch_graph(StreamName stream, std::vector<CheckNode> nodes, std::uint64_t graph = 0);
    Line launch_graph(StreamName stream, const std::shared_ptr<const CheckShape>& shape,
                      std::uint64_t graph = 0);
    Line send_batch(StreamName stream, std::uint64_t of_recording);
    std::uint64_t number();

    /// Returns the checker's findings for the list.
    std::vector<Finding> findings() const;
    /// Returns the list without the operation `line`.
    Program without(Line line) const;

    std::vector<CheckOp> ops;
    // These apply to the operations that are appended later.
    OpMode mode = OpMode::run;
    std::uint64_t recording = 0, parent = 0;
    std::uint32_t thread = 0;
    WaitReason reason = WaitReason::user;

private:
    struct EventNow {
        std::uint64_t records = 0, stream = 0, position = 0;
    };
    void set_target(EventName event);
    template <class F> Line begin_host_wait(F&& set);

    std::uint64_t ids_ = 1000, addresses_ = 1 << 20;
    std::map<std::uint64_t, std::uint64_t> positions_;
    std::map<std::uint64_t, std::uint32_t> devices_;
    std::map<std::uint64_t, EventNow> events_;
    std::map<std::uint32_t, CheckOp> waiting_;
};

/// A program with two streams and an array.
struct TwoStreams {
    Program p;
    Program::StreamName a = p.stream(), b = p.stream();
    Memory x = p.array();
};

CheckNode node(Accesses accesses, std::vector<std::uint32_t> after = {},
               OpKind kind = OpKind::launch);
CheckNode event_node(OpKind kind, Program::EventName event, std::vector<std::uint32_t> after = {});
CheckNode in_body(CheckNode made, std::uint32_t conditional, std::uint32_t alternative);

/// A finding without the details that most tests ignore.
struct Race {
    FindingKind kind;
    Line first, second;
    bool is_certain = true;
    bool operator==(const Race&) const = default;
};
using Races = std::vector<Race>;

std::ostream& operator<<(std::ostream& to, const Race& race);

Races races_of(const std::vector<Finding>& findings);
Races races(const Program& program);
bool is_silent(const Program& program);

}  // namespace heddle_test
