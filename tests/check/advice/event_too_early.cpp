// The event is recorded before the work that it should cover.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream load({.name = "load"}), work({.name = "work"});
    Array<int> x = zeros<int>(load, 1000);
    synchronize();
    const Event loaded = load.record_event();
    fill(load, x, 1);
    work.wait_event(loaded);
    fill(work, x, 2);
    load.synchronize();
    work.synchronize();
}
