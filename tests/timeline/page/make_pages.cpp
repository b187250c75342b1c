// Writes the pages that browser_test.mjs opens, the expected contents of one of them, and a
// picture. Usage: make_pages FOLDER.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "timeline/page/page.hpp"
#include "timeline/page/svg.hpp"
#include "timeline/page_samples.hpp"

using namespace heddle_test;

namespace {

void write(const std::filesystem::path& path, const Sample& sample) {
    const auto began = std::chrono::steady_clock::now();
    std::ofstream file(path, std::ios::binary);
    detail::write_page(file, sample.trace, sample.solution);
    file.close();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    std::printf("%s: %zu operations, %.2f MB, written in %.2f s\n", path.c_str(),
                sample.trace.ops.size(), double(std::filesystem::file_size(path)) / 1e6,
                seconds.count());
}

template <class Items, class F>
void list(std::ostream& out, const char* name, const Items& items, F f) {
    out << "\"" << name << "\": [";
    for (std::size_t i = 0; i < items.size(); ++i) {
        out << (i == 0 ? "[" : ", [");
        f(items[i]);
        out << ']';
    }
    out << ']';
}

std::int64_t signed_index(TraceIndex index) {
    return index == detail::no_index ? -1 : std::int64_t{index};
}

/// Writes the contents that the page should have, so that a test can compare them.
void write_expected(const std::filesystem::path& path, const Sample& sample) {
    std::ofstream out(path, std::ios::binary);
    const detail::Solution& solution = sample.solution;
    out << "{";
    list(out, "ops", sample.trace.ops, [&](const detail::TraceOp& op) {
        out << op.call_begin << ", " << op.call_end - op.call_begin << ", " << op.line << ", "
            << op.bytes << ", " << op.accesses;
    });
    out << ",\n";
    list(out, "bars", solution.bars, [&](const detail::Bar& bar) {
        out << bar.op << ", " << bar.stream << ", " << bar.lane << ", " << bar.start << ", "
            << bar.end;
    });
    out << ",\n";
    list(out, "gaps", solution.gaps, [&](const detail::Gap& gap) {
        out << gap.stream << ", " << gap.begin << ", " << gap.end << ", "
            << static_cast<int>(gap.reason) << ", " << signed_index(gap.op) << ", "
            << signed_index(gap.cause) << ", " << signed_index(gap.wait);
    });
    out << ",\n";
    list(out, "arrows", solution.arrows, [&](const detail::Arrow& arrow) {
        out << arrow.wait << ", " << signed_index(arrow.from) << ", " << signed_index(arrow.to)
            << ", " << arrow.from_end << ", " << arrow.to_start << ", " << arrow.held_up;
    });
    out << "}\n";
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "usage: make_pages FOLDER\n");
        return 2;
    }
    const std::filesystem::path folder = arguments[1];
    std::filesystem::create_directories(folder);
    write(folder / "tiny.html", tiny_sample());
    write(folder / "realistic.html", realistic_sample());
    write(folder / "hostile.html", hostile_sample());
    write(folder / "empty.html", {});
    write(folder / "million.html", large_sample(1'000'000));
    write_expected(folder / "realistic.json", realistic_sample());
    std::ofstream svg(folder / "realistic.svg", std::ios::binary);
    const Sample sample = realistic_sample();
    detail::write_svg(svg, sample.trace, sample.solution, {});
}
