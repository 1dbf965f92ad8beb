#include "internal.h"

#include <openssl/crypto.h>

// RFC 3711, section 4.3.2: the labels.
enum { rtp_encryption = 0, rtp_authentication = 1, rtp_salting = 2, rtcp_encryption = 3, rtcp_authentication = 4, rtcp_salting = 5 };

/// RFC 3711, section 4.3.3: AES in counter mode from IV (label * 2^48 XOR master salt) * 2^16, with index DIV rate = 0.
static bool derive(
    EVP_CIPHER_CTX *context, const uint8_t salt[14], uint8_t label, uint8_t *out, size_t length) {
    uint8_t iv[16] = {0};
    memcpy(iv, salt, 14);
    iv[7] ^= label;
    memset(out, 0, length);
    int written = 0;
    return EVP_EncryptInit_ex(context, NULL, NULL, NULL, iv) == 1
           && EVP_EncryptUpdate(context, out, &written, out, (int)length) == 1;
}

bool parlor_srtp_derive(int32_t profile, const uint8_t *key, const uint8_t *salt, struct parlor_srtp_keys *out) {
    memset(out, 0, sizeof *out);
    if (profile < PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 || profile > PARLOR_SRTP_AEAD_AES_256_GCM) return false;
    out->profile = profile;
    out->has_master = true;
    memcpy(out->master_key, key, key_length(profile));
    // RFC 7714, section 11: the 96-bit salt of GCM is followed by 16 zero bits.
    memcpy(out->master_salt, salt, salt_length(profile));

    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (context == NULL) return false;
    // RFC 6188: the 256-bit profiles derive with AES-256.
    const EVP_CIPHER *kind = key_length(profile) == 32 ? EVP_aes_256_ctr() : EVP_aes_128_ctr();
    const uint8_t *master_salt = out->master_salt;
    bool done = EVP_EncryptInit_ex(context, kind, NULL, key, NULL) == 1
                && derive(context, master_salt, rtp_encryption, out->rtp_key, key_length(profile))
                && derive(context, master_salt, rtp_salting, out->rtp_salt, salt_length(profile))
                && derive(context, master_salt, rtcp_encryption, out->rtcp_key, key_length(profile))
                && derive(context, master_salt, rtcp_salting, out->rtcp_salt, salt_length(profile))
                && (is_gcm(profile)
                    || (derive(context, master_salt, rtp_authentication, out->rtp_auth, sizeof out->rtp_auth)
                        && derive(context, master_salt, rtcp_authentication, out->rtcp_auth, sizeof out->rtcp_auth)));
    EVP_CIPHER_CTX_free(context);
    if (!done) OPENSSL_cleanse(out, sizeof *out);
    return done;
}
