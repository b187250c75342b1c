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

}  // namespace

TEST_CASE("a tensor with strides that an array cannot have is refused") {
    Foreign foreign;
    SECTION("not contiguous") {
        foreign.strides = {10, 1};
        CHECK(is_refused(foreign, "is not contiguous"));
    }
    SECTION("transposed") {
        foreign.strides = {1, 3};
        CHECK(is_refused(foreign, "is not contiguous"));
    }
    SECTION("backwards") {
        foreign.strides = {-4, 1};
        CHECK(is_refused(foreign, "is not contiguous"));
    }
    SECTION("a negative size") {
        foreign.shape = {-3, -4};
        CHECK(is_refused(foreign, "a dimension of the tensor has -3 elements"));
    }
    SECTION("too many elements") {
        foreign.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
        foreign.strides.clear();
        CHECK(is_refused(foreign, "more elements than can be addressed"));
    }
}

TEST_CASE("a tensor of other elements, of another place or a read-only one is refused") {
    Foreign foreign;
    SECTION("read-only") {
        foreign.flags = 1;
        CHECK(is_refused(foreign, "read-only"));
    }
    SECTION("another type") {
        foreign.code = 2;
        CHECK(is_refused(foreign, "type code 2, 32 bits"));
    }
    SECTION("another size") {
        foreign.bits = 64;
        CHECK(is_refused(foreign, "64 bits"));
    }
    SECTION("lanes") {
        foreign.lanes = 4;
        CHECK(is_refused(foreign, "4 lanes"));
    }
    SECTION("managed memory") {
        foreign.device_type = 13;
        CHECK(is_refused(foreign, "managed memory"));
    }
    SECTION("another kind of device") {
        foreign.device_type = 10;
        CHECK(is_refused(foreign, "type 10"));
    }
    SECTION("not aligned") {
        foreign.byte_offset = 2;
        CHECK(is_refused(foreign, "not a multiple of 4 bytes"));
    }
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
