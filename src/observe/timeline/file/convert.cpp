// Converts trace files to other formats.
#include <cerrno>
#include <fstream>
#include <string>

#include <heddle/observe/timeline_files.hpp>

#include "core/base/errors.hpp"
#include "timeline/file/output.hpp"
#include "timeline/file/trace_file.hpp"
#include "timeline/solve/solution.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::timeline {

namespace {

using detail::ErrorSite;
using detail::Stretch;

Stretch stretch_of(const ConvertOptions& options, const ErrorSite& site) {
    Stretch stretch;
    if (options.from) stretch.from = options.from->count();
    if (options.to) stretch.to = options.to->count();
    if (stretch.from > stretch.to)
        detail::usage_error(
            site, "the interval begins at {} and ends at {}: pass an end after the beginning",
            detail::duration_text(stretch.from), detail::duration_text(stretch.to));
    return stretch;
}

detail::Trace read(const std::string& trace_file, const ErrorSite& site) {
    errno = 0;
    std::ifstream file(trace_file, std::ios::binary);
    return detail::read_trace(file, trace_file, site);
}

}  // namespace

void convert(const std::string& trace_file, const std::string& output, ConvertOptions options,
             Where where) try {
    const ErrorSite site("timeline::convert", where);
    const Stretch stretch = stretch_of(options, site);
    detail::format_of(output, site);  // reports an unknown format before the long reading
    detail::write_output(read(trace_file, site), stretch, output, site);
} catch (...) {
    detail::rethrow_as_error("timeline::convert", where);
}

std::string summary(const std::string& trace_file, ConvertOptions options, Where where) try {
    const ErrorSite site("timeline::summary", where);
    const Stretch stretch = stretch_of(options, site);
    detail::Trace trace = read(trace_file, site);
    detail::cut_to(trace, stretch, site);
    return detail::summary_of(trace, detail::solve(trace));
} catch (...) {
    detail::rethrow_as_error("timeline::summary", where);
}

}  // namespace heddle::timeline
