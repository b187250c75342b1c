#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "timeline/file/trace_columns.hpp"
#include "timeline/file/trace_file.hpp"
#include "timeline/file/trace_sections.hpp"
#include "timeline/file/trace_tables.hpp"

namespace heddle::detail {

namespace {

// If this fails, a struct has a new field: add a column to trace_tables.hpp, and adapt the size
// here.
static_assert(sizeof(TraceDevice) == 32 && sizeof(TraceStream) == 24 && sizeof(TraceThread) == 4);
static_assert(sizeof(TraceAccess) == 56 && sizeof(TraceOp) == 176);
static_assert(sizeof(TraceNodeRun) == 32 && sizeof(TraceRange) == 24);
static_assert(sizeof(TraceNode) == 40 + sizeof(std::vector<std::uint32_t>));
static_assert(sizeof(TraceGraph) == 16 + sizeof(std::vector<TraceNode>));

template <class Row> std::string table_of(std::span<const Row> rows) {
    TableWriter table;
    for (const Row& row : rows) table.begin_row(), name_columns(table, row);
    return table.bytes();
}

/// Returns a table in which each row is predicted from the previous one.
template <class Row> std::string sequence_of(std::span<const Row> rows) {
    TableWriter table;
    const Row none{};
    const Row* before = &none;
    for (const Row& row : rows) {
        table.begin_row();
        name_columns(table, row, *before);
        before = &row;
    }
    return table.bytes();
}

/// Returns the strings' lengths as a table, preceded by the size of that table. The bytes of the
/// strings follow.
std::string text_of(std::span<const std::string> strings) {
    TableWriter lengths;
    for (const std::string& one : strings) lengths.begin_row(), lengths.number(one.size());
    const std::string table = lengths.bytes();
    std::string all;
    put_varint(all, table.size());
    all += table;
    for (const std::string& one : strings) all += one;
    return all;
}

/// The distinct rows of a table. Each row of the table has the index of the distinct row that
/// equals it.
struct DistinctRows {
    std::vector<TraceIndex> firsts;  ///< for each distinct row, an index in the table
    std::vector<TraceIndex> which;   ///< for each row of the table, an index in `firsts`
};

/// Finds the distinct rows. `values_of(i)` must return the RowValues of row i.
template <class ValuesOf> DistinctRows distinct_rows(std::size_t rows, ValuesOf values_of) {
    DistinctRows found;
    found.which.reserve(rows);
    std::size_t size = 16;
    while (size < 2 * rows) size *= 2;
    // A hash table that contains indices in `firsts`.
    std::vector<TraceIndex> slots(size, no_index);
    for (std::size_t i = 0; i < rows; ++i) {
        const RowValues values = values_of(i);
        std::size_t slot = values.hash() & (size - 1);
        while (slots[slot] != no_index && !(values_of(found.firsts[slots[slot]]) == values))
            slot = (slot + 1) & (size - 1);
        if (slots[slot] == no_index) {
            slots[slot] = static_cast<TraceIndex>(found.firsts.size());
            found.firsts.push_back(static_cast<TraceIndex>(i));
        }
        found.which.push_back(slots[slot]);
    }
    return found;
}

void write_ops(SectionWriter& file, const Trace& trace) {
    const DistinctRows distinct = distinct_rows(trace.ops.size(), [&](std::size_t i) {
        RowValues values;
        name_repeated_columns(values, trace.ops[i]);
        return values;
    });
    TableWriter repeated, own(full_column_of_ops);
    for (const TraceIndex first : distinct.firsts)
        repeated.begin_row(), name_repeated_columns(repeated, trace.ops[first]);
    OpHistory before(trace.streams.size(), trace.threads.size());
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        own.begin_row();
        own.near(distinct.which[i], next);
        next = std::uint64_t{distinct.which[i]} + 1;
        name_own_columns(own, trace.ops[i], before);
    }
    file.write("opre", repeated.bytes());
    file.write("ops ", own.bytes());
}

void write_accesses(SectionWriter& file, const Trace& trace) {
    const DistinctRows distinct = distinct_rows(trace.accesses.size(), [&](std::size_t i) {
        RowValues values;
        name_columns(values, trace.accesses[i]);
        return values;
    });
    TableWriter different, all;
    for (const TraceIndex first : distinct.firsts)
        different.begin_row(), name_columns(different, trace.accesses[first]);
    for (const TraceIndex one : distinct.which) all.begin_row(), all.number(one);
    file.write("acdi", different.bytes());
    file.write("accs", all.bytes());
}

void write_graphs(SectionWriter& file, const Trace& trace) {
    TableWriter graphs, nodes, edges;
    for (const TraceGraph& graph : trace.graphs) {
        graphs.begin_row();
        name_columns(graphs, graph, graph.nodes.size());
        for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
            nodes.begin_row();
            name_columns(nodes, graph.nodes[i], graph.nodes[i].after.size());
            for (const std::uint32_t one : graph.nodes[i].after)
                edges.begin_row(), edges.near(one, std::uint64_t{i} - 1);
        }
    }
    file.write("grph", graphs.bytes());
    file.write("node", nodes.bytes());
    file.write("edge", edges.bytes());
}

}  // namespace

void write_trace(std::ostream& to, const Trace& trace) {
    SectionWriter file(to);
    file.write("base", table_of(std::span(&trace, 1)));
    file.write("text", text_of(trace.strings));
    file.write("note", text_of(trace.notes));
    file.write("prog", text_of(std::span(&trace.program, 1)));
    file.write("devs", table_of(std::span(trace.devices)));
    file.write("strm", table_of(std::span(trace.streams)));
    file.write("thrd", table_of(std::span(trace.threads)));
    write_ops(file, trace);
    write_accesses(file, trace);
    write_graphs(file, trace);
    file.write("runs", sequence_of(std::span(trace.node_runs)));
    file.write("rang", sequence_of(std::span(trace.ranges)));
    file.write_end();
}

}  // namespace heddle::detail
