#include "internal.h"

#include <stdlib.h>

struct waiting {
    parlor_srtp_sealer *sealer;
    uint8_t *packet;
    uint64_t index;
    uint32_t length;
    uint32_t header_length;
    uint32_t ssrc;
    bool failed;
};

struct parlor_srtp_batch {
    struct waiting *waiting;
    size_t capacity;
    size_t count;
    /// Size of the batch that was sealed last: how far `failed` says something.
    size_t sealed;
    int32_t backend;
#if PARLOR_HAS_MULTI_BUFFER
    IMB_MGR *manager;
    /// NULL without SHA-1 instructions.
    IMB_MGR *narrow;
    struct gcm_context_data gcm;
    /// One per waiting packet: IVs and MACs live until their job is done.
    uint8_t (*ivs)[16];
    uint8_t (*macs)[16];
#endif
};

parlor_srtp_batch *parlor_srtp_batch_create(size_t capacity, int32_t backend) {
    if (capacity == 0 || capacity > 1 << 20) return NULL;
    bool available = parlor_srtp_multi_buffer_available();
    if (backend == PARLOR_SRTP_MULTI_BUFFER && !available) return NULL;
    if (backend == PARLOR_SRTP_AUTOMATIC) backend = available ? PARLOR_SRTP_MULTI_BUFFER : PARLOR_SRTP_EVP;

    void *memory = NULL;
    if (posix_memalign(&memory, 64, sizeof(parlor_srtp_batch)) != 0) return NULL;
    parlor_srtp_batch *batch = memory;
    memset(batch, 0, sizeof *batch);
    batch->capacity = capacity;
    batch->backend = backend;
    batch->waiting = calloc(capacity, sizeof *batch->waiting);
    bool complete = batch->waiting != NULL;
#if PARLOR_HAS_MULTI_BUFFER
    if (backend == PARLOR_SRTP_MULTI_BUFFER) {
        batch->manager = multi_buffer_create();
        batch->narrow = multi_buffer_create_narrow();
        batch->ivs = calloc(capacity, sizeof *batch->ivs);
        batch->macs = calloc(capacity, sizeof *batch->macs);
        complete = complete && batch->manager != NULL && batch->ivs != NULL && batch->macs != NULL;
    }
#endif
    if (complete) return batch;
    parlor_srtp_batch_destroy(batch);
    return NULL;
}

void parlor_srtp_batch_destroy(parlor_srtp_batch *batch) {
    if (batch == NULL) return;
#if PARLOR_HAS_MULTI_BUFFER
    multi_buffer_free(batch->manager);
    multi_buffer_free(batch->narrow);
    free(batch->ivs);
    free(batch->macs);
#endif
    free(batch->waiting);
    free(batch);
}

int32_t parlor_srtp_batch_backend(const parlor_srtp_batch *batch) { return batch->backend; }

bool parlor_srtp_batch_append(
    parlor_srtp_batch *batch, parlor_srtp_sealer *sealer, uint8_t *packet, size_t length, size_t header_length,
    uint32_t ssrc, uint64_t index) {
    if (batch->count == batch->capacity) return false;
    bool wrong = header_length < rtp_fixed_header || header_length > length || length > longest_packet || index >> 48;
    batch->waiting[batch->count++] = (struct waiting){
        .sealer = sealer,
        .packet = packet,
        .index = index,
        .length = (uint32_t)length,
        .header_length = (uint32_t)header_length,
        .ssrc = ssrc,
        .failed = wrong,
    };
    return true;
}

static bool seal_by_library(const struct waiting *w) {
    library_session *library = sealer_library(w->sealer);
    return library != NULL && library_seal_rtp(library, w->packet, w->length, w->ssrc, w->index) > 0;
}

#if PARLOR_HAS_MULTI_BUFFER

static void seal_gcm(parlor_srtp_batch *batch, const struct waiting *w) {
    _Alignas(16) uint8_t iv[16];
    gcm_iv(iv, w->sealer->rtp.salt, w->ssrc, w->index);
    uint8_t *payload = w->packet + w->header_length;
    uint64_t length = w->length - w->header_length;
    const struct gcm_key_data *key = &w->sealer->multi_buffer.gcm;
    if (w->sealer->profile == PARLOR_SRTP_AEAD_AES_128_GCM) {
        IMB_AES128_GCM_ENC(
            batch->manager, key, &batch->gcm, payload, payload, length, iv, w->packet, w->header_length,
            w->packet + w->length, 16);
    } else {
        IMB_AES256_GCM_ENC(
            batch->manager, key, &batch->gcm, payload, payload, length, iv, w->packet, w->header_length,
            w->packet + w->length, 16);
    }
}

static void finish(parlor_srtp_batch *batch, const IMB_JOB *job) {
    size_t n = (size_t)(uintptr_t)job->user_data;
    struct waiting *w = &batch->waiting[n];
    if (job->status == IMB_STATUS_COMPLETED) {
        memcpy(w->packet + w->length, batch->macs[n], 10);
    } else {
        w->failed = true;
    }
}

