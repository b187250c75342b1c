// Tensors that from_dlpack() refuses. Their deleters are called immediately.
#include "memory/foreign_tensor.hpp"
#include "support.hpp"

#include <string>

using namespace heddle_test;

namespace {

/// Imports the tensor. Expects an error that contains `text`, and that the deleter has been called.
bool is_refused(Foreign& foreign, const std::string& text) {
    const Stream s(cpu_device());
    const int before = foreign.ended();
    const auto error = error_of([&] { (void)from_dlpack<int>(s, foreign.tensor()); });
    if (!mentions(error, text)) UNSCOPED_INFO((error ? error->what() : "no error"));
    return mentions(error, text) && error->code() == ErrorCode::usage &&
           foreign.ended() == before + 1;
}

struct Change {
    const char *name, *text;
    void (*apply)(Foreign&);
};

/// Checks that each change makes a tensor that is refused with its text.
void check_refused(std::initializer_list<Change> changes) {
    for (const Change& one : changes) {
        INFO(one.name);
        Foreign foreign;
        one.apply(foreign);
        CHECK(is_refused(foreign, one.text));
    }
}

}  // namespace

TEST_CASE("a tensor with strides that an array cannot have is refused") {
    check_refused({{"not contiguous", "is not contiguous", [](Foreign& f) { f.strides = {10, 1}; }},
                   {"transposed", "is not contiguous", [](Foreign& f) { f.strides = {1, 3}; }},
                   {"backwards", "is not contiguous", [](Foreign& f) { f.strides = {-4, 1}; }},
                   {"a negative size", "a dimension of the tensor has -3 elements",
                    [](Foreign& f) { f.shape = {-3, -4}; }},
                   {"too many elements", "more elements than can be addressed", [](Foreign& f) {
                        f.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
                        f.strides.clear();
                    }}});
}

TEST_CASE("a tensor of other elements, of another place or a read-only one is refused") {
    check_refused(
        {{"read-only", "read-only", [](Foreign& f) { f.flags = 1; }},
         {"another type", "type code 2, 32 bits", [](Foreign& f) { f.code = 2; }},
         {"another size", "64 bits", [](Foreign& f) { f.bits = 64; }},
         {"lanes", "4 lanes", [](Foreign& f) { f.lanes = 4; }},
         {"managed memory", "managed memory", [](Foreign& f) { f.device_type = 13; }},
         {"another kind of device", "type 10", [](Foreign& f) { f.device_type = 10; }},
         {"not aligned", "not a multiple of 4 bytes", [](Foreign& f) { f.byte_offset = 2; }}});
}

TEST_CASE("of an unknown version only the deleter is called") {
    Foreign foreign;
    auto* const tensor = foreign.tensor();
    tensor->major = 2;
    tensor->flags = ~std::uint64_t{0};
    tensor->tensor = {};
    const Stream s(cpu_device());
    CHECK(mentions(error_of([&] { (void)from_dlpack<int>(s, tensor); }), "DLPack version 2.0"));
    CHECK(foreign.ended() == 1);
    CHECK(mentions(
        error_of([&] { (void)from_dlpack<int>(s, static_cast<DLManagedTensor*>(nullptr)); }),
        "the tensor is null"));
}

TEST_CASE("a tensor with elements has an address") {
    Foreign foreign;
    auto* const tensor = foreign.tensor();
    tensor->tensor.data = nullptr;
    const Stream s(cpu_device());
    CHECK(mentions(error_of([&] { (void)from_dlpack<int>(s, tensor); }), "its address is null"));
    CHECK(foreign.ended() == 1);
}

TEST_CASE("a stream that does not exist takes no tensor") {
    Foreign foreign;
    CHECK(error_of([&] { (void)from_dlpack<int>(StreamRef(), foreign.tensor()); }));
    CHECK(foreign.ended() == 1);
}
