#include "internal.h"

#include <openssl/crypto.h>
#include <stdlib.h>

// The order of every opening: lengths, a place in the table, replay check, authentication; and only then does anything
// change. What does not authenticate leaves no trace (RFC 3711, section 3.3).

enum {
    /// Packets behind the highest one that may still come (RFC 3711, section 3.3.2 asks for 64 at least).
    rtp_window = 1024,
    /// libsrtp2 has the same: both must decide alike.
    rtcp_window = 128,
    half_sequence = 0x8000,
};

/// One sender. All zero is a sender of whom nothing was heard.
struct stream {
    /// Rollover counter and sequence number of the highest packet: s_l and ROC of RFC 3711.
    uint64_t highest;
    /// Bit `index % rtp_window`: seen.
    uint64_t seen[rtp_window / 64];
    uint64_t rtcp_seen[rtcp_window / 64];
    uint32_t rtcp_highest;
};

struct parlor_srtp_opener {
#if PARLOR_HAS_MULTI_BUFFER
    struct gcm_key_data gcm_key;
    struct gcm_context_data gcm;
    IMB_MGR *manager;
#endif
    int32_t profile;
    int32_t backend;
    size_t capacity;
    size_t count;
    uint32_t *ssrcs;
    struct stream *streams;
    struct keyed_cipher rtp;
    struct keyed_cipher rtcp;
    library_session *library;
};

parlor_srtp_opener *parlor_srtp_opener_create(const struct parlor_srtp_keys *keys, int32_t backend, size_t capacity) {
    if (capacity == 0 || capacity > 4096) return NULL;
    bool available = is_gcm(keys->profile) && parlor_srtp_multi_buffer_available();
    // One packet at a time, several buffers gain nothing for AES-CM: EVP opens it.
    if (backend == PARLOR_SRTP_AUTOMATIC) backend = available ? PARLOR_SRTP_MULTI_BUFFER : PARLOR_SRTP_EVP;
    if (backend == PARLOR_SRTP_MULTI_BUFFER && !available) return NULL;

    void *memory = NULL;
    if (posix_memalign(&memory, 64, sizeof(parlor_srtp_opener)) != 0) return NULL;
    parlor_srtp_opener *opener = memory;
    memset(opener, 0, sizeof *opener);
    opener->profile = keys->profile;
    opener->backend = backend;
    opener->capacity = capacity;
    opener->ssrcs = calloc(capacity, sizeof *opener->ssrcs);
    bool complete = opener->ssrcs != NULL;
    if (backend == PARLOR_SRTP_LIBRARY) {
        opener->library = library_create(keys, true);
        complete = complete && opener->library != NULL;
    } else {
        opener->streams = calloc(capacity, sizeof *opener->streams);
        complete = complete && opener->streams != NULL
                   && keyed_cipher_init(
                       &opener->rtp, keys->profile, false, keys->rtp_key, keys->rtp_auth, keys->rtp_salt)
                   && keyed_cipher_init(
                       &opener->rtcp, keys->profile, false, keys->rtcp_key, keys->rtcp_auth, keys->rtcp_salt);
    }
#if PARLOR_HAS_MULTI_BUFFER
    if (backend == PARLOR_SRTP_MULTI_BUFFER) {
        opener->manager = multi_buffer_shared();
        if (keys->profile == PARLOR_SRTP_AEAD_AES_128_GCM) {
            IMB_AES128_GCM_PRE(opener->manager, keys->rtp_key, &opener->gcm_key);
        } else {
            IMB_AES256_GCM_PRE(opener->manager, keys->rtp_key, &opener->gcm_key);
        }
    }
#endif
    if (complete) return opener;
    parlor_srtp_opener_destroy(opener);
    return NULL;
}

void parlor_srtp_opener_destroy(parlor_srtp_opener *opener) {
    if (opener == NULL) return;
    keyed_cipher_free(&opener->rtp);
    keyed_cipher_free(&opener->rtcp);
    library_free(opener->library);
    free(opener->ssrcs);
    free(opener->streams);
    OPENSSL_cleanse(opener, sizeof *opener);
    free(opener);
}

int32_t parlor_srtp_opener_backend(const parlor_srtp_opener *opener) { return opener->backend; }

