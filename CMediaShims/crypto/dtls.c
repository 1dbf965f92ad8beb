// DTLS 1.2 by OpenSSL (RFC 6347) with SRTP keys (RFC 5764): no socket, no clock of the system, one datagram at a time.

#include "internal.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/srtp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>

enum {
    longest_pem = 1 << 20,
    /// Of the peer's certificates together; more is refused by OpenSSL with an alert.
    longest_chain = 16384,
    most_waiting = 16,
    most_fingerprints = 16,
    /// Records in one datagram, which bounds a step.
    most_reads = 64,
};

// A datagram that waits to be taken.
struct waiting {
    struct waiting *next;
    size_t length;
    uint8_t bytes[];
};

struct parlor_dtls_context {
    SSL_CTX *ssl;
};

struct parlor_dtls {
    SSL *ssl;
    int32_t state;
    /// What `BIO_read` gives: the datagram of this step, or nothing.
    const uint8_t *incoming;
    size_t incoming_length;
    struct waiting *first, *last;
    size_t waiting_count;
    /// OpenSSL's own deadline; see `on_timer_set`.
    struct timeval *timer;
    bool timer_runs;
    uint32_t flights;
    bool verified;
    bool mismatch;
    size_t fingerprint_count;
    struct parlor_dtls_fingerprint fingerprints[];
};

// The BIO: reads the step's datagram, and each write is a datagram of its own. A memory BIO would lose their bounds.

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

static int bio_write(BIO *bio, const char *bytes, int length) {
    parlor_dtls *dtls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (dtls == NULL || bytes == NULL || length <= 0) return -1;
    // As on a network, what finds no room is lost, and sent again later. OpenSSL keeps to the MTU; this holds it to that.
    if (length > PARLOR_DTLS_LONGEST_DATAGRAM || dtls->waiting_count >= most_waiting) return length;
    struct waiting *entry = malloc(sizeof *entry + (size_t)length);
    if (entry == NULL) return length;
    entry->next = NULL;
    entry->length = (size_t)length;
    memcpy(entry->bytes, bytes, (size_t)length);
    if (dtls->last != NULL)
        dtls->last->next = entry;
    else
        dtls->first = entry;
    dtls->last = entry;
    dtls->waiting_count++;
    return length;
}

