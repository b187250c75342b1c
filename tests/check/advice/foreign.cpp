// Memory that heddle does not own. Both operations declare that they use it.
#include <vector>

#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    std::vector<int> table(1000);
    const Stream make({.name = "make"}), use({.name = "use"});
    launch(
        make, [] HEDDLE_FN(std::size_t i, View<int> to) { to[i] = 1; }, dim(1000),
        View<int>(table));
    launch_host(use, signals_nothing([] {}), reads(View<int>(table)));
    use.synchronize();
    make.synchronize();
}
