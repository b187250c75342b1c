#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/format.hpp"
#include "timeline/file/trace_check.hpp"
#include "timeline/file/trace_columns.hpp"
#include "timeline/file/trace_file.hpp"
#include "timeline/file/trace_sections.hpp"
#include "timeline/file/trace_tables.hpp"

namespace heddle::detail {

namespace {

/// Reads the sections of one file.
class TraceReader {
public:
    explicit TraceReader(const std::vector<Section>& sections) : sections_(sections) {}

    /// Throws NoTrace if the file is not a whole trace of a readable version.
    Trace read() {
        try {
            return all();
        } catch (const BadTrace& problem) {
            throw NoTrace(detail::formatted("is damaged, or was written by a faulty version of "
                                            "heddle (section \"{}\": {}): record or copy it again",
                                            section_, problem.what()));
        }
    }

private:
    Trace all() {
        Trace trace;
        std::vector<Trace> once;
        read_table("base", once);
        if (!once.empty()) trace = std::move(once.front());
        trace.strings = read_text("text");
        trace.notes = read_text("note");
        for (const std::string& program : read_text("prog")) trace.program = program;
        read_table("devs", trace.devices);
        read_table("strm", trace.streams);
        read_table("thrd", trace.threads);
        read_ops(trace);
        read_accesses(trace);
        read_graphs(trace);
        read_sequence("runs", trace.node_runs);
        read_sequence("rang", trace.ranges);
        section_ = "all";
        check_trace(trace);
        return trace;
    }

    /// Returns a section's contents. Returns an empty table for a section that is missing because
    /// an older minor version wrote the file.
    std::string_view contents_of(std::string_view name) {
        section_ = name;
        for (const Section& one : sections_)
            if (one.name == name) return one.contents;
        static constexpr std::string_view empty_table("\0", 1);
        return empty_table;
    }

    template <class Row> void read_table(std::string_view name, std::vector<Row>& rows) {
        TableReader table(contents_of(name));
        rows.resize(table.rows());
        for (Row& row : rows) table.begin_row(), name_columns(table, row);
        table.finish();
    }

    template <class Row> void read_sequence(std::string_view name, std::vector<Row>& rows) {
        TableReader table(contents_of(name));
        rows.resize(table.rows());
        const Row none{};
        const Row* before = &none;
        for (Row& row : rows) {
            table.begin_row();
            name_columns(table, row, *before);
            before = &row;
        }
        table.finish();
    }

    std::vector<std::string> read_text(std::string_view name) {
        std::string_view rest = contents_of(name);
        const std::uint64_t size = take_varint(rest);
        if (size > rest.size()) throw BadTrace("its table is longer than the section");
        std::vector<std::string> strings;
        if (size == 0) return strings;
        TableReader lengths(rest.substr(0, size));
        rest.remove_prefix(size);
        strings.resize(lengths.rows());
        for (std::string& one : strings) {
            std::uint64_t length = 0;
            lengths.begin_row(), lengths.number(length);
            if (length > rest.size()) throw BadTrace("a string is longer than the section");
            one = rest.substr(0, length);
            rest.remove_prefix(length);
        }
        lengths.finish();
        return strings;
    }

    void read_ops(Trace& trace) {
        std::vector<TraceOp> repeated;
        TableReader table(contents_of("opre"));
        repeated.resize(table.rows());
        for (TraceOp& op : repeated) table.begin_row(), name_repeated_columns(table, op);
        table.finish();

        TableReader own(contents_of("ops "), full_column_of_ops);
        trace.ops.resize(own.rows());
        OpHistory before(trace.streams.size(), trace.threads.size());
        std::uint64_t next = 0;
        for (TraceOp& op : trace.ops) {
            own.begin_row();
            TraceIndex which = 0;
            own.near(which, next);
            next = std::uint64_t{which} + 1;
            op = row_of(repeated, which);
            name_own_columns(own, op, before);
        }
        own.finish();
    }

    void read_accesses(Trace& trace) {
        std::vector<TraceAccess> different;
        read_table("acdi", different);
        TableReader table(contents_of("accs"));
        trace.accesses.resize(table.rows());
        for (TraceAccess& access : trace.accesses) {
            TraceIndex which = 0;
            table.begin_row(), table.number(which);
            access = row_of(different, which);
        }
        table.finish();
    }

    void read_graphs(Trace& trace) {
        // Each graph has the numbers of its nodes and edges. These numbers divide the rows of the
        // next tables among the graphs.
        std::vector<std::uint64_t> nodes, edges;
        TableReader graph_table(contents_of("grph"));
        trace.graphs.resize(graph_table.rows());
        for (TraceGraph& graph : trace.graphs)
            graph_table.begin_row(), name_columns(graph_table, graph, nodes.emplace_back());
        graph_table.finish();

        TableReader node_table(contents_of("node"));
        std::size_t left = node_table.rows();
        for (std::size_t i = 0; i < trace.graphs.size(); ++i) {
            trace.graphs[i].nodes.resize(share_of(left, nodes[i]));
            for (TraceNode& node : trace.graphs[i].nodes)
                node_table.begin_row(), name_columns(node_table, node, edges.emplace_back());
        }
        if (left != 0) throw BadTrace("nodes belong to no graph");
        node_table.finish();

        TableReader edge_table(contents_of("edge"));
        left = edge_table.rows();
        const std::uint64_t* count = edges.data();
        for (TraceGraph& graph : trace.graphs)
            for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
                graph.nodes[i].after.resize(share_of(left, *count++));
                for (std::uint32_t& one : graph.nodes[i].after)
                    edge_table.begin_row(), edge_table.near(one, std::uint64_t{i} - 1);
            }
        if (left != 0) throw BadTrace("dependencies belong to no node");
        edge_table.finish();
    }

    template <class Row> static const Row& row_of(const std::vector<Row>& rows, TraceIndex index) {
        if (index >= rows.size()) throw BadTrace("a row repeats a row that does not exist");
        return rows[index];
    }
    /// Subtracts `count` rows from `left`. Throws BadTrace if fewer rows are left.
    static std::size_t share_of(std::size_t& left, std::uint64_t count) {
        if (count > left) throw BadTrace("a graph has more parts than the section contains");
        left -= static_cast<std::size_t>(count);
        return static_cast<std::size_t>(count);
    }

    const std::vector<Section>& sections_;
    std::string_view section_;
};

std::string all_of(std::istream& from, std::string_view name, const ErrorSite& site) {
    constexpr std::size_t first_step = 1 << 14;
    std::string all;
    if (from) errno = 0;
    do {
        const std::size_t size = all.size(), step = std::max(size, first_step);
        all.resize(size + step);
        from.read(all.data() + size, static_cast<std::streamsize>(step));
        all.resize(size + static_cast<std::size_t>(from.gcount()));
    } while (from);
    const int code = errno;
    // For a folder or another file that cannot be read, libc++ just reports the end of the file.
    if (from.bad() || (all.empty() && (!from.eof() || code != 0))) {
        coded_error(ErrorCode::native, site.with_native(code), "\"{}\" cannot be read: {}", name,
                    std::generic_category().message(code));
    }
    return all;
}

}  // namespace

Trace read_trace(std::istream& from, std::string_view name, const ErrorSite& site) {
    const std::string file = all_of(from, name, site);
    try {
        const std::vector<Section> sections = sections_of(file);
        return TraceReader(sections).read();
    } catch (const NoTrace& problem) {
        usage_error(site, "\"{}\" {}", name, problem.what());
    }
}

}  // namespace heddle::detail
