#ifndef PARLOR_CCRYPTO_H
#define PARLOR_CCRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Digests and randomness

/// HMAC-SHA1 (RFC 2104) of `data`, 20 bytes.
bool parlor_hmac_sha1(const void *key, size_t key_length, const void *data, size_t data_length, uint8_t out[20]);
/// SHA-256 of `data`, 32 bytes.
bool parlor_sha256(const void *data, size_t data_length, uint8_t out[32]);
/// Whether both ranges hold the same bytes, in time that depends on `length` only.
bool parlor_equal_constant_time(const void *a, const void *b, size_t length);
/// Fills `out` from the cryptographic generator; false: it failed, and nothing in `out` may be used.
bool parlor_random_bytes(void *out, size_t length);
/// Overwrites secrets; never optimised away.
void parlor_erase(void *bytes, size_t length);

/// A key of HMAC-SHA1 with both its blocks hashed: signing with it allocates nothing. A secret.
struct parlor_hmac_key {
    uint32_t words[48];
};
/// Prepares a key of any length up to INT32_MAX. False: it is longer.
bool parlor_hmac_key_init(struct parlor_hmac_key *out, const void *key, size_t length);
/// The MAC of `a` followed by `b`.
void parlor_hmac_sign(
    const struct parlor_hmac_key *key, const void *a, size_t a_length, const void *b, size_t b_length,
    uint8_t out[20]);

// SRTP

/// Profiles, with the raw values of SRTPProfile.
#define PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 0
#define PARLOR_SRTP_AEAD_AES_128_GCM 1
#define PARLOR_SRTP_AEAD_AES_256_GCM 2

/// Which implementation does the work.
#define PARLOR_SRTP_AUTOMATIC 0
/// libipsec-mb; not available everywhere.
#define PARLOR_SRTP_MULTI_BUFFER 1
/// OpenSSL's EVP.
#define PARLOR_SRTP_EVP 2
/// libsrtp2.
#define PARLOR_SRTP_LIBRARY 3

/// Why nothing was opened.
#define PARLOR_SRTP_TOO_SHORT (-1)
#define PARLOR_SRTP_TOO_MANY_SSRCS (-2)
#define PARLOR_SRTP_REPLAYED (-3)
#define PARLOR_SRTP_TOO_OLD (-4)
#define PARLOR_SRTP_NOT_AUTHENTIC (-5)

/// One direction's session keys (RFC 3711, section 4.3), beside the master key they came from.
struct parlor_srtp_keys {
    int32_t profile;
    /// False when the session keys were given as such: then libsrtp2, which derives by itself, cannot be used.
    bool has_master;
    uint8_t master_key[32];
    uint8_t master_salt[14];
    uint8_t rtp_key[32];
    uint8_t rtp_auth[20];
    uint8_t rtp_salt[14];
    uint8_t rtcp_key[32];
    uint8_t rtcp_auth[20];
    uint8_t rtcp_salt[14];
};

/// Derives the session keys with key derivation rate 0. `key` and `salt` have the profile's lengths: 16 and 14 bytes for
/// AES-CM, 16 and 12 for AES-128-GCM, 32 and 12 for AES-256-GCM. False: unknown profile, or OpenSSL failed.
bool parlor_srtp_derive(int32_t profile, const uint8_t *key, const uint8_t *salt, struct parlor_srtp_keys *out);

/// Whether libipsec-mb was found and runs on this processor.
bool parlor_srtp_multi_buffer_available(void);

/// Name of what a backend number stands for here, for logs. Static text.
const char *parlor_srtp_backend_name(int32_t backend);

/// One outbound master key, prepared for every backend. Used by one thread at a time.
typedef struct parlor_srtp_sealer parlor_srtp_sealer;
parlor_srtp_sealer *parlor_srtp_sealer_create(const struct parlor_srtp_keys *keys);
void parlor_srtp_sealer_destroy(parlor_srtp_sealer *sealer);

/// Seals one RTCP packet in place under `index` (31 bits); returns the sealed length, or -1.
int32_t parlor_srtp_sealer_seal_rtcp(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t capacity, uint32_t index);

