#include "timeline/page/page.hpp"

#include "catch.hpp"

#include <algorithm>
#include <sstream>

#include "core/base/utf8.hpp"
#include "timeline/page/escape.hpp"
#include "timeline/page/look.hpp"
#include "timeline/page/page_data.hpp"
#include "timeline/page_samples.hpp"
#include "timeline/solve/words.hpp"
#include "timeline/trace_builder.hpp"

using namespace heddle_test;
using detail::Picture;
using detail::PictureRow;

namespace {

std::string page_of(const Sample& sample) {
    std::ostringstream out;
    detail::write_page(out, sample.trace, sample.solution);
    return out.str();
}

/// Returns that part of the page which is between two texts.
std::string between(const std::string& page, std::string_view begin, std::string_view end) {
    const std::size_t from = page.find(begin) + begin.size();
    return page.substr(from, page.find(end, from) - from);
}

bool is_utf8(std::string_view text) {
    std::string escaped;
    detail::append_json(escaped, text);
    return count(escaped, "\ufffd") == count(text, "\ufffd");
}

}  // namespace

TEST_CASE("a page is one file that may load nothing", "[timeline]") {
    const std::string page = page_of(tiny_sample());
    CHECK_THAT(page, contains("default-src 'none'"));
    CHECK(count(page, "http") ==
          count(page, "http-equiv") + count(page, "http://www.w3.org/2000/svg"));
    for (const char* loads : {" src=", " href=", "@import", "url(http", "fetch(", "import("})
        CHECK(count(page, loads) == 0);
}

TEST_CASE("the parts of a page are all filled in", "[timeline]") {
    const std::string page = page_of(tiny_sample());
    for (const char* part : {"@title@", "@style@", "@still@", "@head@", "@columns@", "@scripts@"})
        CHECK(count(page, part) == 0);
    CHECK(count(page, "<noscript>") == 1);
    CHECK_THAT(between(page, "<noscript>", "</noscript>"), contains("<svg"));
    CHECK(page.ends_with("</html>\n"));
}

TEST_CASE("a page says in which bodies nodes are, and what was abandoned", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto graph = t.graph({"Choice", "No"});
    t.raw().graphs[graph].nodes[1].inside = 0;
    t.raw().graphs[graph].nodes[1].alternative = 1;
    t.node_ran(t.launch_graph(s, graph).called(0, 1).ran(5, 25), 1, 10, 15);
    for (const bool is_abandoned : {false, true}) {
        const auto lost = t.launch(s, is_abandoned ? "Lost" : "Open").called(30, 31);
        lost->mode = OpMode::batched;
        lost->recording = is_abandoned ? 4 : 5;
    }
    t.op(OpKind::abandon, no_index, "batch").called(31, 31)->recording = 4;
    Sample sample{t.trace(0, 40), {}};
    sample.solution = detail::solve(sample.trace);
    const std::string page = page_of(sample);
    CHECK_THAT(page, contains(R"("inside":[[],[0,1]])"));
    CHECK_THAT(page, contains(R"("modes":["run","captured","batched","abandoned"])"));
    CHECK(page_of(tiny_sample()).find("\"inside\"") == std::string::npos);
}

TEST_CASE("names cannot break out of a page", "[timeline]") {
    const std::string page = page_of(hostile_sample()), plain = page_of(tiny_sample());
    for (const char* tag :
         {"<script", "</script", "<style", "</style", "<noscript", "</noscript", "<!--", "<img"})
        CHECK(count(page, tag) == count(plain, tag));
    CHECK(count(page, "const page = {") == 1);  // a name that looks like a placeholder stays
    CHECK_THAT(between(page, "<title>", "</title>"), contains("&lt;/script&gt;"));
}

TEST_CASE("a page is UTF-8 without control characters", "[timeline]") {
    const std::string page = page_of(hostile_sample());
    CHECK(is_utf8(page));
    CHECK(std::ranges::none_of(page, [](char c) { return c >= 0 && c < ' ' && c != '\n'; }));
}

TEST_CASE("an empty recording makes a page", "[timeline]") {
    CHECK_THAT(page_of({}), contains("Nothing was recorded."));
}