// The table

/// Place of the sender, or `count` when it is not known.
static size_t find(const parlor_srtp_opener *opener, uint32_t ssrc) {
    size_t n = 0;
    while (n < opener->count && opener->ssrcs[n] != ssrc) n++;
    return n;
}

/// After authentication only: a place for good.
static void keep(parlor_srtp_opener *opener, size_t place, uint32_t ssrc) {
    if (place < opener->count) return;
    opener->ssrcs[place] = ssrc;
    opener->count = place + 1;
}

// Windows

static bool get_bit(const uint64_t *bits, uint64_t n) { return bits[n / 64] >> (n % 64) & 1; }
static void set_bit(uint64_t *bits, uint64_t n) { bits[n / 64] |= 1ull << (n % 64); }
static void clear_bit(uint64_t *bits, uint64_t n) { bits[n / 64] &= ~(1ull << (n % 64)); }

/// 0, or why not.
static int32_t check(const uint64_t *bits, uint64_t window, uint64_t highest, uint64_t index) {
    if (index > highest) return 0;
    if (highest - index >= window) return PARLOR_SRTP_TOO_OLD;
    return get_bit(bits, index % window) ? PARLOR_SRTP_REPLAYED : 0;
}

/// Marks `index` as seen; returns the new highest.
static uint64_t commit(uint64_t *bits, uint64_t window, uint64_t highest, uint64_t index) {
    if (index > highest) {
        if (index - highest >= window) {
            memset(bits, 0, window / 8);
        } else {
            for (uint64_t skipped = highest + 1; skipped < index; skipped++) clear_bit(bits, skipped % window);
        }
        highest = index;
    }
    set_bit(bits, index % window);
    return highest;
}

/// RFC 3711, section 3.3.1: the index whose rollover counter brings it closest to the highest one. In the first half
/// of the first round the counter is 0 for certain: there is nothing before it.
static uint64_t estimate(uint64_t highest, uint16_t sequence) {
    if (highest <= half_sequence) return sequence;
    uint64_t roc = highest >> 16;
    uint32_t low = (uint32_t)(highest & 0xFFFF);
    if (low < half_sequence) {
        if ((uint32_t)sequence > low + half_sequence) roc -= 1;
    } else if (low - half_sequence > sequence) {
        roc += 1;
    }
    return roc << 16 | sequence;
}

// Opening

static bool authenticate_and_decrypt_rtp(
    parlor_srtp_opener *opener, uint8_t *packet, size_t length, size_t header_length, uint32_t ssrc, uint64_t index) {
    uint8_t iv[16];
    size_t body = length - tag_length(opener->profile);
    if (is_gcm(opener->profile)) {
        gcm_iv(iv, opener->rtp.salt, ssrc, index);
        uint8_t *payload = packet + header_length;
#if PARLOR_HAS_MULTI_BUFFER
        if (opener->backend == PARLOR_SRTP_MULTI_BUFFER) {
            uint8_t tag[16];
            if (opener->profile == PARLOR_SRTP_AEAD_AES_128_GCM) {
                IMB_AES128_GCM_DEC(
                    opener->manager, &opener->gcm_key, &opener->gcm, payload, payload, body - header_length, iv, packet,
                    header_length, tag, sizeof tag);
            } else {
                IMB_AES256_GCM_DEC(
                    opener->manager, &opener->gcm_key, &opener->gcm, payload, payload, body - header_length, iv, packet,
                    header_length, tag, sizeof tag);
            }
            return CRYPTO_memcmp(tag, packet + body, sizeof tag) == 0;
        }
#endif
        return evp_gcm_open(
            &opener->rtp, iv, packet, header_length, NULL, 0, payload, body - header_length, packet + body);
    }
    uint8_t roc[4];
    uint8_t mac[20];
    put32(roc, (uint32_t)(index >> 16));
    hmac_sha1_two(&opener->rtp.hmac, packet, body, roc, sizeof roc, mac);
    if (CRYPTO_memcmp(mac, packet + body, 10) != 0) return false;
    counter_iv(iv, opener->rtp.salt, ssrc, index);
    return evp_counter(&opener->rtp, iv, packet + header_length, body - header_length);
}

