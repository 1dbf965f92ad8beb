#include "internal.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

// OpenSSL 3 calls SHA1_Init and its like deprecated. They are the only way to copy a half-done hash without an
// allocation, which is what a MAC per packet needs.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

bool parlor_hmac_sha1(const void *key, size_t key_length, const void *data, size_t data_length, uint8_t out[20]) {
    if (key_length > INT32_MAX) return false;
    unsigned int written = 0;
    // HMAC() takes a NULL key for "the key of before", and an empty range may come as NULL.
    const void *given_key = key_length == 0 ? "" : key;
    return HMAC(EVP_sha1(), given_key, (int)key_length, data, data_length, out, &written) != NULL && written == 20;
}

bool parlor_sha256(const void *data, size_t data_length, uint8_t out[32]) {
    return SHA256(data_length == 0 ? (const void *)"" : data, data_length, out) != NULL;
}

bool parlor_equal_constant_time(const void *a, const void *b, size_t length) {
    return length == 0 || CRYPTO_memcmp(a, b, length) == 0;
}

bool parlor_random_bytes(void *out, size_t length) {
    if (length == 0) return true;
    return length <= INT32_MAX && RAND_bytes(out, (int)length) == 1;
}

void parlor_erase(void *bytes, size_t length) { OPENSSL_cleanse(bytes, length); }

void hmac_sha1_init(struct hmac_sha1 *hmac, const uint8_t key[20]) {
    uint8_t block[64];
    memset(block, 0x36, sizeof block);
    for (int i = 0; i < 20; i++) block[i] ^= key[i];
    SHA1_Init(&hmac->inner);
    SHA1_Update(&hmac->inner, block, sizeof block);
    memset(block, 0x5C, sizeof block);
    for (int i = 0; i < 20; i++) block[i] ^= key[i];
    SHA1_Init(&hmac->outer);
    SHA1_Update(&hmac->outer, block, sizeof block);
    OPENSSL_cleanse(block, sizeof block);
}

_Static_assert(sizeof(struct hmac_sha1) <= sizeof(struct parlor_hmac_key), "the public form has room for the state");
_Static_assert(_Alignof(struct hmac_sha1) <= _Alignof(struct parlor_hmac_key), "and its alignment");

bool parlor_hmac_key_init(struct parlor_hmac_key *out, const void *key, size_t length) {
    if (length > INT32_MAX) return false;
    uint8_t short_key[64] = {0};
    struct hmac_sha1 state;
    if (length > sizeof short_key) {
        // RFC 2104, section 2: a key longer than a block is hashed first.
        SHA1_Init(&state.inner);
        SHA1_Update(&state.inner, key, length);
        SHA1_Final(short_key, &state.inner);
    } else if (length > 0) {
        memcpy(short_key, key, length);
    }
    uint8_t block[64];
    for (size_t i = 0; i < sizeof block; i++) block[i] = short_key[i] ^ 0x36;
    SHA1_Init(&state.inner);
    SHA1_Update(&state.inner, block, sizeof block);
    for (size_t i = 0; i < sizeof block; i++) block[i] = short_key[i] ^ 0x5C;
    SHA1_Init(&state.outer);
    SHA1_Update(&state.outer, block, sizeof block);
    memset(out, 0, sizeof *out);
    memcpy(out, &state, sizeof state);
    OPENSSL_cleanse(short_key, sizeof short_key);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(&state, sizeof state);
    return true;
}

void parlor_hmac_sign(
    const struct parlor_hmac_key *key, const void *a, size_t a_length, const void *b, size_t b_length,
    uint8_t out[20]) {
    struct hmac_sha1 state;
    memcpy(&state, key, sizeof state);
    hmac_sha1_two(&state, a, a_length, b, b_length, out);
    OPENSSL_cleanse(&state, sizeof state);
}

void hmac_sha1_two(
    const struct hmac_sha1 *hmac, const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length,
    uint8_t out[20]) {
    uint8_t digest[20];
    SHA_CTX hash = hmac->inner;
    SHA1_Update(&hash, a, a_length);
    SHA1_Update(&hash, b, b_length);
    SHA1_Final(digest, &hash);
    hash = hmac->outer;
    SHA1_Update(&hash, digest, sizeof digest);
    SHA1_Final(out, &hash);
}
