#include "timeline/page/page.hpp"

#include <ostream>
#include <sstream>

#include "timeline/page/escape.hpp"
#include "timeline/page/look.hpp"
#include "timeline/page/page_data.hpp"
#include "timeline/page/page_text.hpp"
#include "timeline/page/svg.hpp"

namespace heddle::detail {

namespace {

/// The page's scripts, in the order in which the page runs them. They share one scope.
constexpr const std::string_view* scripts[] = {
    &columns_js, &words_js, &model_js, &lanes_js,  &level_js, &view_js, &draw_js,  &arrows_js,
    &dom_js,     &find_js,  &why_js,   &tables_js, &input_js, &main_js, &start_js,
};

/// A text that replaces "@name@" in the page.
struct Part {
    std::string_view name;
    std::string text;
};

/// Writes the text with all parts inserted. Does not replace placeholders inside the parts.
void write_filled(std::ostream& out, std::string_view text, std::span<const Part> parts) {
    while (!text.empty()) {
        std::size_t at = std::string_view::npos;
        const Part* next = nullptr;
        for (const Part& part : parts)
            if (const std::size_t found = text.find(part.name); found < at) {
                at = found;
                next = &part;
            }
        out << text.substr(0, at);
        if (next == nullptr) return;
        out << next->text;
        text.remove_prefix(at + next->name.size());
    }
}

std::string all_scripts() {
    std::string text;
    for (const std::string_view* script : scripts) text += *script;
    return text;
}

std::string still_picture(const Trace& trace, const Solution& solution) {
    std::ostringstream svg;
    write_svg(svg, trace, solution, {});
    return std::move(svg).str();
}

}  // namespace

void write_page(std::ostream& out, const Trace& trace, const Solution& solution) {
    const Picture picture = picture_of(trace, solution);
    PageColumns columns;
    add_page_columns(columns, trace, solution, picture);
    const Part parts[] = {
        {"@title@", xml_text(trace.program)},
        {"@style@", ":root{" + look_variables() + "}\n" + std::string(page_css)},
        {"@still@", still_picture(trace, solution)},
        {"@head@", page_head(trace, solution, picture, columns)},
        {"@columns@", base64(columns.bytes())},
        {"@scripts@", all_scripts()},
    };
    write_filled(out, page_html, parts);
}

}  // namespace heddle::detail