TEST_CASE("a recording of one operation makes a page", "[timeline]") {
    SampleTrace t;
    t.launch(t.stream(""), "Hash", 5);
    const std::string head = between(page_of(solved(t, "one")), "id=\"head\">", "</script>");
    CHECK_THAT(head, contains(R"("label":"stream 1")"));
    CHECK_THAT(head, contains(R"(["opSite",0,1,1,"u8"])"));
}

TEST_CASE("calls whose times are not known are not shown", "[timeline]") {
    Sample sample = tiny_sample();
    for (detail::TraceOp& op : sample.trace.ops) op.call_begin = detail::unknown_moment;
    const Picture picture = detail::picture_of(sample.trace, sample.solution);
    CHECK(std::ranges::none_of(picture.rows, &PictureRow::is_thread));
    CHECK(is_utf8(page_of(sample)));
}

TEST_CASE("rows are the host's threads, then streams by device", "[timeline]") {
    const Sample sample = realistic_sample();
    const Picture picture = detail::picture_of(sample.trace, sample.solution);
    std::string rows;
    for (const PictureRow& row : picture.rows)
        rows += row.is_thread ? sample.trace.text(sample.trace.threads[row.index].name) + " | "
                              : detail::stream_text(sample.trace, row.index) + " " +
                                    std::to_string(row.device) + " | ";
    CHECK(rows == "main | reader | checks 0 | up 1 | main 1 | down 1 | up 2 | main 2 | down 2 | ");
}

TEST_CASE("streams on which nothing ran have no row, but are counted", "[timeline]") {
    const Sample sample = tiny_sample();
    const Picture picture = detail::picture_of(sample.trace, sample.solution);
    CHECK(picture.rows.size() == 3);
    CHECK(picture.empty_streams == 1);
}

TEST_CASE("calls and ranges that contain others get lanes of their own", "[timeline]") {
    Sample sample = tiny_sample();
    auto& ops = sample.trace.ops;
    ops[5].call_begin = ops[4].call_begin - 1;  // the last call contains the previous one
    const Picture picture = detail::picture_of(sample.trace, sample.solution);
    CHECK(picture.call_lanes[3] == 0);
    CHECK(picture.call_lanes[5] != picture.call_lanes[4]);
    CHECK(picture.rows[0].lanes == 2);
}

TEST_CASE("an index beside its base is a small number", "[timeline]") {
    CHECK(detail::relative_index(10, detail::no_index) == 0);
    CHECK(detail::relative_index(10, 7) == 3);
    CHECK(detail::relative_index(10, 10) == -1);
    CHECK(detail::relative_index(10, 12) == -3);
}

TEST_CASE("operations that differ in their times alone share a site", "[timeline]") {
    SampleTrace t;
    const auto s = t.stream("main", t.cuda_device(TraceClock::cupti));
    for (Moment i = 0; i < 100; ++i) t.launch(s, i % 2 == 0 ? "Hash" : "Reduce", 1'000 + i);
    CHECK_THAT(page_of(solved(t, "sites")), contains(R"(["siteName",0,2,)"));
}

TEST_CASE("gaps that lie between bars take next to no bytes", "[timeline]") {
    SampleTrace t;
    const auto s = t.stream("main", t.cuda_device(TraceClock::cupti));
    for (Moment i = 0; i < 1'000; ++i) {
        t.launch(s, "Hash", 1'000 + i % 7);
        t.compute(10'000);
    }
    Sample sample = solved(t, "gaps");
    std::erase_if(sample.solution.gaps, [](const detail::Gap& gap) {
        return gap.reason != detail::GapReason::launched_late;
    });
    detail::PageColumns columns;
    detail::add_row_columns(columns, sample.trace, sample.solution);
    const std::size_t with = columns.bytes().size();
    sample.solution.gaps.clear();
    detail::PageColumns without;
    detail::add_row_columns(without, sample.trace, sample.solution);
    CHECK(with - without.bytes().size() < 8'000);
}

TEST_CASE("a page takes few bytes for each operation", "[timeline]") {
    constexpr std::size_t count = 20'000;
    const std::size_t empty = page_of({}).size();
    CHECK(page_of(large_sample(count)).size() - empty <= 24 * count);
}
