// SHA-256 on a CPU, by OpenSSL's libcrypto.

#include "sha256.hpp"

#include <memory>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace heddle::tool {
namespace {

void check(bool has_worked) {
    if (!has_worked) throw std::runtime_error("libcrypto cannot compute SHA-256");
}

/// Keeps libcrypto usable until the process ends: by default it cleans itself up at exit, before
/// heddle's workers have ended. The memory that it holds for them would then leak.
void start_libcrypto() {
    static const bool has_started = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) == 1;
    check(has_started);
}

/// Hashes messages, one after the other. libcrypto looks the algorithm up only once for all.
class Hasher {
public:
    Hasher() : context_(nullptr, EVP_MD_CTX_free) {
        start_libcrypto();
        context_.reset(EVP_MD_CTX_new());
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
