// The wait precedes the record: a wait for an event without a record waits for no work.
#include <heddle/heddle.hpp>

using namespace heddle;

int main() {
    const Stream load({.name = "load"}), work({.name = "work"});
    Array<int> x = zeros<int>(load, 1000);
    Event loaded(load.device());
    synchronize();
    fill(load, x, 1);
    work.wait_event(loaded);
    loaded.record(load);
    fill(work, x, 2);
    load.synchronize();
    work.synchronize();
}
