// SHA-256 on a CPU, by OpenSSL's libcrypto.

#include "sha256.hpp"

#include <memory>
#include <stdexcept>

#include <openssl/evp.h>

namespace heddle::tool {
namespace {

void check(bool has_worked) {
    if (!has_worked) throw std::runtime_error("libcrypto cannot compute SHA-256");
}

/// Hashes messages, one after the other. libcrypto looks the algorithm up only once for all.
class Hasher {
public:
    Hasher() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
        check(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
    }
    void hash(const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
        EVP_MD_CTX* const context = context_.get();
        check(EVP_DigestInit_ex(context, nullptr, nullptr) == 1 &&
              EVP_DigestUpdate(context, data, size) == 1 &&
              EVP_DigestFinal_ex(context, digest, nullptr) == 1);
    }

private:
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

}  // namespace

void sha256(const std::uint8_t* data, std::size_t size, std::uint8_t* digest) {
    Hasher().hash(data, size, digest);
}

void sha256_blocks(const std::uint8_t* data, std::size_t count, std::uint8_t* digests) {
    Hasher hasher;
    for (std::size_t i = 0; i < count; ++i)
        hasher.hash(data + i * sha256_block_bytes, sha256_block_bytes, digests + i * sha256_bytes);
}

}  // namespace heddle::tool