/// The same by libsrtp2, which counts the index itself, from 1: what tests compare with.
int32_t parlor_srtp_sealer_seal_rtcp_by_library(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t capacity);

/// Packets that wait to be sealed together. One per thread.
typedef struct parlor_srtp_batch parlor_srtp_batch;
/// NULL: out of memory, or the backend is not available.
parlor_srtp_batch *parlor_srtp_batch_create(size_t capacity, int32_t backend);
void parlor_srtp_batch_destroy(parlor_srtp_batch *batch);
/// The backend that works: never PARLOR_SRTP_AUTOMATIC.
int32_t parlor_srtp_batch_backend(const parlor_srtp_batch *batch);
/// Adds an RTP packet. `packet` has room for the tag behind `length`. False: full.
bool parlor_srtp_batch_append(
    parlor_srtp_batch *batch, parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t header_length,
    uint32_t ssrc, uint64_t index);
/// Seals all in place and empties the batch; returns how many could not be sealed.
size_t parlor_srtp_batch_seal(parlor_srtp_batch *batch);
/// Whether the n-th packet of the batch sealed last failed: it then must not be sent.
bool parlor_srtp_batch_failed(const parlor_srtp_batch *batch, size_t n);

/// One inbound master key with the replay state of its senders.
typedef struct parlor_srtp_opener parlor_srtp_opener;
/// `capacity`: how many SSRCs may use the key. NULL: out of memory, or the backend is not available.
parlor_srtp_opener *parlor_srtp_opener_create(const struct parlor_srtp_keys *keys, int32_t backend, size_t capacity);
void parlor_srtp_opener_destroy(parlor_srtp_opener *opener);
int32_t parlor_srtp_opener_backend(const parlor_srtp_opener *opener);
/// Opens in place; returns the length without the tag, or one of the reasons above. After a failure the packet's bytes may
/// have changed and must not be used.
int32_t parlor_srtp_opener_open_rtp(
    parlor_srtp_opener *opener, uint8_t *packet, size_t length, size_t header_length, uint32_t ssrc, uint16_t sequence);
int32_t parlor_srtp_opener_open_rtcp(parlor_srtp_opener *opener, uint8_t *packet, size_t length);

// Certificates

/// Bytes of a SHA-256 fingerprint as text: 32 times two hexadecimal digits, 31 colons, and the NUL.
#define PARLOR_FINGERPRINT_SIZE 96
/// A hundred years.
#define PARLOR_CERTIFICATE_MOST_DAYS 36500

/// Whom a self-signed certificate shall name.
typedef struct parlor_certificate_request parlor_certificate_request;
/// `common_name`: UTF-8, 1 to 64 characters. NULL: it is not, or out of memory.
parlor_certificate_request *parlor_certificate_request_create(const char *common_name, size_t length);
void parlor_certificate_request_destroy(parlor_certificate_request *request);
/// Adds a subjectAltName; 64 at most. False: no name of letters, digits, `-`, `_`, `.` and `*`, or longer than 253.
bool parlor_certificate_request_add_dns_name(parlor_certificate_request *request, const char *name, size_t length);
/// The same for 4 or 16 bytes of an IP address in network order.
bool parlor_certificate_request_add_address(parlor_certificate_request *request, const uint8_t *bytes, size_t length);

/// PEM texts that end with NUL, and the fingerprint of the certificate's DER (RFC 8122, section 5).
struct parlor_certificate {
    char *certificate;
    char *private_key;
    char fingerprint[PARLOR_FINGERPRINT_SIZE];
};

/// Makes an ECDSA P-256 key and a certificate that it signs itself (SHA-256, random serial), valid from a day before
/// `now` (seconds since 1970; 0: the system's clock) until `days` after it, for TLS and DTLS servers and clients. False:
/// `days` is not within 1 to PARLOR_CERTIFICATE_MOST_DAYS, or OpenSSL failed; then `out` holds nothing. Otherwise free it.
bool parlor_certificate_request_sign(
    const parlor_certificate_request *request, int64_t now, int32_t days, struct parlor_certificate *out);
/// Erases the key, and frees both texts.
void parlor_certificate_free(struct parlor_certificate *certificate);

