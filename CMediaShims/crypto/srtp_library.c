#include "internal.h"

#include <openssl/crypto.h>
#include <pthread.h>
#include <srtp2/srtp.h>
#include <stdlib.h>

enum { replay_window = 1024 };

struct library_session {
    srtp_t session;
    srtp_policy_t policy;
    uint8_t key[SRTP_MAX_KEY_LEN];
};

static pthread_once_t initialized = PTHREAD_ONCE_INIT;
static bool usable;

static void initialize(void) { usable = srtp_init() == srtp_err_status_ok; }

library_session *library_create(const struct parlor_srtp_keys *keys, bool inbound) {
    pthread_once(&initialized, initialize);
    if (!usable || !keys->has_master) return NULL;
    library_session *library = calloc(1, sizeof *library);
    if (library == NULL) return NULL;
    size_t key = key_length(keys->profile);
    memcpy(library->key, keys->master_key, key);
    memcpy(library->key + key, keys->master_salt, salt_length(keys->profile));

    srtp_policy_t *policy = &library->policy;
    switch (keys->profile) {
    case PARLOR_SRTP_AEAD_AES_128_GCM:
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtp);
        srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy->rtcp);
        break;
    case PARLOR_SRTP_AEAD_AES_256_GCM:
        srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtp);
        srtp_crypto_policy_set_aes_gcm_256_16_auth(&policy->rtcp);
        break;
    default:
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy->rtp);
        srtp_crypto_policy_set_aes_cm_128_hmac_sha1_80(&policy->rtcp);
    }
    policy->ssrc.type = inbound ? ssrc_any_inbound : ssrc_any_outbound;
    policy->key = library->key;
    policy->window_size = replay_window;
    // A resent packet is sealed again, to the same bytes; received twice it is a replay.
    policy->allow_repeat_tx = inbound ? 0 : 1;
    if (srtp_create(&library->session, policy) != srtp_err_status_ok) {
        OPENSSL_cleanse(library, sizeof *library);
        free(library);
        return NULL;
    }
    return library;
}

void library_free(library_session *library) {
    if (library == NULL) return;
    srtp_dealloc(library->session);
    OPENSSL_cleanse(library, sizeof *library);
    free(library);
}

static int32_t result(srtp_err_status_t status, int length) {
    switch (status) {
    case srtp_err_status_ok: return length;
    case srtp_err_status_replay_fail: return PARLOR_SRTP_REPLAYED;
    case srtp_err_status_replay_old: return PARLOR_SRTP_TOO_OLD;
    case srtp_err_status_bad_param:
    case srtp_err_status_parse_err: return PARLOR_SRTP_TOO_SHORT;
    default: return PARLOR_SRTP_NOT_AUTHENTIC;
    }
}

int32_t library_open_rtp(library_session *library, uint8_t *packet, size_t length) {
    int opened = (int)length;
    srtp_err_status_t status = srtp_unprotect(library->session, packet, &opened);
    return result(status, opened);
}

int32_t library_open_rtcp(library_session *library, uint8_t *packet, size_t length) {
    int opened = (int)length;
    srtp_err_status_t status = srtp_unprotect_rtcp(library->session, packet, &opened);
    return result(status, opened);
}

int32_t library_seal_rtp(library_session *library, uint8_t *packet, size_t length, uint32_t ssrc, uint64_t index) {
    // The library counts rollovers by itself, from 0 on; only a sender that starts later must be told.
    uint32_t roc = 0;
    if (index >> 16 != 0 && srtp_get_stream_roc(library->session, ssrc, &roc) != srtp_err_status_ok) {
        srtp_policy_t policy = library->policy;
        policy.ssrc.type = ssrc_specific;
        policy.ssrc.value = ssrc;
        if (srtp_add_stream(library->session, &policy) != srtp_err_status_ok) return -1;
        if (srtp_set_stream_roc(library->session, ssrc, (uint32_t)(index >> 16)) != srtp_err_status_ok) return -1;
    }
    int sealed = (int)length;
    return srtp_protect(library->session, packet, &sealed) == srtp_err_status_ok ? sealed : -1;
}

int32_t library_seal_rtcp(library_session *library, uint8_t *packet, size_t length) {
    int sealed = (int)length;
    return srtp_protect_rtcp(library->session, packet, &sealed) == srtp_err_status_ok ? sealed : -1;
}
