// A gradient is written on a stream that the collective does not wait for.
#include <heddle/heddle.hpp>

#include <vector>

using namespace heddle;

int main() {
    const Stream back({.name = "back"}), share({.name = "share"});
    Array<float> gradient = zeros<float>(back, 1000), sum = zeros<float>(back, 1000);
    DeviceGroup group(std::vector<Device>{back.device()});
    const std::vector<StreamRef> streams{share};
    const std::vector<View<const float>> send{gradient};
    const std::vector<View<float>> receive{sum};
    synchronize();
    fill(back, gradient, 1.0f);
    group.all_reduce(streams, ReduceOp::sum, send, receive);
    back.synchronize();
    share.synchronize();
}
