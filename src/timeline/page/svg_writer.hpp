// Writes the elements of an SVG picture.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the number with one digit behind the point, if it needs it.
std::string px(double value);

/// Returns text for XML: as much as fits into that many pixels, or nothing if that is too little.
std::string fitted(std::string_view text, double pixels);
/// About the width of a text in the picture's font.
double text_width(std::string_view text);

/// Returns 1, 2 or 5 times a power of ten: the least that is not below `least`.
Moment nice_step(double least);

class SvgWriter {
public:
    explicit SvgWriter(std::ostream& out) : out_(out) {}

    /// Begins the picture: style sheet and hatchings.
    void begin(double width, double height, std::string_view title);
    void end();

    /// `escaped` is XML. Writes nothing if it is empty.
    void text(double x, double y, std::string_view style_class, std::string_view escaped);
    /// Writes a rectangle with a title, which may be empty and is not XML yet.
    void rect(std::string_view attributes, double x0, double x1, double y, double height,
              std::string_view title = {});
    void vertical_line(double x, double y0, double y1);
    /// Writes an arrow that ends vertically.
    void arrow(double x0, double y0, double x1, double y1);

private:
    std::ostream& out_;
};

}  // namespace heddle::detail
