#include "timeline/page/svg.hpp"

#include "catch.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "timeline/page/look.hpp"
#include "timeline/page/svg_clusters.hpp"
#include "timeline/page_samples.hpp"

using namespace heddle_test;
using detail::PictureCluster;
using detail::PictureLane;
using detail::SvgOptions;

namespace {

std::string svg_of(const Sample& sample, const SvgOptions& options = {}) {
    std::ostringstream out;
    detail::write_svg(out, sample.trace, sample.solution, options);
    return out.str();
}

/// Reads as much of XML as pictures need, and reports errors.
class XmlCheck {
public:
    explicit XmlCheck(std::string_view text) : rest_(text) {}

    /// Returns "" if the text is a single well-formed element. Otherwise returns the error.
    std::string problem() {
        while (!rest_.empty() && problem_.empty()) rest_.front() == '<' ? tag() : character();
        if (!open_.empty()) fail("not closed: " + open_.back());
        if (elements_ == 0) fail("empty");
        return problem_;
    }

private:
    void fail(const std::string& what) {
        if (problem_.empty()) problem_ = what + " at " + std::string(rest_.substr(0, 40));
    }
    std::string take_until(std::string_view ends) {
        const std::size_t end = std::min(rest_.find_first_of(ends), rest_.size());
        std::string taken(rest_.substr(0, end));
        rest_.remove_prefix(end);
        return taken;
    }
    bool skip(std::string_view text) {
        if (!rest_.starts_with(text)) return false;
        rest_.remove_prefix(text.size());
        return true;
    }
    void character() {
        if (rest_.front() == '&') {
            const std::string entity(rest_.substr(0, rest_.find(';') + 1));
            const std::set<std::string> known{"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
            if (!known.contains(entity)) fail("unknown entity");
        }
        const char c = rest_.front();
        if (c >= 0 && c < ' ' && c != '\n') fail("control character");
        if (open_.empty() && c != '\n') fail("text outside of the element");
        rest_.remove_prefix(1);
    }
    void attribute(std::set<std::string>& names) {
        const std::string name = take_until("= />");
        if (name.empty() || !names.insert(name).second) fail("no attribute, or twice: " + name);
        if (!skip("=\"")) return fail("no value");
        while (!rest_.empty() && rest_.front() != '"' && problem_.empty())
            rest_.front() == '<' ? fail("< in a value") : character();
        if (!skip("\"")) fail("no end of a value");
    }
    void tag() {
        skip("<");
        if (skip("/")) {
            const std::string name = take_until(">");
            if (open_.empty() || open_.back() != name) return fail("closes another: " + name);
            open_.pop_back();
            if (!skip(">")) fail("no end of a tag");
            return;
        }
        if (open_.empty() && ++elements_ > 1) return fail("a second element");
        open_.push_back(take_until(" />"));
        std::set<std::string> names;
        while (problem_.empty() && skip(" ")) attribute(names);
        if (skip("/>")) open_.pop_back();
        else if (!skip(">")) fail("no end of a tag");
    }
    std::string_view rest_;
    std::vector<std::string> open_;
    std::string problem_;
    int elements_ = 0;
};

std::string xml_problem(const std::string& xml) { return XmlCheck(xml).problem(); }

std::vector<PictureCluster> clusters_of_bars(std::vector<detail::PictureBar> bars, double width,
                                             std::size_t most) {
    const std::vector<PictureLane> lanes{{.bars = std::move(bars)}};
    const detail::TimeScale scale{.from = 0, .to = 1'000, .left = 0, .width = width};
    return detail::clusters_of(lanes, scale, most);
}

}  // namespace

TEST_CASE("the check of XML finds what is not well-formed", "[timeline]") {
    CHECK(xml_problem("<a b=\"c\">d<e/></a>\n").empty());
    for (const char* bad :
         {"", "<a>", "<a></b>", "<a b=c/>", "<a b=\"c/>", "<a>&x;</a>", "<a/><b/>", "<a b=\"<\"/>",
          "<a>\x01</a>", "<a b=\"1\" b=\"2\"/>", "x<a/>"})
        CHECK_FALSE(xml_problem(bad).empty());
}

TEST_CASE("pictures are well-formed, whatever names are", "[timeline]") {
    for (const Sample& sample : {Sample{}, tiny_sample(), realistic_sample(), hostile_sample()})
        CHECK(xml_problem(svg_of(sample)) == "");
}

TEST_CASE("an empty recording makes a picture that says so", "[timeline]") {
    CHECK_THAT(svg_of({}), contains("Nothing was recorded."));
}

TEST_CASE("a picture has a rectangle for each bar and call", "[timeline]") {
    const std::string svg = svg_of(tiny_sample());
    CHECK(count(svg, "<rect class=\"kernel\"") == 3 + 3 + 1);  // bars, calls and one in the legend
    CHECK(count(svg, "<rect class=\"copy-in\"") == 1 + 1 + 1);
    CHECK(count(svg, "<title>Hash, 30.0 \u00b5s</title>") == 1);
}

TEST_CASE("a picture has an arrow for each wait that held something up", "[timeline]") {
    CHECK(count(svg_of(tiny_sample()), "class=\"arrow\"") == 2);
    Sample sample = tiny_sample();
    for (detail::Arrow& arrow : sample.solution.arrows) arrow.held_up = false;
    CHECK(count(svg_of(sample), "class=\"arrow\"") == 0);
}

TEST_CASE("what bars and gaps say lies above the arrows", "[timeline]") {
    const std::string svg = svg_of(realistic_sample());
    const std::size_t last_arrow = svg.rfind("class=\"arrow\"");
    CHECK(last_arrow < svg.find("class=\"on\""));
    CHECK(last_arrow < svg.find("class=\"in\""));
}

TEST_CASE("gaps say why", "[timeline]") {
    const std::string svg = svg_of(tiny_sample());
    CHECK_THAT(svg, contains("<title>waited for host to device on up, "));
    CHECK_THAT(svg, contains(">waited for host to device on up"));
}

TEST_CASE("a gap names the device of what was waited for if that was another one", "[timeline]") {
    SampleTrace t;
    const auto a = t.stream("main", t.cuda_device(TraceClock::cupti));
    const auto b = t.stream("main", t.cuda_device(TraceClock::cupti));
    t.launch(a, "Hash", 90'000);
    t.wait_stream(b, a);
    t.launch(b, "Reduce", 90'000);
    CHECK_THAT(svg_of(solved(t, "devices")), contains(">waited for Hash on main of cuda:0 "));
}

TEST_CASE("the legend has what was drawn, and no more", "[timeline]") {
    const std::string svg = svg_of(tiny_sample());
    CHECK_THAT(svg, contains(">kernel</text>"));
    CHECK_THAT(svg, contains(">waited</text>"));
    CHECK(count(svg, ">collective</text>") == 0);
    CHECK(count(svg, ">queue full</text>") == 0);
}

TEST_CASE("a picture of a stretch has what lies in it", "[timeline]") {
    const Sample sample = tiny_sample();
    const detail::Bar& last = sample.solution.bars[2];
    const std::string svg = svg_of(sample, {.from = last.start, .to = last.end});
    CHECK(count(svg, "<title>Reduce, ") == 1);
    CHECK(count(svg, "<title>Clear, ") == 0);
    CHECK(xml_problem(svg) == "");
}

TEST_CASE("an empty stretch is refused", "[timeline]") {
    CHECK_THROWS(svg_of(tiny_sample(), {.from = 500, .to = 500}));
    CHECK_THROWS(svg_of(tiny_sample(), {.from = 500, .to = 400}));
}

TEST_CASE("a picture has no more rectangles than it may", "[timeline]") {
    const Sample sample = large_sample(20'000);
    for (const std::size_t most : {200u, 1'000u, 4'000u}) {
        const std::string svg = svg_of(sample, {.most_rectangles = most});
        CHECK(count(svg, "<title>") <= most);
        CHECK(count(svg, "<title>") > most / 20);
        CHECK(xml_problem(svg) == "");
    }
}

TEST_CASE("a picture is readable on dark ground", "[timeline]") {
    CHECK_THAT(svg_of(tiny_sample()), contains("@media(prefers-color-scheme:dark)"));
}

TEST_CASE("bars narrower than a pixel become a cluster with their share", "[timeline]") {
    using detail::BarClass;
    const auto clusters = clusters_of_bars({{0, 20, BarClass::kernel, 0},
                                            {40, 60, BarClass::kernel, 1},
                                            {400, 700, BarClass::copy, 2}},
                                           10, 100);
    REQUIRE(clusters.size() == 2);
    CHECK(clusters[0].bars == 2);
    CHECK(clusters[0].share == Approx(0.4));
    CHECK(clusters[1].bars == 1);
    CHECK(clusters[1].x0 == Approx(4));
    CHECK(clusters[1].x1 == Approx(7));
}

TEST_CASE("clusters are as coarse as they must be", "[timeline]") {
    std::vector<detail::PictureBar> bars;
    for (Moment i = 0; i < 1'000; i += 2)
        bars.push_back(
            {i, i + 1, i % 4 == 0 ? detail::BarClass::kernel : detail::BarClass::fill, 0});
    CHECK(clusters_of_bars(bars, 1'000, 1'000).size() == 500);
    const auto few = clusters_of_bars(bars, 1'000, 100);
    CHECK(few.size() <= 100);
    std::size_t all = 0;
    for (const PictureCluster& cluster : few) {
        all += cluster.bars;
        CHECK(cluster.share == Approx(0.5).margin(0.1));
    }
    CHECK(all == bars.size());
}

TEST_CASE("moments on an axis are as exact as its ticks", "[timeline]") {
    using detail::axis_words;
    CHECK(axis_words(0, 100) == "0");
    CHECK(axis_words(12'345'678, 1'000) == "12.346 ms");
    CHECK(axis_words(12'345'678, 1) == "12.345678 ms");
    CHECK(axis_words(5'000'000'000, 1'000'000'000) == "5 s");
}
