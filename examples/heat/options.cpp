#include "options.hpp"

#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace heat {

using namespace heddle;

namespace {

/// Reads what is on the command line, one word after the other.
class Words {
public:
    Words(int count, char** words) : words_(words + 1, words + count) {}
    bool empty() const { return next_ == words_.size(); }
    std::string_view next(const char* what) {
        if (empty()) throw WrongUsage(std::string(what) + " is missing");
        return words_[next_++];
    }
    template <class T> T number(std::string_view option, T least, T most) {
        const std::string_view word = next((std::string(option) + "'s number").c_str());
        T value{};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error == std::errc() && end == word.data() + word.size() && value >= least &&
            value <= most)
            return value;
        std::ostringstream text;
        text << option << " takes a number from " << least << " to " << most << ", not \"" << word
             << '"';
        throw WrongUsage(text.str());
    }

private:
    std::vector<std::string_view> words_;
    std::size_t next_ = 0;
};

/// "3" is the first three devices of the default one's kind; else names with commas between them.
std::vector<Device> devices_of(std::string_view word) {
    const DeviceKind kind = default_device().kind();
    const int there = device_count(kind);
    int count = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
    std::vector<Device> devices;
    if (error == std::errc() && end == word.data() + word.size()) {
        if (count < 1 || count > there)
            throw WrongUsage("--devices " + std::string(word) + ": there are " +
                             std::to_string(there) +
                             (kind == DeviceKind::cpu ? "; HEDDLE_CPU_DEVICES sets how many" : ""));
        for (int i = 0; i < count; ++i) devices.emplace_back(kind, i);
        return devices;
    }
    for (std::size_t begin = 0; begin <= word.size();) {
        const std::size_t comma = std::min(word.find(',', begin), word.size());
        devices.emplace_back(word.substr(begin, comma - begin));
        if (devices.back().kind() != devices.front().kind())
            throw WrongUsage("--devices: all of one kind, please");
        begin = comma + 1;
    }
    return devices;
}

}  // namespace

std::string usage() {
    return R"(Usage: example_14_heat [OPTION]...
Jacobi iterations on a plate, in strips over several devices.

  --size NX NY      points (512 512), 3 or more each
  --iterations N    how many (200)
  --norm-every N    take the norm in every Nth iteration (10); 0: never
  --tolerance X     stop soon after the norm has come below X
  --devices LIST    cpu:0,cpu:1, or how many (all of the default device's kind); the default device is HEDDLE_DEVICE's;
                    HEDDLE_CPU_DEVICES=4 makes 4 CPU devices
  --halo HOW        copy: halo rows are copied (default); direct: kernels store them in the neighbour's memory
  --serial          no overlap: edges and inside in one kernel, then the halos
  --graph N         iterations as graphs of N, an even number
  --runs N          the fastest of N runs counts (1)
  --check           compare with a run on one device, bit for bit, and small problems with a plain loop
  --input FILE      start from this image (PPM, its size is taken): red is hot, blue is cold
  --output FILE     write the result as such an image
  --json            print the result as JSON
  --help

GB/s are those of every point read once and written once in each iteration. "Of the speed of copying" is the
time of copying the grid as often, divided by the time taken: 1 is as fast as copying.

Exit status: 0; 1 when something failed, the check too; 2 for wrong usage.
)";
}

Options parse(int argc, char** argv) {
    Options o;
    bool sized = false;
    Words words(argc, argv);
    std::string_view devices;
    while (!words.empty()) {
        const std::string_view option = words.next("");
        if (option == "--size") {
            o.problem.nx = words.number<std::size_t>(option, 3, 1 << 20);
            o.problem.ny = words.number<std::size_t>(option, 3, 1 << 20);
            sized = true;
        } else if (option == "--iterations")
            o.course.iterations = words.number(option, 0, 1'000'000'000);
        else if (option == "--norm-every")
            o.course.norm_every = words.number(option, 0, 1'000'000'000);
        else if (option == "--tolerance") o.course.tolerance = words.number(option, 0.0, 1e300);
        else if (option == "--devices") devices = words.next("the list of --devices");
        else if (option == "--halo") {
            const std::string_view how = words.next("copy or direct");
            if (how != "copy" && how != "direct") throw WrongUsage("--halo is copy or direct");
            o.plan.direct = how == "direct";
        } else if (option == "--serial") o.plan.overlap = false;
        else if (option == "--graph") o.plan.graph = words.number(option, 2, 10'000);
        else if (option == "--runs") o.runs = words.number(option, 1, 1'000'000);
        else if (option == "--check") o.check = true;
        else if (option == "--input") o.input = words.next("the file of --input");
        else if (option == "--output") o.output = words.next("the file of --output");
        else if (option == "--json") o.json = true;
        else if (option == "--help") o.help = true;
        else throw WrongUsage("\"" + std::string(option) + "\" is no option");
    }
    if (o.help) return o;
    if (o.plan.graph % 2 != 0)
        throw WrongUsage("--graph needs an even number: the two halves of memory change places");
    if (sized && !o.input.empty()) throw WrongUsage("--size and --input: the image has a size");
    try {
        o.plan.devices = devices_of(
            devices.empty() ? std::to_string(device_count(default_device().kind())) : devices);
    } catch (const Error& error) {
        throw WrongUsage(error.what());
    }
    return o;
}

}  // namespace heat
