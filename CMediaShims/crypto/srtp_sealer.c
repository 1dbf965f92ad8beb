#include "internal.h"

#include <openssl/crypto.h>
#include <stdlib.h>

#if PARLOR_HAS_MULTI_BUFFER
static void prepare_multi_buffer(parlor_srtp_sealer *sealer, const struct parlor_srtp_keys *keys) {
    IMB_MGR *manager = multi_buffer_shared();
    if (manager == NULL) return;
    switch (keys->profile) {
    case PARLOR_SRTP_AEAD_AES_128_GCM: IMB_AES128_GCM_PRE(manager, keys->rtp_key, &sealer->multi_buffer.gcm); break;
    case PARLOR_SRTP_AEAD_AES_256_GCM: IMB_AES256_GCM_PRE(manager, keys->rtp_key, &sealer->multi_buffer.gcm); break;
    default: {
        _Alignas(16) uint8_t unused[16 * 11];
        IMB_AES_KEYEXP_128(manager, keys->rtp_key, sealer->multi_buffer.cm.round_keys, unused);
        _Alignas(16) uint8_t block[64];
        memset(block, 0x36, sizeof block);
        for (int i = 0; i < 20; i++) block[i] ^= keys->rtp_auth[i];
        IMB_SHA1_ONE_BLOCK(manager, block, sealer->multi_buffer.cm.inner);
        memset(block, 0x5C, sizeof block);
        for (int i = 0; i < 20; i++) block[i] ^= keys->rtp_auth[i];
        IMB_SHA1_ONE_BLOCK(manager, block, sealer->multi_buffer.cm.outer);
        OPENSSL_cleanse(block, sizeof block);
        OPENSSL_cleanse(unused, sizeof unused);
    }
    }
    sealer->has_multi_buffer = true;
}
#endif

parlor_srtp_sealer *parlor_srtp_sealer_create(const struct parlor_srtp_keys *keys) {
    // libipsec-mb wants its key data on a cache line of its own.
    void *memory = NULL;
    if (posix_memalign(&memory, 64, sizeof(parlor_srtp_sealer)) != 0) return NULL;
    parlor_srtp_sealer *sealer = memory;
    memset(sealer, 0, sizeof *sealer);
    sealer->profile = keys->profile;
    sealer->keys = *keys;
    if (!keyed_cipher_init(&sealer->rtp, keys->profile, true, keys->rtp_key, keys->rtp_auth, keys->rtp_salt)
        || !keyed_cipher_init(&sealer->rtcp, keys->profile, true, keys->rtcp_key, keys->rtcp_auth, keys->rtcp_salt)) {
        parlor_srtp_sealer_destroy(sealer);
        return NULL;
    }
#if PARLOR_HAS_MULTI_BUFFER
    prepare_multi_buffer(sealer, keys);
#endif
    return sealer;
}

void parlor_srtp_sealer_destroy(parlor_srtp_sealer *sealer) {
    if (sealer == NULL) return;
    keyed_cipher_free(&sealer->rtp);
    keyed_cipher_free(&sealer->rtcp);
    library_free(sealer->library);
    OPENSSL_cleanse(sealer, sizeof *sealer);
    free(sealer);
}

library_session *sealer_library(parlor_srtp_sealer *sealer) {
    if (sealer->library == NULL && sealer->keys.has_master) sealer->library = library_create(&sealer->keys, false);
    return sealer->library;
}

bool sealer_seal_rtp_evp(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t header_length, uint32_t ssrc, uint64_t index) {
    uint8_t iv[16];
    if (is_gcm(sealer->profile)) {
        gcm_iv(iv, sealer->rtp.salt, ssrc, index);
        return evp_gcm_seal(
            &sealer->rtp, iv, packet, header_length, NULL, 0, packet + header_length, length - header_length,
            packet + length);
    }
    counter_iv(iv, sealer->rtp.salt, ssrc, index);
    if (!evp_counter(&sealer->rtp, iv, packet + header_length, length - header_length)) return false;
    // RFC 3711, section 4.2: the MAC covers the packet and the rollover counter.
    uint8_t roc[4];
    uint8_t mac[20];
    put32(roc, (uint32_t)(index >> 16));
    hmac_sha1_two(&sealer->rtp.hmac, packet, length, roc, sizeof roc, mac);
    memcpy(packet + length, mac, 10);
    return true;
}

int32_t parlor_srtp_sealer_seal_rtcp(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t capacity, uint32_t index) {
    size_t sealed = length + tag_length(sealer->profile) + srtcp_index_length;
    if (length < rtcp_header || length > longest_packet || sealed > capacity || index > 0x7FFFFFFF) return -1;
    uint32_t ssrc = get32(packet + 4);
    uint8_t iv[16];
    uint8_t word[4];
    put32(word, 0x80000000u | index);  // E = 1: encrypted (RFC 3711, section 3.4)
    if (is_gcm(sealer->profile)) {
        // RFC 7714, section 9.2: the tag comes before the index.
        gcm_iv(iv, sealer->rtcp.salt, ssrc, index);
        if (!evp_gcm_seal(
                &sealer->rtcp, iv, packet, rtcp_header, word, sizeof word, packet + rtcp_header, length - rtcp_header,
                packet + length))
            return -1;
        memcpy(packet + length + 16, word, sizeof word);
        return (int32_t)sealed;
    }
    counter_iv(iv, sealer->rtcp.salt, ssrc, index);
    if (!evp_counter(&sealer->rtcp, iv, packet + rtcp_header, length - rtcp_header)) return -1;
    memcpy(packet + length, word, sizeof word);
    uint8_t mac[20];
    hmac_sha1_two(&sealer->rtcp.hmac, packet, length, word, sizeof word, mac);
    memcpy(packet + length + sizeof word, mac, 10);
    return (int32_t)sealed;
}

int32_t parlor_srtp_sealer_seal_rtcp_by_library(
    parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t capacity) {
    if (length < rtcp_header || length > longest_packet) return -1;
    if (length + tag_length(sealer->profile) + srtcp_index_length > capacity) return -1;
    library_session *library = sealer_library(sealer);
    return library == NULL ? -1 : library_seal_rtcp(library, packet, length);
}
