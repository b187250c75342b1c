// Writes the elements of an SVG picture.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the number with one digit after the point, if needed.
std::string px(double value);

/// Returns the text as XML, cut to fit the width in pixels. Returns "" if there is room for hardly
/// any letters.
std::string fitted(std::string_view text, double pixels);
/// Returns the approximate width of a text in the picture's font.
double text_width(std::string_view text);

/// Returns the smallest number that is at least `least` and is 1, 2 or 5 times a power of ten.
Moment nice_step(double least);

class SvgWriter {
public:
    explicit SvgWriter(std::ostream& out) : out_(out) {}

    /// Begins the picture: writes the style sheet and the hatchings.
    void begin(double width, double height, std::string_view title);
    void end();

    /// Writes a text. `escaped` must be XML. Writes nothing for an empty text.
    void text(double x, double y, std::string_view style_class, std::string_view escaped);
    /// Writes a rectangle with an optional title. `title` is plain text, which is converted to XML.
    void rect(std::string_view attributes, double x0, double x1, double y, double height,
              std::string_view title = {});
    void vertical_line(double x, double y0, double y1);
    /// Writes an arrow whose last part is vertical.
    void arrow(double x0, double y0, double x1, double y1);

private:
    std::ostream& out_;
};

}  // namespace heddle::detail
