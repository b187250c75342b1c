// Host functions: several CPU streams read a file at once, into pinned buffers for a device.
// Streams of the device wait for CPU streams, and CPU streams wait for the device. The main thread
// waits only at the end. Usage: example_05_host_functions [DEVICE [FILE]]
#include <heddle/heddle.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "device_argument.hpp"

namespace hd = heddle;

constexpr std::size_t block_bytes = 4096;  // number of bytes that one index adds up

struct SumBlock {
    HEDDLE_FN void operator()(std::size_t i, hd::View<const unsigned char> bytes,
                              hd::View<unsigned> sums) const {
        const std::size_t end =
            (i + 1) * block_bytes < bytes.size() ? (i + 1) * block_bytes : bytes.size();
        sums[i] = 0;
        for (std::size_t at = i * block_bytes; at < end; ++at) sums[i] += bytes[at];
    }
};

struct Reader {  // a CPU stream and its buffers
    hd::Stream stream;
    hd::Array<unsigned char> here, there;  // `here` is on the host (pinned), `there` on the device
    hd::Event copied;                      // completes when `here` may be overwritten
};

void read_piece(const std::string& path, std::size_t offset, unsigned char* to, std::size_t count) {
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    if (!file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count)))
        throw std::runtime_error("cannot read " +
                                 path);  // a failure poisons this and all waiting streams
}

int main(int argc, char** argv) {
    constexpr std::size_t piece = 64 * block_bytes;
    const hd::Device device = device_argument(argc, argv, "[DEVICE [FILE]]");
    const std::string path = argc > 2 ? argv[2] : "/proc/self/exe";
    std::ifstream file(path, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};  // the expected data

    const hd::Stream compute{device, {.name = "compute"}};
    std::vector<Reader> readers;
    for (int i = 0; i < 4; ++i)
        readers.push_back({hd::Stream(hd::Device("cpu"), {.name = "reader"}),
                           hd::pinned<unsigned char>(piece),
                           hd::empty<unsigned char>(compute, piece), hd::Event(device)});

    hd::Array<unsigned> sums =
        hd::zeros<unsigned>(compute, (content.size() + block_bytes - 1) / block_bytes);
    for (std::size_t offset = 0, p = 0; offset < content.size(); offset += piece, ++p) {
        Reader& reader = readers[p % readers.size()];
        const std::size_t count = std::min(piece, content.size() - offset),
                          blocks = (count + block_bytes - 1) / block_bytes;
        reader.stream.wait_event(reader.copied);  // the CPU stream waits for the device
        const auto here = reader.here.view().first(count);
        hd::launch_host(
            reader.stream, [=] { read_piece(path, offset, here.data(), count); }, hd::writes(here));
        compute.wait_stream(reader.stream);  // the device waits for the CPU stream
        hd::copy(compute, reader.there.view().first(count), here);
        compute.record_event(reader.copied);
        hd::launch(compute, SumBlock{}, hd::dim(blocks), reader.there.view().first(count),
                   sums.view().subview(offset / block_bytes, blocks));
    }

    std::size_t sum = 0, expected = 0;
    for (const unsigned s : hd::to_host(compute, sums)) sum += s;
    for (const char byte : content) expected += static_cast<unsigned char>(byte);
    std::printf("%s: the %zu bytes of %s add up to %zu\n", device.name().c_str(), content.size(),
                path.c_str(), sum);
    return sum == expected && !content.empty() ? 0 : 1;
}
