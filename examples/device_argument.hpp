// The command line of the examples: [DEVICE]. Without an argument, examples use the default device.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <heddle/heddle.hpp>

/// Returns the device that the first argument names. Exits on --help. Exits with status 2 if there
/// is no such device.
inline heddle::Device device_argument(int argc, char** argv, const char* usage = "[DEVICE]",
                                      heddle::Where where = {}) {
    if (argc > 1 && std::string_view(argv[1]) == "--help") {
        std::printf("usage: %s %s\nDEVICE is cpu, cuda or, with a number, cuda:1. Without it: "
                    "HEDDLE_DEVICE, "
                    "else the first GPU, else cpu.\n",
                    argv[0], usage);
        std::exit(0);
    }
    try {
        return argc > 1 ? heddle::Device(argv[1], where) : heddle::default_device();
    } catch (const heddle::Error& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        std::exit(2);
    }
}