/// Hands in a job of AES-CM and HMAC-SHA1; what it pushes out of the queue is finished.
static void submit_counter(parlor_srtp_batch *batch, IMB_MGR *manager, size_t n) {
    struct waiting *w = &batch->waiting[n];
    const parlor_srtp_sealer *sealer = w->sealer;
    counter_iv(batch->ivs[n], sealer->rtp.salt, w->ssrc, w->index);
    // The MAC covers packet and rollover counter, which stands where the tag will be.
    put32(w->packet + w->length, (uint32_t)(w->index >> 16));
    IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
    job->cipher_direction = IMB_DIR_ENCRYPT;
    job->chain_order = IMB_ORDER_CIPHER_HASH;
    job->cipher_mode = IMB_CIPHER_CNTR;
    job->hash_alg = IMB_AUTH_HMAC_SHA_1;
    job->enc_keys = sealer->multi_buffer.cm.round_keys;
    job->dec_keys = sealer->multi_buffer.cm.round_keys;
    job->key_len_in_bytes = 16;
    job->iv = batch->ivs[n];
    job->iv_len_in_bytes = 16;
    job->src = w->packet;
    job->dst = w->packet + w->header_length;
    job->cipher_start_src_offset_in_bytes = w->header_length;
    job->msg_len_to_cipher_in_bytes = w->length - w->header_length;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = (uint64_t)w->length + 4;
    // The library writes tags of 12 or 20 bytes; SRTP's has 10 (RFC 3711, section 5.2).
    job->auth_tag_output = batch->macs[n];
    job->auth_tag_output_len_in_bytes = 12;
    job->u.HMAC._hashed_auth_key_xor_ipad = sealer->multi_buffer.cm.inner;
    job->u.HMAC._hashed_auth_key_xor_opad = sealer->multi_buffer.cm.outer;
    job->user_data = (void *)(uintptr_t)n;
    // Unchecked: every field was set right above.
    for (job = IMB_SUBMIT_JOB_NOCHECK(manager); job != NULL; job = IMB_GET_COMPLETED_JOB(manager)) finish(batch, job);
}

static void flush(parlor_srtp_batch *batch, IMB_MGR *manager) {
    for (IMB_JOB *job = IMB_FLUSH_JOB(manager); job != NULL; job = IMB_FLUSH_JOB(manager)) finish(batch, job);
}

/// Whether this is a job for AES-CM; libipsec-mb takes no empty ones.
static bool is_counter_job(const struct waiting *w) {
    return !w->failed && !is_gcm(w->sealer->profile) && w->sealer->has_multi_buffer && w->length > w->header_length;
}

/// How many of the AES-CM packets go another way than the wide manager's lanes: those that would leave most lanes
/// empty, which cost as much as full ones.
static size_t count_of_few(const parlor_srtp_batch *batch, size_t counter_jobs, uint64_t bytes) {
    size_t lanes = batch->manager->used_arch == IMB_ARCH_AVX512 ? 16 : batch->manager->used_arch == IMB_ARCH_AVX2 ? 8 : 0;
    // SSE and AVX: two lanes of SHA-1 instructions, or four without; nothing to choose.
    if (lanes == 0) return 0;
    size_t worth;
    if (batch->narrow == NULL) {
        worth = 3;
    } else if (lanes == 8) {
        // Measured on Zen 4: 8 lanes without SHA-1 instructions (538 ns for 1200 bytes) lose to two with them (450 ns).
        return counter_jobs;
    } else {
        // The same machine, 16 lanes against two: level at 5 packets of 1200 bytes, at 8 of 300, at 12 of 120.
        worth = bytes > 600 * counter_jobs ? 5 : bytes > 200 * counter_jobs ? 8 : 12;
    }
    size_t rest = counter_jobs % lanes;
    return rest < worth ? rest : 0;
}

static void seal_by_multi_buffer(parlor_srtp_batch *batch) {
    size_t counter_jobs = 0;
    uint64_t bytes = 0;
    for (size_t n = 0; n < batch->count; n++) {
        struct waiting *w = &batch->waiting[n];
        if (is_counter_job(w)) {
            counter_jobs += 1;
            bytes += w->length;
        } else if (w->failed) {
            continue;
        } else if (is_gcm(w->sealer->profile) && w->sealer->has_multi_buffer) {
            seal_gcm(batch, w);
        } else {
            w->failed = !sealer_seal_rtp_evp(w->sealer, w->packet, w->length, w->header_length, w->ssrc, w->index);
        }
    }
    if (counter_jobs == 0) return;
    size_t few = count_of_few(batch, counter_jobs, bytes);
    for (size_t n = 0; n < batch->count; n++) {
        struct waiting *w = &batch->waiting[n];
        if (!is_counter_job(w)) continue;
        if (few == 0) {
            submit_counter(batch, batch->manager, n);
            continue;
        }
        few -= 1;
        counter_jobs -= 1;
        if (batch->narrow != NULL) {
            submit_counter(batch, batch->narrow, n);
            if (few == 0) flush(batch, batch->narrow);
        } else {
            w->failed = !sealer_seal_rtp_evp(w->sealer, w->packet, w->length, w->header_length, w->ssrc, w->index);
        }
    }
    if (counter_jobs > 0) flush(batch, batch->manager);
}

#endif

size_t parlor_srtp_batch_seal(parlor_srtp_batch *batch) {
    size_t count = batch->count;
    switch (batch->backend) {
#if PARLOR_HAS_MULTI_BUFFER
    case PARLOR_SRTP_MULTI_BUFFER: seal_by_multi_buffer(batch); break;
#endif
    case PARLOR_SRTP_LIBRARY:
        for (size_t n = 0; n < count; n++) {
            struct waiting *w = &batch->waiting[n];
            if (!w->failed) w->failed = !seal_by_library(w);
        }
        break;
    default:
        for (size_t n = 0; n < count; n++) {
            struct waiting *w = &batch->waiting[n];
            if (!w->failed)
                w->failed =
                    !sealer_seal_rtp_evp(w->sealer, w->packet, w->length, w->header_length, w->ssrc, w->index);
        }
    }
    size_t failures = 0;
    for (size_t n = 0; n < count; n++) failures += batch->waiting[n].failed;
    batch->sealed = count;
    batch->count = 0;
    return failures;
}

bool parlor_srtp_batch_failed(const parlor_srtp_batch *batch, size_t n) {
    return n >= batch->sealed || batch->waiting[n].failed;
}
