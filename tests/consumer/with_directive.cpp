// A user's source that has a using-directive.
#include <heddle/heddle.hpp>

using namespace heddle;

float first_with_directive(Device device) {
    ScopedDevice on{device};
    const Array<float> x = full<float>(10, 3.0f);
    return to_host(x)[0];
}