int32_t parlor_srtp_opener_open_rtp(
    parlor_srtp_opener *opener, uint8_t *packet, size_t length, size_t header_length, uint32_t ssrc,
    uint16_t sequence) {
    size_t tag = tag_length(opener->profile);
    if (length > longest_packet || header_length < rtp_fixed_header || header_length > length
        || length - header_length < tag)
        return PARLOR_SRTP_TOO_SHORT;
    size_t place = find(opener, ssrc);
    if (place == opener->capacity) return PARLOR_SRTP_TOO_MANY_SSRCS;
    if (opener->library != NULL) {
        int32_t opened = library_open_rtp(opener->library, packet, length);
        if (opened >= 0) keep(opener, place, ssrc);
        return opened;
    }
    // An unknown sender's place is still all zero.
    struct stream *stream = &opener->streams[place];
    uint64_t index = estimate(stream->highest, sequence);
    if (index >> 48) return PARLOR_SRTP_TOO_OLD;  // the key is used up (RFC 3711, section 9.2)
    int32_t refused = check(stream->seen, rtp_window, stream->highest, index);
    if (refused) return refused;
    if (!authenticate_and_decrypt_rtp(opener, packet, length, header_length, ssrc, index))
        return PARLOR_SRTP_NOT_AUTHENTIC;
    stream->highest = commit(stream->seen, rtp_window, stream->highest, index);
    keep(opener, place, ssrc);
    return (int32_t)(length - tag);
}

static bool authenticate_and_decrypt_rtcp(
    parlor_srtp_opener *opener, uint8_t *packet, size_t body, uint32_t ssrc, uint32_t word) {
    uint8_t iv[16];
    uint32_t index = word & 0x7FFFFFFF;
    if (is_gcm(opener->profile)) {
        uint8_t trailer[4];
        put32(trailer, word);
        gcm_iv(iv, opener->rtcp.salt, ssrc, index);
        return evp_gcm_open(
            &opener->rtcp, iv, packet, rtcp_header, trailer, sizeof trailer, packet + rtcp_header, body - rtcp_header,
            packet + body);
    }
    uint8_t mac[20];
    hmac_sha1_two(&opener->rtcp.hmac, packet, body, packet + body, srtcp_index_length, mac);
    if (CRYPTO_memcmp(mac, packet + body + srtcp_index_length, 10) != 0) return false;
    counter_iv(iv, opener->rtcp.salt, ssrc, index);
    return evp_counter(&opener->rtcp, iv, packet + rtcp_header, body - rtcp_header);
}

int32_t parlor_srtp_opener_open_rtcp(parlor_srtp_opener *opener, uint8_t *packet, size_t length) {
    size_t overhead = tag_length(opener->profile) + srtcp_index_length;
    if (length > longest_packet || length < rtcp_header + overhead) return PARLOR_SRTP_TOO_SHORT;
    uint32_t ssrc = get32(packet + 4);
    size_t place = find(opener, ssrc);
    if (place == opener->capacity) return PARLOR_SRTP_TOO_MANY_SSRCS;
    size_t body = length - overhead;
    // RFC 3711, section 3.4: index before tag; RFC 7714, section 9.2: tag before index.
    uint32_t word = get32(is_gcm(opener->profile) ? packet + length - srtcp_index_length : packet + body);
    // We never agree to unencrypted SRTCP (E = 0).
    if ((word & 0x80000000u) == 0) return PARLOR_SRTP_NOT_AUTHENTIC;
    if (opener->library != NULL) {
        int32_t opened = library_open_rtcp(opener->library, packet, length);
        if (opened >= 0) keep(opener, place, ssrc);
        return opened;
    }
    struct stream *stream = &opener->streams[place];
    uint32_t index = word & 0x7FFFFFFF;
    int32_t refused = check(stream->rtcp_seen, rtcp_window, stream->rtcp_highest, index);
    if (refused) return refused;
    if (!authenticate_and_decrypt_rtcp(opener, packet, body, ssrc, word)) return PARLOR_SRTP_NOT_AUTHENTIC;
    stream->rtcp_highest = (uint32_t)commit(stream->rtcp_seen, rtcp_window, stream->rtcp_highest, index);
    keep(opener, place, ssrc);
    return (int32_t)body;
}