/// The SHA-256 fingerprint of the first certificate in a PEM text. False: there is none.
bool parlor_certificate_fingerprint(const char *pem, size_t length, char out[PARLOR_FINGERPRINT_SIZE]);
/// Whether the private key of the second PEM text is that of the first certificate in the first one. Encrypted keys are
/// refused.
bool parlor_certificate_has_key(const char *pem, size_t length, const char *key_pem, size_t key_length);

// DTLS 1.2 with SRTP (RFC 6347, RFC 5764)

/// No datagram is longer: what a path carries without fragments, less IP and UDP headers.
#define PARLOR_DTLS_LONGEST_DATAGRAM 1200
/// How long a flight waits for its answer: at first, and at most, in microseconds.
#define PARLOR_DTLS_FIRST_TIMEOUT_US 200000
#define PARLOR_DTLS_LONGEST_TIMEOUT_US 3000000

/// States of an association.
#define PARLOR_DTLS_HANDSHAKING 0
#define PARLOR_DTLS_CONNECTED 1
/// Refused by one of the two, or broken.
#define PARLOR_DTLS_FAILED (-1)
#define PARLOR_DTLS_WRONG_FINGERPRINT (-2)
#define PARLOR_DTLS_CLOSED_BY_PEER (-3)
#define PARLOR_DTLS_CLOSED (-4)

#define PARLOR_DTLS_SHA256 0
#define PARLOR_DTLS_SHA384 1
#define PARLOR_DTLS_SHA512 2

struct parlor_dtls_fingerprint {
    int32_t hash;
    /// As many as the hash has.
    uint8_t bytes[64];
};

/// What all associations that show one certificate share. Any thread, once it is made.
typedef struct parlor_dtls_context parlor_dtls_context;
/// `pem` is a certificate, or a chain that begins with the key's; `profiles` are SRTP profiles in OpenSSL's names, the
/// best first, with colons between. NULL: not a certificate and its key, an unknown profile, or out of memory.
parlor_dtls_context *parlor_dtls_context_create(
    const char *pem, size_t length, const char *key_pem, size_t key_length, const char *profiles);
void parlor_dtls_context_destroy(parlor_dtls_context *context);

/// One association: whoever uses it, one thread at a time. It may outlive its context.
typedef struct parlor_dtls parlor_dtls;
/// The peer's certificate must have one of the fingerprints (16 at most); without any, it must only have a certificate.
parlor_dtls *parlor_dtls_create(
    parlor_dtls_context *context, bool client, const struct parlor_dtls_fingerprint *fingerprints, size_t count);
void parlor_dtls_destroy(parlor_dtls *dtls);
/// Goes on with one datagram, or with none (length 0), as a client must to begin. Returns the state.
int32_t parlor_dtls_step(parlor_dtls *dtls, const uint8_t *datagram, size_t length);
/// Sends the last flight again. Returns the state; it fails when this was done 12 times for one flight.
int32_t parlor_dtls_timeout(parlor_dtls *dtls);
int32_t parlor_dtls_state(const parlor_dtls *dtls);
/// 0 while nothing waits for an answer, else a number that changes with each sending.
uint32_t parlor_dtls_flights(const parlor_dtls *dtls);
/// Takes the datagram that waits longest; 0: none waits, or `capacity` is less than it has.
size_t parlor_dtls_take(parlor_dtls *dtls, uint8_t *out, size_t capacity);
/// Ends the association; if it was connected, a close_notify waits to be taken.
void parlor_dtls_close(parlor_dtls *dtls);

/// Master keys of both directions, with the lengths of the profile. Secrets.
struct parlor_dtls_keys {
    int32_t profile;
    uint8_t client_key[32];
    uint8_t server_key[32];
    uint8_t client_salt[14];
    uint8_t server_salt[14];
};
/// False, with nothing in `out`: the association is not connected.
bool parlor_dtls_export(parlor_dtls *dtls, struct parlor_dtls_keys *out);

// Memory

/// Asks for the cache lines of a range that will soon be written, while something else is computed; changes nothing.
static inline void parlor_will_write(const void *start, size_t length) {
    for (size_t offset = 0; offset < length; offset += 64) __builtin_prefetch((const char *)start + offset, 1, 3);
}

#ifdef __cplusplus
}
#endif

#endif
