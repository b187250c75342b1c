// on_cuda PROGRAM ARGUMENT...: runs the program if there is a CUDA device. Otherwise prints the
// reason and exits with the status that CTest counts as skipped.
#include <heddle/device/device.hpp>

#include <unistd.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fputs("usage: on_cuda PROGRAM ARGUMENT...\n", stderr);
        return 2;
    }
    if (heddle::device_count(heddle::DeviceKind::cuda) == 0) {
        const std::string reason{heddle::cuda_unavailable_reason()};
        std::printf("skipped: a program on CUDA: no CUDA device: %s\n", reason.c_str());
        return 77;
    }
    execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    return 127;
}
