#include "asking.hpp"
#include "program.hpp"

namespace heddle_test::programs {

const char* to_string(Mode mode) {
    switch (mode) {
    case Mode::eager: return "eager";
    case Mode::named: return "named";
    case Mode::capture: return "capture";
    case Mode::update: return "update";
    case Mode::clone: return "clone";
    case Mode::nested: return "nested";
    default: return "batch";
    }
}

namespace {

std::string number(Word w) { return std::to_string(w); }
std::string s_(int stream) { return stream < 0 ? "stream" : "s" + std::to_string(stream); }
std::string x_(int buffer) { return "x" + std::to_string(buffer); }
std::string e_(int event) { return "e" + std::to_string(event); }

class Writer {
public:
    explicit Writer(const Program& p) : program_(p) {}

    void line(const std::string& text) {
        out_ += std::string(static_cast<std::size_t>(depth_) * 4, ' ') + text + "\n";
    }
    void open(const std::string& text) {
        line(text + " {");
        ++depth_;
    }
    void close(const std::string& text = "}") {
        --depth_;
        line(text);
    }

    void block(const Statements& block) {
        for (const Statement& s : block) statement(s);
    }

    std::string b(const Statement& s) {
        return number(s.b) + (s.varies != 0 ? " + " + number(s.varies) + " * round" : "");
    }
    /// Returns the text for the part of a buffer that a statement uses.
    std::string part(const Statement& s, int buffer) {
        const std::size_t n = extent(program_, s, 0);
        std::string text = x_(buffer);
        const bool shrinks = extent(program_, s, 1) != n;
        if (n != program_.buffers[static_cast<std::size_t>(buffer)].size || shrinks)
            text += ".first(" + std::to_string(n) +
                    (shrinks ? " - " + number(s.varies % 5) + " * round)" : ")");
        return text;
    }

    void work(const Statement& s, const std::string& prefix = "") {
        const std::string on = s.implicit ? "" : s_(s.stream) + ", ";
        const std::string to = part(s, s.to), from = s.from >= 0 ? part(s, s.from) : "";
        const std::string slow = s.slow != 0 ? ", slow " + std::to_string(s.slow) : "";
        std::string text = prefix;
        if (s.optional) text += "if (round % 3 != 1) ";
        if (s.algorithm) return line(text + algorithm(s, on, from, to) + note(s));
        switch (s.what) {
        case What::scale:
            text +=
                "launch(" + on + "Scale, " + to + ", " + number(s.a) + ", " + b(s) + slow + ");";
            break;
        case What::mix:
            text += "launch(" + on + "Mix, " + from + ", " + to + ", " + number(s.a) + ", " + b(s) +
                    slow + ");";
            break;
        case What::fill: text += "fill(" + on + to + ", " + b(s) + ");"; break;
        case What::copy: text += "copy(" + on + to + ", " + from + ");"; break;
        case What::copy_2d: text += "copy_2d(" + on + to + ", " + from + ");"; break;
        default:
            text += "launch_host(" + on + "[" + to + (s.from >= 0 ? ", " + from : "") + ", " +
                    number(s.a) + ", " + b(s) + slow + (s.owns ? ", owned" : "") + "]);";
        }
        line(text + note(s));
    }

    std::string algorithm(const Statement& s, const std::string& on, const std::string& from,
                          const std::string& to) {
        switch (which_algorithm(s)) {
        case AlgorithmKind::exclusive_scan:
            return "exclusive_scan(" + on + to + ", " + to + ", " + b(s) + ");";
        case AlgorithmKind::inclusive_scan: return "inclusive_scan(" + on + to + ", " + to + ");";
        case AlgorithmKind::sort: return "sort(" + on + to + ");";
        default: return "reduce(" + on + from + ", " + to + ".first(1), " + b(s) + ");";
        }
    }

    static std::string note(const Statement& s) {
        return "  // " + std::to_string(s.id) + (is_by_address(s) ? ", by address" : "") +
               (s.captures ? ", captures" : "") + (is_lent(s) ? ", lent" : "");
    }

