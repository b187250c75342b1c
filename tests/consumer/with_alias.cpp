// A user's source that writes hd::, as the guide does.
#include <heddle/heddle.hpp>

namespace hd = heddle;

float first_with_alias(hd::Device device) {
    hd::ScopedDevice on{device};
    const hd::Array<float> x = hd::full<float>(10, 3.0f);
    return hd::to_host(x)[0];
}
