#include "timeline/page/svg_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ostream>

#include "timeline/page/escape.hpp"
#include "timeline/page/look.hpp"

namespace heddle::detail {

namespace {

constexpr double letter = 6.2;  // approximate width of a letter, in pixels

const char* const style = R"(<style>
.heddle-timeline{font:11px system-ui,-apple-system,"Segoe UI",sans-serif}
.heddle-timeline text{fill:#1b242d}
.heddle-timeline .soft{fill:#56626e}
.heddle-timeline .head{font-weight:600}
.heddle-timeline .on{fill:#0d1319;pointer-events:none}
.heddle-timeline .in{text-anchor:middle;pointer-events:none}
.heddle-timeline .ground{fill:#fff}
.heddle-timeline .row{fill:#f2f5f7}
.heddle-timeline .range{fill:#dde3e8}
.heddle-timeline .grid{stroke:#dfe4e8}
.heddle-timeline .arrow{fill:none;stroke:#1b242d;stroke-width:1.5}
.heddle-timeline .tip{fill:#1b242d}
@media(prefers-color-scheme:dark){
.heddle-timeline text{fill:#dfe5eb}
.heddle-timeline .soft{fill:#9aa6b2}
.heddle-timeline .on{fill:#0d1319}
.heddle-timeline .ground{fill:#12171d}
.heddle-timeline .row{fill:#1a2129}
.heddle-timeline .range{fill:#303a44}
.heddle-timeline .grid{stroke:#2b343d}
.heddle-timeline .arrow{stroke:#dfe5eb}
.heddle-timeline .tip{fill:#dfe5eb}
}
)";

/// Counts the bytes that begin a character.
std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string px(double value) {
    std::array<char, 32> text{};
    const double rounded = std::round(value * 10) / 10;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded).ptr;
    return {text.data(), end};
}

double text_width(std::string_view text) { return letter * static_cast<double>(characters(text)); }

std::string fitted(std::string_view text, double pixels) {
    if (text_width(text) <= pixels) return xml_text(text);
    const double letters = pixels / letter;
    return letters < 4 ? "" : xml_text(shortened(text, static_cast<std::size_t>(letters)));
}

Moment nice_step(double least) {
    const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1.0))));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least) return static_cast<Moment>(factor * power);
    return static_cast<Moment>(10 * power);
}

void SvgWriter::begin(double width, double height, std::string_view title) {
    out_ << "<svg class=\"heddle-timeline\" xmlns=\"http://www.w3.org/2000/svg\" width=\""
         << px(width) << "\" height=\"" << px(height) << "\" viewBox=\"0 0 " << px(width) << ' '
         << px(height) << "\" role=\"img\" aria-label=\"" << xml_text(title) << "\">\n"
         << style;
    for (const Look& look : bar_looks())
        out_ << ".heddle-timeline ." << look.key << "{fill:" << look.colour << "}\n";
    out_ << "</style>\n<defs>\n";
    for (const Look& look : gap_looks())
        out_ << "<pattern id=\"heddle-" << look.key
             << "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                "patternTransform=\"rotate(45)\"><path fill=\""
             << look.colour << "\" opacity=\".1\" d=\"M0 0h6v6h-6z\"/><path fill=\"" << look.colour
             << "\" opacity=\".55\" d=\"M0 0h1.4v6h-1.4z\"/></pattern>\n";
    out_ << "</defs>\n";
}

void SvgWriter::end() { out_ << "</svg>\n"; }

void SvgWriter::text(double x, double y, std::string_view style_class, std::string_view escaped) {
    if (escaped.empty()) return;
    out_ << "<text x=\"" << px(x) << "\" y=\"" << px(y) << '"';
    if (!style_class.empty()) out_ << " class=\"" << style_class << '"';
    out_ << '>' << escaped << "</text>\n";
}

void SvgWriter::rect(std::string_view attributes, double x0, double x1, double y, double height,
                     std::string_view title) {
    out_ << "<rect " << attributes << " x=\"" << px(x0) << "\" y=\"" << px(y) << "\" width=\""
         << px(std::max(x1 - x0, 0.6)) << "\" height=\"" << px(height) << '"';
    if (title.empty()) out_ << "/>\n";
    else out_ << "><title>" << xml_text(title) << "</title></rect>\n";
}

void SvgWriter::vertical_line(double x, double y0, double y1) {
    out_ << "<path class=\"grid\" d=\"M" << px(x) << ' ' << px(y0) << 'V' << px(y1) << "\"/>\n";
}

void SvgWriter::arrow(double x0, double y0, double x1, double y1) {
    const double neck = y1 + (y1 > y0 ? -5 : 5), middle = (y0 + y1) / 2;
    out_ << "<path class=\"arrow\" d=\"M" << px(x0) << ' ' << px(y0) << 'C' << px(x0) << ' '
         << px(middle) << ' ' << px(x1) << ' ' << px(middle) << ' ' << px(x1) << ' ' << px(neck)
         << "\"/><path class=\"tip\" d=\"M" << px(x1 - 3.5) << ' ' << px(neck) << "h7L" << px(x1)
         << ' ' << px(y1) << "z\"/>\n";
}

}  // namespace heddle::detail
