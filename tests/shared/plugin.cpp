// A plugin with hidden visibility, as a Python module has, that uses a shared libheddle. It shares
// types, exceptions and streams with the library.
#include <heddle/heddle.hpp>

#include <stdexcept>

namespace {

struct Twice {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<int> x) const { x[i] *= 2; }
};

bool gives_doubled() {
    const heddle::Stream s(heddle::Device("cpu"));
    heddle::Array<int> x = heddle::full<int>(s, 1000, 21);
    heddle::launch(s, Twice{}, heddle::dim(x.size()), x);
    for (const int one : heddle::to_host(s, x))
        if (one != 42) return false;
    return true;
}

bool catches_errors() {
    const heddle::Stream s(heddle::Device("cpu"));
    heddle::launch_host(s, [] { throw std::runtime_error("on purpose"); });
    try {
        s.synchronize();
        return false;
    } catch (const heddle::WorkFailed&) {}
    try {
        (void)heddle::Device("toaster");
        return false;
    } catch (const heddle::UsageError&) {
        return true;
    }
}

}  // namespace

/// Returns 0 if everything works.
extern "C" __attribute__((visibility("default"))) int plugin_run() {
    if (!gives_doubled()) return 1;
    return catches_errors() ? 0 : 2;
}