static int bio_read(BIO *bio, char *out, int capacity) {
    parlor_dtls *dtls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (dtls == NULL || out == NULL || capacity <= 0) return -1;
    if (dtls->incoming_length == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t length = dtls->incoming_length < (size_t)capacity ? dtls->incoming_length : (size_t)capacity;
    memcpy(out, dtls->incoming, length);
    dtls->incoming_length = 0;
    return (int)length;
}

/// OpenSSL measures retransmission by the system's clock and offers no other. Up to 3.1 it hands a datagram BIO the
/// address of its deadline: `parlor_dtls_timeout` puts that into the past when our own clock says so. Later
/// versions hand a copy, which must not be kept; there both clocks have to agree (`timer_callback`).
static bool has_timer(void) {
    unsigned long version = OpenSSL_version_num() >> 20;
    return OPENSSL_VERSION_NUMBER < 0x30200000L && (version == 0x300 || version == 0x301);
}

static void on_timer_set(parlor_dtls *dtls, struct timeval *deadline) {
    if (deadline == NULL) return;
    dtls->timer_runs = deadline->tv_sec != 0 || deadline->tv_usec != 0;
    dtls->timer = has_timer() ? deadline : NULL;
    if (dtls->timer_runs) dtls->flights++;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    parlor_dtls *dtls = BIO_get_data(bio);
    (void)number;
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    // Unanswered, these make OpenSSL send datagrams of 256 bytes.
    case BIO_CTRL_DGRAM_QUERY_MTU:
    case BIO_CTRL_DGRAM_GET_MTU:
    case BIO_CTRL_DGRAM_GET_FALLBACK_MTU: return PARLOR_DTLS_LONGEST_DATAGRAM;
    case BIO_CTRL_DGRAM_SET_NEXT_TIMEOUT:
        if (dtls != NULL) on_timer_set(dtls, pointer);
        return 1;
    default: return 0;
    }
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static BIO_METHOD *bio_method;
static int association_index = -1;

static void make_bio_method(void) {
    association_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    int index = BIO_get_new_index();
    if (index == -1) return;
    BIO_METHOD *method = BIO_meth_new(index | BIO_TYPE_SOURCE_SINK, "datagram");
    if (method == NULL) return;
    if (BIO_meth_set_create(method, bio_create) == 1 && BIO_meth_set_write(method, bio_write) == 1
        && BIO_meth_set_read(method, bio_read) == 1 && BIO_meth_set_ctrl(method, bio_control) == 1)
        bio_method = method;
    else
        BIO_meth_free(method);
}

// The context

static int no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static bool use_certificates(SSL_CTX *context, const char *pem, size_t length) {
    BIO *bio = BIO_new_mem_buf(pem, (int)length);
    X509 *certificate = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    bool done = certificate != NULL && SSL_CTX_use_certificate(context, certificate) == 1;
    X509_free(certificate);
    while (done && (certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
        done = SSL_CTX_add1_chain_cert(context, certificate) == 1;
        X509_free(certificate);
    }
    BIO_free(bio);
    return done;
}

static bool use_key(SSL_CTX *context, const char *pem, size_t length) {
    BIO *bio = BIO_new_mem_buf(pem, (int)length);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    bool done = key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return done;
}

static bool has_fingerprint(const parlor_dtls *dtls, const X509 *certificate) {
    static const EVP_MD *(*const hashes[])(void) = {EVP_sha256, EVP_sha384, EVP_sha512};
    for (size_t n = 0; n < dtls->fingerprint_count; n++) {
        const struct parlor_dtls_fingerprint *wanted = &dtls->fingerprints[n];
        uint8_t digest[EVP_MAX_MD_SIZE];
        unsigned int length = 0;
        if (X509_digest(certificate, hashes[wanted->hash](), digest, &length) == 1 && length <= sizeof wanted->bytes
            && CRYPTO_memcmp(digest, wanted->bytes, length) == 0)
            return true;
    }
    return dtls->fingerprint_count == 0;
}

/// In place of a chain of trust: nobody signed these certificates but their owners, and what says which is right is the
/// fingerprint in signalling (RFC 8827, section 5.5). Refused here, the peer hears of it by an alert, and no keys come about.
static int verify(X509_STORE_CTX *store, void *unused) {
    (void)unused;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    parlor_dtls *dtls = ssl == NULL ? NULL : SSL_get_ex_data(ssl, association_index);
    X509 *certificate = X509_STORE_CTX_get0_cert(store);
    if (dtls != NULL && certificate != NULL) {
        dtls->verified = has_fingerprint(dtls, certificate);
        dtls->mismatch = !dtls->verified;
        if (dtls->verified) {
            X509_STORE_CTX_set_error(store, X509_V_OK);
            return 1;
        }
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
}

static bool configure(SSL_CTX *context, const char *profiles) {
    SSL_CTX_set_options(
        context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
                     | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    // 112 bits: no RSA below 2048, no SHA-1. Set here, whatever the system's configuration says.
    SSL_CTX_set_security_level(context, 2);
    SSL_CTX_set_max_cert_list(context, longest_chain);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, NULL);
    return SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1
           && SSL_CTX_set_max_proto_version(context, DTLS1_2_VERSION) == 1
           // Bounds the buffer of outgoing records, too.
           && SSL_CTX_set_max_send_fragment(context, PARLOR_DTLS_LONGEST_DATAGRAM) == 1
           // RFC 8827, section 6.5, with the sender's authentication by either kind of certificate.
           && SSL_CTX_set_cipher_list(
                  context, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
                           "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305")
                  == 1
           && SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1
           && SSL_CTX_set1_sigalgs_list(
                  context, "ECDSA+SHA256:RSA-PSS+SHA256:RSA+SHA256:ed25519:ECDSA+SHA384:RSA-PSS+SHA384:RSA+SHA384:"
                           "ECDSA+SHA512:RSA-PSS+SHA512:RSA+SHA512")
                  == 1
           // This one returns 0 when all is well.
           && SSL_CTX_set_tlsext_use_srtp(context, profiles) == 0;
}

parlor_dtls_context *parlor_dtls_context_create(
    const char *pem, size_t length, const char *key_pem, size_t key_length, const char *profiles) {
    if (length == 0 || length > longest_pem || key_length == 0 || key_length > longest_pem) return NULL;
    if (pthread_once(&once, make_bio_method) != 0 || bio_method == NULL || association_index < 0) return NULL;
    parlor_dtls_context *context = calloc(1, sizeof *context);
    if (context == NULL) return NULL;
    ERR_clear_error();
    context->ssl = SSL_CTX_new(DTLS_method());
    bool done = context->ssl != NULL && configure(context->ssl, profiles)
                && use_certificates(context->ssl, pem, length) && use_key(context->ssl, key_pem, key_length);
    ERR_clear_error();
    if (done) return context;
    parlor_dtls_context_destroy(context);
    return NULL;
}

void parlor_dtls_context_destroy(parlor_dtls_context *context) {
    if (context == NULL) return;
    SSL_CTX_free(context->ssl);
    free(context);
}

// The association

/// How long OpenSSL shall wait by its own clock, in microseconds; `before`: how long it waited last, 0 for a new flight.
static unsigned int timer_callback(SSL *ssl, unsigned int before) {
    (void)ssl;
    // Longer than any handshake, so that it never fires inside a step.
    if (has_timer()) return UINT32_MAX;
    unsigned int next = before == 0 ? PARLOR_DTLS_FIRST_TIMEOUT_US : 2 * before;
    return next > PARLOR_DTLS_LONGEST_TIMEOUT_US ? PARLOR_DTLS_LONGEST_TIMEOUT_US : next;
}

parlor_dtls *parlor_dtls_create(
    parlor_dtls_context *context, bool client, const struct parlor_dtls_fingerprint *fingerprints, size_t count) {
    if (count > most_fingerprints) return NULL;
    for (size_t n = 0; n < count; n++)
        if (fingerprints[n].hash < 0 || fingerprints[n].hash > PARLOR_DTLS_SHA512) return NULL;
    parlor_dtls *dtls = calloc(1, sizeof *dtls + count * sizeof *fingerprints);
    if (dtls == NULL) return NULL;
    dtls->fingerprint_count = count;
    if (count > 0) memcpy(dtls->fingerprints, fingerprints, count * sizeof *fingerprints);
    ERR_clear_error();
    dtls->ssl = SSL_new(context->ssl);
    BIO *bio = dtls->ssl == NULL ? NULL : BIO_new(bio_method);
    if (bio == NULL || SSL_set_ex_data(dtls->ssl, association_index, dtls) != 1) {
        BIO_free(bio);
        parlor_dtls_destroy(dtls);
        ERR_clear_error();
        return NULL;
    }
    BIO_set_data(bio, dtls);
    SSL_set_bio(dtls->ssl, bio, bio);
    SSL_set_mtu(dtls->ssl, PARLOR_DTLS_LONGEST_DATAGRAM);
    DTLS_set_timer_cb(dtls->ssl, timer_callback);
    if (client)
        SSL_set_connect_state(dtls->ssl);
    else
        SSL_set_accept_state(dtls->ssl);
    ERR_clear_error();
    return dtls;
}

void parlor_dtls_destroy(parlor_dtls *dtls) {
    if (dtls == NULL) return;
    SSL_free(dtls->ssl);
    while (dtls->first != NULL) {
        struct waiting *next = dtls->first->next;
        free(dtls->first);
        dtls->first = next;
    }
    free(dtls);
}

static void fail(parlor_dtls *dtls, int32_t state) {
    dtls->state = dtls->mismatch ? PARLOR_DTLS_WRONG_FINGERPRINT : state;
    dtls->timer_runs = false;
}

/// Reads what is no handshake: nothing of it is used, but close_notify, alerts and repeated handshake messages count. What
/// is not authentic OpenSSL drops by itself, so an error is the peer's doing.
static void drain(parlor_dtls *dtls) {
    uint8_t scratch[2048];
    for (int n = 0; n < most_reads; n++) {
        int length = SSL_read(dtls->ssl, scratch, sizeof scratch);
        if (length > 0) continue;
        if (SSL_get_error(dtls->ssl, length) != SSL_ERROR_WANT_READ) fail(dtls, PARLOR_DTLS_CLOSED_BY_PEER);
        return;
    }
}

static void handshake(parlor_dtls *dtls) {
    int result = SSL_do_handshake(dtls->ssl);
    if (result == 1) {
        // Without a profile there are no keys, so the association is of no use (RFC 5764, section 4.1).
        bool usable = dtls->verified && SSL_get_selected_srtp_profile(dtls->ssl) != NULL;
        dtls->timer_runs = false;
        if (usable) {
            dtls->state = PARLOR_DTLS_CONNECTED;
        } else {
            SSL_shutdown(dtls->ssl);
            fail(dtls, PARLOR_DTLS_FAILED);
        }
    } else if (SSL_get_error(dtls->ssl, result) != SSL_ERROR_WANT_READ) {
        fail(dtls, PARLOR_DTLS_FAILED);
    }
}

/// Once connected, hardly anything comes: the record buffers, 18 KiB, are there only while something does.
static bool take_buffers(parlor_dtls *dtls) {
    return dtls->state != PARLOR_DTLS_CONNECTED || SSL_alloc_buffers(dtls->ssl) == 1;
}

/// After a step: what the new state does not need goes. What waits to be taken, an alert perhaps, is ours.
static void release(parlor_dtls *dtls) {
    if (dtls->state < 0) {
        SSL_free(dtls->ssl);
        dtls->ssl = NULL;
        dtls->timer = NULL;
    } else if (dtls->state == PARLOR_DTLS_CONNECTED) {
        // Fails while a record is only half read; then they stay.
        SSL_free_buffers(dtls->ssl);
    }
    ERR_clear_error();
}

int32_t parlor_dtls_step(parlor_dtls *dtls, const uint8_t *datagram, size_t length) {
    if (dtls->state < 0) return dtls->state;
    // Without memory, the datagram is lost.
    if (!take_buffers(dtls)) return dtls->state;
    // What another association left in this thread's queue would be read as an error of this one.
    ERR_clear_error();
    dtls->incoming = datagram;
    dtls->incoming_length = length;
    if (dtls->state == PARLOR_DTLS_HANDSHAKING) handshake(dtls);
    if (dtls->state == PARLOR_DTLS_CONNECTED) drain(dtls);
    dtls->incoming = NULL;
    dtls->incoming_length = 0;
    release(dtls);
    return dtls->state;
}

int32_t parlor_dtls_timeout(parlor_dtls *dtls) {
    if (dtls->state != PARLOR_DTLS_HANDSHAKING || !dtls->timer_runs) return dtls->state;
    ERR_clear_error();
    if (dtls->timer != NULL) {
        dtls->timer->tv_sec = 1;
        dtls->timer->tv_usec = 0;
    }
    if (DTLSv1_handle_timeout(dtls->ssl) < 0) fail(dtls, PARLOR_DTLS_FAILED);
    release(dtls);
    return dtls->state;
}

int32_t parlor_dtls_state(const parlor_dtls *dtls) { return dtls->state; }

uint32_t parlor_dtls_flights(const parlor_dtls *dtls) { return dtls->timer_runs ? dtls->flights : 0; }

size_t parlor_dtls_take(parlor_dtls *dtls, uint8_t *out, size_t capacity) {
    struct waiting *entry = dtls->first;
    if (entry == NULL || entry->length > capacity) return 0;
    dtls->first = entry->next;
    if (dtls->first == NULL) dtls->last = NULL;
    dtls->waiting_count--;
    size_t length = entry->length;
    memcpy(out, entry->bytes, length);
    free(entry);
    return length;
}

void parlor_dtls_close(parlor_dtls *dtls) {
    if (dtls->state < 0) return;
    ERR_clear_error();
    if (dtls->state == PARLOR_DTLS_CONNECTED && take_buffers(dtls)) SSL_shutdown(dtls->ssl);
    dtls->state = PARLOR_DTLS_CLOSED;
    dtls->timer_runs = false;
    release(dtls);
}

// RFC 5764, section 4.2: the client's key, the server's key, the client's salt, the server's salt.

bool parlor_dtls_export(parlor_dtls *dtls, struct parlor_dtls_keys *out) {
    memset(out, 0, sizeof *out);
    if (dtls->state != PARLOR_DTLS_CONNECTED || !dtls->verified) return false;
    const SRTP_PROTECTION_PROFILE *profile = SSL_get_selected_srtp_profile(dtls->ssl);
    if (profile == NULL) return false;
    switch (profile->id) {
    case SRTP_AES128_CM_SHA1_80: out->profile = PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80; break;
    case SRTP_AEAD_AES_128_GCM: out->profile = PARLOR_SRTP_AEAD_AES_128_GCM; break;
    case SRTP_AEAD_AES_256_GCM: out->profile = PARLOR_SRTP_AEAD_AES_256_GCM; break;
    default: return false;
    }
    size_t key = key_length(out->profile), salt = salt_length(out->profile);
    uint8_t material[2 * (32 + 14)];
    static const char label[] = "EXTRACTOR-dtls_srtp";
    ERR_clear_error();
    bool done = SSL_export_keying_material(
                    dtls->ssl, material, 2 * (key + salt), label, sizeof label - 1, NULL, 0, 0)
                == 1;
    ERR_clear_error();
    if (done) {
        memcpy(out->client_key, material, key);
        memcpy(out->server_key, material + key, key);
        memcpy(out->client_salt, material + 2 * key, salt);
        memcpy(out->server_salt, material + 2 * key + salt, salt);
    }
    OPENSSL_cleanse(material, sizeof material);
    return done;
}
