#ifndef PARLOR_CCRYPTO_INTERNAL_H
#define PARLOR_CCRYPTO_INTERNAL_H

// What the C files of this target share. Never seen by Swift.

#include "CCrypto.h"

#include <string.h>

#include <openssl/evp.h>
#include <openssl/sha.h>

#if defined(__x86_64__) && __has_include(<intel-ipsec-mb.h>)
#define PARLOR_HAS_MULTI_BUFFER 1
#include <intel-ipsec-mb.h>
#else
#define PARLOR_HAS_MULTI_BUFFER 0
#endif

enum {
    rtp_fixed_header = 12,
    rtcp_header = 8,
    srtcp_index_length = 4,
    /// Longer than any UDP payload; keeps all lengths within int.
    longest_packet = 65535,
};

static inline bool is_gcm(int32_t profile) { return profile != PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80; }
static inline size_t key_length(int32_t profile) { return profile == PARLOR_SRTP_AEAD_AES_256_GCM ? 32 : 16; }
static inline size_t salt_length(int32_t profile) { return is_gcm(profile) ? 12 : 14; }
static inline size_t tag_length(int32_t profile) { return is_gcm(profile) ? 16 : 10; }

static inline void put32(uint8_t *at, uint32_t value) {
    at[0] = (uint8_t)(value >> 24);
    at[1] = (uint8_t)(value >> 16);
    at[2] = (uint8_t)(value >> 8);
    at[3] = (uint8_t)value;
}

static inline uint32_t get32(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/// RFC 3711, section 4.1.1: IV = (salt * 2^16) XOR (SSRC * 2^64) XOR (index * 2^16). For SRTCP the index has 31 bits.
static inline void counter_iv(uint8_t iv[16], const uint8_t salt[14], uint32_t ssrc, uint64_t index) {
    uint8_t x[16] = {0};
    put32(x + 4, ssrc);
    put32(x + 8, (uint32_t)(index >> 16));
    x[12] = (uint8_t)(index >> 8);
    x[13] = (uint8_t)index;
    for (int i = 0; i < 14; i++) iv[i] = x[i] ^ salt[i];
    iv[14] = iv[15] = 0;
}

/// RFC 7714, section 8.1: 00 00, SSRC, ROC, SEQ, each XOR salt. Section 9.1 for SRTCP: 00 00, SSRC, 00 00, index; with
/// an index below 2^32 in the place of ROC and SEQ that is the same. `iv` has 16 bytes; 12 are used.
static inline void gcm_iv(uint8_t iv[16], const uint8_t salt[12], uint32_t ssrc, uint64_t index) {
    uint8_t x[12] = {0};
    put32(x + 2, ssrc);
    x[6] = (uint8_t)(index >> 40);
    x[7] = (uint8_t)(index >> 32);
    put32(x + 8, (uint32_t)index);
    for (int i = 0; i < 12; i++) iv[i] = x[i] ^ salt[i];
    iv[12] = iv[13] = iv[14] = iv[15] = 0;
}

// OpenSSL: keyed contexts that need no allocation per packet.

/// HMAC-SHA1 with the key's two blocks already hashed.
struct hmac_sha1 {
    SHA_CTX inner;
    SHA_CTX outer;
};
void hmac_sha1_init(struct hmac_sha1 *hmac, const uint8_t key[20]);
/// The MAC of `a` followed by `b`.
void hmac_sha1_two(
    const struct hmac_sha1 *hmac, const uint8_t *a, size_t a_length, const uint8_t *b, size_t b_length,
    uint8_t out[20]);

/// The cipher of one direction of RTP or RTCP, keyed for good.
struct keyed_cipher {
    EVP_CIPHER_CTX *context;
    struct hmac_sha1 hmac;  // AES-CM only
    uint8_t salt[14];
};
bool keyed_cipher_init(
    struct keyed_cipher *cipher, int32_t profile, bool sealing, const uint8_t *key, const uint8_t *auth,
    const uint8_t *salt);
void keyed_cipher_free(struct keyed_cipher *cipher);

/// XORs the key stream of `iv` into `length` bytes.
bool evp_counter(struct keyed_cipher *cipher, const uint8_t iv[16], uint8_t *bytes, size_t length);
/// Encrypts in place; the associated data is `a` followed by `b`; the tag is 16 bytes.
bool evp_gcm_seal(
    struct keyed_cipher *cipher, const uint8_t iv[12], const uint8_t *a, size_t a_length, const uint8_t *b,
    size_t b_length, uint8_t *bytes, size_t length, uint8_t tag[16]);
/// Decrypts in place; false: not authentic.
bool evp_gcm_open(
    struct keyed_cipher *cipher, const uint8_t iv[12], const uint8_t *a, size_t a_length, const uint8_t *b,
    size_t b_length, uint8_t *bytes, size_t length, const uint8_t tag[16]);

// libipsec-mb, loaded at run time: the package builds and runs without it.

#if PARLOR_HAS_MULTI_BUFFER
/// A manager for key set-up and for the direct calls, which only read it; any thread. NULL: not available.
IMB_MGR *multi_buffer_shared(void);
/// A manager for one thread's jobs. NULL: not available.
IMB_MGR *multi_buffer_create(void);
/// A manager for one thread that hashes two buffers at a time with the processor's SHA-1 instructions, where
/// multi_buffer_create's hashes 8 or 16 without them: better for few packets. NULL: no such instructions.
IMB_MGR *multi_buffer_create_narrow(void);
void multi_buffer_free(IMB_MGR *manager);
#endif

// libsrtp2

typedef struct library_session library_session;
/// A session with the master key. `inbound`: any SSRC comes in, replay window 1024.
library_session *library_create(const struct parlor_srtp_keys *keys, bool inbound);
void library_free(library_session *session);
/// Return the new length, or a reason (opening), or -1 (sealing).
int32_t library_open_rtp(library_session *session, uint8_t *packet, size_t length);
int32_t library_open_rtcp(library_session *session, uint8_t *packet, size_t length);
int32_t library_seal_rtp(library_session *session, uint8_t *packet, size_t length, uint32_t ssrc, uint64_t index);
int32_t library_seal_rtcp(library_session *session, uint8_t *packet, size_t length);

// The sealer's inside: the batch reads it.

struct parlor_srtp_sealer {
#if PARLOR_HAS_MULTI_BUFFER
    union {
        struct gcm_key_data gcm;
        struct {
            _Alignas(64) uint8_t round_keys[16 * 11];
            uint8_t inner[20];
            uint8_t outer[20];
        } cm;
    } multi_buffer;
    bool has_multi_buffer;
#endif
    int32_t profile;
    struct keyed_cipher rtp;
    struct keyed_cipher rtcp;
    /// Only once the batch was told to work with libsrtp2.
    library_session *library;
    struct parlor_srtp_keys keys;
};

/// The sealer's session with libsrtp2, made at the first call; NULL: not possible.
library_session *sealer_library(parlor_srtp_sealer *sealer);

/// Seals one RTP packet by EVP.
bool sealer_seal_rtp_evp(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t header_length, uint32_t ssrc, uint64_t index);

#endif
