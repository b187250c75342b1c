#include "shrink.hpp"

#include "model.hpp"

namespace heddle_test::programs {

namespace {

/// Collects a block and all blocks within it. An outer block precedes inner ones.
void collect(Statements& block, std::vector<Statements*>& blocks) {
    blocks.push_back(&block);
    for (Statement& s : block)
        for (Statements& body : s.bodies) collect(body, blocks);
}

std::vector<Statements*> blocks_of(Program& p) {
    std::vector<Statements*> blocks;
    for (Segment& segment : p.segments) {
        collect(segment.body, blocks);
        collect(segment.after, blocks);
    }
    return blocks;
}

class Shrinker {
public:
    Shrinker(Program program, Mode mode, const std::function<bool(const Program&)>& fails)
        : best_(std::move(program)), mode_(mode), fails_(fails) {}

    Program run() {
        for (bool better = true; better;) {
            better = segments();
            better = statements(8) || better;
            better = statements(1) || better;
            better = rounds() || better;
        }
        return std::move(best_);
    }

private:
    bool take(const Program& candidate) {
        if (Model::check(candidate, mode_) || !fails_(candidate)) return false;
        best_ = candidate;
        return true;
    }

    bool segments() {
        bool better = false;
        for (std::size_t i = best_.segments.size(); i-- > 0;) {
            Program candidate = best_;
            candidate.segments.erase(candidate.segments.begin() + static_cast<std::ptrdiff_t>(i));
            better = (!candidate.segments.empty() && take(candidate)) || better;
        }
        return better;
    }

    /// Leaves out `many` adjacent statements at a time. Begins at the end of the program.
    bool statements(std::size_t many) {
        bool better = false;
        for (std::size_t b = blocks_of(best_).size(); b-- > 0;) {
            if (b >= blocks_of(best_).size()) continue;
            for (std::size_t end = blocks_of(best_)[b]->size(); end > 0;) {
                const std::size_t begin = end > many ? end - many : 0;
                Program candidate = best_;
                Statements& block = *blocks_of(candidate)[b];
                block.erase(block.begin() + static_cast<std::ptrdiff_t>(begin),
                            block.begin() + static_cast<std::ptrdiff_t>(end));
                better = take(candidate) || better;
                end = begin;
            }
        }
        return better;
    }

    bool rounds() {
        bool better = false;
        for (std::size_t i = 0; i < best_.segments.size(); ++i) {
            if (best_.segments[i].rounds == 1) continue;
            Program candidate = best_;
            --candidate.segments[i].rounds;
            better = take(candidate) || better;
        }
        return better;
    }

    Program best_;
    Mode mode_;
    const std::function<bool(const Program&)>& fails_;
};

}  // namespace

Program shrunken(Program program, Mode mode, const std::function<bool(const Program&)>& fails) {
    return Shrinker(std::move(program), mode, fails).run();
}

}  // namespace heddle_test::programs
