// The texts of the files in page/web/. cmake/Embed.cmake generates their definitions.
#pragma once

#include <string_view>

namespace heddle::detail {

extern const std::string_view page_html, page_css;
extern const std::string_view columns_js, words_js, model_js, lanes_js, level_js, view_js, draw_js,
    arrows_js, dom_js, find_js, why_js, tables_js, input_js, main_js, start_js;

}  // namespace heddle::detail