    void statement(const Statement& s) {
        switch (s.what) {
        case What::wait_stream:
            line(s_(s.stream) + ".wait_stream(" + s_(s.other) + ");" + note(s));
            break;
        case What::record:
            line(s_(s.stream) + ".record_event(" + e_(s.event) + ");" + note(s));
            break;
        case What::wait_event:
            line(s_(s.stream) + ".wait_event(" + e_(s.event) + ");" + note(s));
            break;
        case What::mark:
            line(s_(s.stream) + ".wait_event(" + s_(s.other) + ".record_event());" + note(s));
            break;
        case What::set_current: line("set_stream(" + s_(s.stream) + ");" + note(s)); break;
        case What::copy_across:
            line("copy(" + part(s, s.to) + ", " + part(s, s.from) + ");" + note(s));
            break;
        case What::copy_here:
            line("copy(" + s_(s.stream) + ", " + part(s, s.to) + ", " + part(s, s.from) + ");" +
                 note(s));
            break;
        case What::scope:
            open(s.throws ? "try" : "");
            line("ScopedStream in(" + s_(s.stream) +
                 ", {.wait_on_enter = " + (s.wait_on_enter ? "true" : "false") +
                 ", .wait_on_exit = " + (s.wait_on_exit ? "true" : "false") + "});" + note(s));
            block(s.bodies[0]);
            if (s.throws) line("throw out;");
            close(s.throws ? "} catch (out) {}" : "}");
            break;
        case What::fork:
            open("fork_join(" + s_(s.stream) + ",");
            for (std::size_t i = 0; i < s.bodies.size(); ++i) {
                open("[&](StreamRef " + s_(s.streams[i]) + ")");
                block(s.bodies[i]);
                close("},");
            }
            close("});" + note(s));
            break;
        case What::temporary:
            open("");
            line("Stream " + s_(s.stream) + "(device " +
                 std::to_string(program_.streams[static_cast<std::size_t>(s.stream)].device) +
                 ");" + note(s));
            block(s.bodies[0]);
            close();
            break;
        case What::local:
            open("");
            line("Array " + x_(s.to) + " = full(" + s_(s.stream) + ", " +
                 std::to_string(program_.buffers[static_cast<std::size_t>(s.to)].size) + ", " +
                 number(s.b) + ");" + note(s));
            block(s.bodies[0]);
            close();
            break;
        case What::thread:
            open("std::thread([&]");
            block(s.bodies[0]);
            close("}).join();");
            break;
        case What::condition:
        case What::loop: {
            const bool loop = s.what == What::loop;
            line("launch(" + s_(s.stream) + ", Decide, " + x_(s.from) + ", " + x_(s.to) + ", " +
                 (loop ? "4" : "2") + ");");
            open((loop ? "capture_while(" : "capture_if(") + s_(s.stream) + ", " + x_(s.to) +
                 ", [&]");
            block(s.bodies[0]);
            if (loop) line("launch(" + s_(s.stream) + ", CountDown, " + x_(s.to) + ");");
            if (s.bodies.size() > 1) {
                close("}, [&] {");
                ++depth_;
                block(s.bodies[1]);
            }
            close("});" + note(s));
            break;
        }
        case What::fail:
            line((s.owns ? "launch_host(" : "launch(") + s_(s.stream) + ", fail);" + note(s));
            break;
        case What::captured:
            open("capture(" + s_(s.stream) + ",");
            block(s.bodies[0]);
            close("}) launched at the end; meanwhile {");
            ++depth_;
            block(s.bodies[1]);
            if (s.from >= 0) line("look at to_host(" + x_(s.from) + ") if nothing else captures;");
            close("}" + note(s));
            break;
        case What::graph:
            line("graph" + std::to_string(s.event) + ".launch(" + s_(s.stream) + ");" + note(s));
            break;
        case What::wait_here: line(s_(s.stream) + ".synchronize();" + note(s)); break;
        case What::wait_here_event: line(e_(s.event) + ".synchronize();" + note(s)); break;
        case What::wait_here_all:
            line("synchronize_device(of " + s_(s.stream) + ");" + note(s));
            break;
        case What::look: line("look at to_host(" + x_(s.from) + ");" + note(s)); break;
        case What::upload:
            line("copy(" + s_(s.stream) + ", " + x_(s.to) + ", pageable numbers of " + number(s.b) +
                 ");" + note(s));
            break;
        case What::download:
            line("copy(" + s_(s.stream) + ", pageable, " + x_(s.from) + "); look at it" + note(s));
            break;
        case What::make_anew:
            line(x_(s.to) + " = {}; " + x_(s.to) + " = full(" + s_(s.stream) + ", " + number(s.b) +
                 ");" + note(s));
            break;
        case What::ask:
            line("ask " + x_(s.from) + ": " + ways_to_ask()[s.a].name +
                 (ways_to_ask()[s.a].hears != Hears::users ? ", s = " + s_(s.stream) : "") +
                 note(s));
            break;
        case What::clear:
            line(s.owns ? "clear_errors(device of " + s_(s.stream) + ");" + note(s)
                        : s_(s.stream) + ".clear_error();" + note(s));
            break;
        case What::by_data:
            open("DataOrder on " + s_(s.stream) + ":" + note(s));
            block(s.bodies[0]);
            close();
            break;
        default: work(s);
        }
    }

    void program() {
        const Program& p = program_;
        line("// seed " + std::to_string(p.seed));
        for (std::size_t i = 0; i < p.streams.size(); ++i)
            if (p.streams[i].role == StreamRole::base)
                line("Stream s" + std::to_string(i) + "(" +
                     p.devices[static_cast<std::size_t>(p.streams[i].device)].name() +
                     (p.streams[i].priority != 0
                          ? ", priority " + std::to_string(p.streams[i].priority)
                          : "") +
                     ");");
        for (std::size_t i = 0; i < p.buffers.size(); ++i) {
            const BufferInfo& info = p.buffers[i];
            if (info.local) continue;
            line("Array x" + std::to_string(i) + "(" +
                 (info.space == Space::pinned
                      ? "pinned"
                      : p.devices[static_cast<std::size_t>(info.device)].name()) +
                 ", " + std::to_string(info.size) + (info.constant ? ", constant" : "") + ");");
        }
        for (std::size_t i = 0; i < p.graphs.size(); ++i) {
            open("Graph graph" + std::to_string(i) +
                 (p.graphs[i].captured ? " = captured" : " = nodes"));
            block(p.graphs[i].body);
            close();
        }
        for (const int s : p.current) line("current: " + s_(s));
        for (const Segment& segment : p.segments) {
            open("segment(root " + s_(segment.root) + ", " + std::to_string(segment.rounds) +
                 " rounds" + (segment.wait_on_enter ? "" : ", no wait_on_enter") +
                 (segment.join ? ", join" : "") + (segment.inside ? ", joined inside" : "") + ")");
            block(segment.body);
            close();
            block(segment.after);
        }
    }

    std::string take() { return std::move(out_); }

private:
    const Program& program_;
    std::string out_;
    int depth_ = 0;
};

}  // namespace

std::string text_of(const Program& p, const Statement& s) {
    Writer writer(p);
    writer.statement(s);
    return writer.take();
}

std::string text_of(const Program& p) {
    Writer writer(p);
    writer.program();
    return writer.take();
}

}  // namespace heddle_test::programs
