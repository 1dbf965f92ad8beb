#include "internal.h"

#include <openssl/crypto.h>
#include <pthread.h>

// Fetched once: EVP_aes_...() would look the implementation up again, under a lock, for every key.
static pthread_once_t fetched = PTHREAD_ONCE_INIT;
static EVP_CIPHER *fetched_ctr;
static EVP_CIPHER *fetched_gcm128;
static EVP_CIPHER *fetched_gcm256;

static void fetch(void) {
    fetched_ctr = EVP_CIPHER_fetch(NULL, "AES-128-CTR", NULL);
    fetched_gcm128 = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    fetched_gcm256 = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
}

bool keyed_cipher_init(
    struct keyed_cipher *cipher, int32_t profile, bool sealing, const uint8_t *key, const uint8_t *auth,
    const uint8_t *salt) {
    pthread_once(&fetched, fetch);
    const EVP_CIPHER *kind = profile == PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 ? fetched_ctr
                             : profile == PARLOR_SRTP_AEAD_AES_128_GCM      ? fetched_gcm128
                                                                            : fetched_gcm256;
    if (kind == NULL) return false;
    memcpy(cipher->salt, salt, salt_length(profile));
    if (!is_gcm(profile)) hmac_sha1_init(&cipher->hmac, auth);
    cipher->context = EVP_CIPHER_CTX_new();
    if (cipher->context == NULL) return false;
    // Counter mode encrypts and decrypts alike. GCM's default IV length is the 12 bytes of RFC 7714.
    int encrypt = sealing || !is_gcm(profile) ? 1 : 0;
    return EVP_CipherInit_ex(cipher->context, kind, NULL, key, NULL, encrypt) == 1;
}

void keyed_cipher_free(struct keyed_cipher *cipher) {
    EVP_CIPHER_CTX_free(cipher->context);
    OPENSSL_cleanse(cipher, sizeof *cipher);
}

bool evp_counter(struct keyed_cipher *cipher, const uint8_t iv[16], uint8_t *bytes, size_t length) {
    if (length == 0) return true;
    int written = 0;
    return EVP_EncryptInit_ex(cipher->context, NULL, NULL, NULL, iv) == 1
           && EVP_EncryptUpdate(cipher->context, bytes, &written, bytes, (int)length) == 1 && written == (int)length;
}

bool evp_gcm_seal(
    struct keyed_cipher *cipher, const uint8_t iv[12], const uint8_t *a, size_t a_length, const uint8_t *b,
    size_t b_length, uint8_t *bytes, size_t length, uint8_t tag[16]) {
    EVP_CIPHER_CTX *context = cipher->context;
    int written = 0;
    if (EVP_EncryptInit_ex(context, NULL, NULL, NULL, iv) != 1) return false;
    if (EVP_EncryptUpdate(context, NULL, &written, a, (int)a_length) != 1) return false;
    if (b_length > 0 && EVP_EncryptUpdate(context, NULL, &written, b, (int)b_length) != 1) return false;
    if (length > 0 && EVP_EncryptUpdate(context, bytes, &written, bytes, (int)length) != 1) return false;
    if (EVP_EncryptFinal_ex(context, bytes + length, &written) != 1) return false;
    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1;
}

bool evp_gcm_open(
    struct keyed_cipher *cipher, const uint8_t iv[12], const uint8_t *a, size_t a_length, const uint8_t *b,
    size_t b_length, uint8_t *bytes, size_t length, const uint8_t tag[16]) {
    EVP_CIPHER_CTX *context = cipher->context;
    int written = 0;
    if (EVP_DecryptInit_ex(context, NULL, NULL, NULL, iv) != 1) return false;
    if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, (void *)(uintptr_t)tag) != 1) return false;
    if (EVP_DecryptUpdate(context, NULL, &written, a, (int)a_length) != 1) return false;
    if (b_length > 0 && EVP_DecryptUpdate(context, NULL, &written, b, (int)b_length) != 1) return false;
    if (length > 0 && EVP_DecryptUpdate(context, bytes, &written, bytes, (int)length) != 1) return false;
    return EVP_DecryptFinal_ex(context, bytes + length, &written) == 1;
}
