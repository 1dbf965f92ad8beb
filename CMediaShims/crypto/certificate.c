#include "internal.h"

#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <time.h>

enum {
    /// RFC 5280, appendix A.1: ub-common-name.
    longest_common_name = 64,
    /// RFC 1035, section 2.3.4, without the last dot.
    longest_dns_name = 253,
    most_names = 64,
    longest_pem = 1 << 20,
    seconds_per_day = 86400,
};

struct parlor_certificate_request {
    X509_NAME *subject;
    GENERAL_NAMES *names;
};

parlor_certificate_request *parlor_certificate_request_create(const char *common_name, size_t length) {
    if (length == 0 || length > longest_common_name) return NULL;
    parlor_certificate_request *request = calloc(1, sizeof *request);
    if (request == NULL) return NULL;
    request->subject = X509_NAME_new();
    request->names = sk_GENERAL_NAME_new_null();
    if (request->subject != NULL && request->names != NULL
        && X509_NAME_add_entry_by_NID(
               request->subject, NID_commonName, MBSTRING_UTF8, (const uint8_t *)common_name, (int)length, -1, 0)
               == 1)
        return request;
    parlor_certificate_request_destroy(request);
    return NULL;
}

void parlor_certificate_request_destroy(parlor_certificate_request *request) {
    if (request == NULL) return;
    X509_NAME_free(request->subject);
    GENERAL_NAMES_free(request->names);
    free(request);
}

/// Takes `bytes` as an alternative name of that kind (RFC 5280, section 4.2.1.6).
static bool add_name(parlor_certificate_request *request, int kind, const void *bytes, size_t length) {
    if (sk_GENERAL_NAME_num(request->names) >= most_names) return false;
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_STRING *value = kind == GEN_DNS ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
    if (name == NULL || value == NULL || ASN1_STRING_set(value, bytes, (int)length) != 1) {
        GENERAL_NAME_free(name);
        ASN1_STRING_free(value);
        return false;
    }
    // From here on the value belongs to the name.
    GENERAL_NAME_set0_value(name, kind, value);
    if (sk_GENERAL_NAME_push(request->names, name) > 0) return true;
    GENERAL_NAME_free(name);
    return false;
}

bool parlor_certificate_request_add_dns_name(parlor_certificate_request *request, const char *name, size_t length) {
    if (length == 0 || length > longest_dns_name) return false;
    for (size_t n = 0; n < length; n++) {
        char c = name[n];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.'
                     || c == '_' || c == '*';
        if (!plain) return false;
    }
    return add_name(request, GEN_DNS, name, length);
}

bool parlor_certificate_request_add_address(parlor_certificate_request *request, const uint8_t *bytes, size_t length) {
    return (length == 4 || length == 16) && add_name(request, GEN_IPADD, bytes, length);
}

/// 127 random bits: unique, and more than the 64 that CAs must use (RFC 5280, section 4.1.2.2: positive, at most 20 bytes).
static bool set_serial(X509 *certificate) {
    uint8_t bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] = (bytes[0] & 0x7F) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool done = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return done;
}

static bool add_extension(X509 *certificate, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    bool done = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return done;
}

static X509 *make(const parlor_certificate_request *request, EVP_PKEY *key, int64_t now, int32_t days) {
    X509 *certificate = X509_new();
    if (certificate == NULL) return NULL;
    time_t start = (time_t)now;
    bool done =
        X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate)
        // A day back: clocks of clients may be behind.
        && X509_time_adj_ex(X509_getm_notBefore(certificate), -1, 0, &start) != NULL
        && X509_time_adj_ex(X509_getm_notAfter(certificate), days, 0, &start) != NULL
        && X509_set_subject_name(certificate, request->subject) == 1
        && X509_set_issuer_name(certificate, request->subject) == 1 && X509_set_pubkey(certificate, key) == 1
        && add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE")
        && add_extension(certificate, NID_key_usage, "critical,digitalSignature")
        // clientAuth, too: a WebRTC peer is DTLS client or server, as signalling says (RFC 8842, section 5.3).
        && add_extension(certificate, NID_ext_key_usage, "serverAuth,clientAuth")
        && add_extension(certificate, NID_subject_key_identifier, "hash")
        && (sk_GENERAL_NAME_num(request->names) == 0
            || X509_add1_ext_i2d(certificate, NID_subject_alt_name, request->names, 0, X509V3_ADD_DEFAULT) == 1)
        && X509_sign(certificate, key, EVP_sha256()) > 0;
    if (done) return certificate;
    X509_free(certificate);
    return NULL;
}

/// RFC 8122, section 5: SHA-256 of the DER, upper-case hexadecimal bytes with colons.
static bool write_fingerprint(const X509 *certificate, char out[PARLOR_FINGERPRINT_SIZE]) {
    static const char digits[] = "0123456789ABCDEF";
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    if (X509_digest(certificate, EVP_sha256(), digest, &length) != 1 || length != 32) return false;
    for (size_t n = 0; n < 32; n++) {
        out[3 * n] = digits[digest[n] >> 4];
        out[3 * n + 1] = digits[digest[n] & 15];
        out[3 * n + 2] = n == 31 ? 0 : ':';
    }
    return true;
}

/// The content of a memory BIO as a C string.
static char *text(BIO *bio) {
    char *bytes = NULL;
    long length = BIO_get_mem_data(bio, &bytes);
    if (length <= 0) return NULL;
    char *result = malloc((size_t)length + 1);
    if (result == NULL) return NULL;
    memcpy(result, bytes, (size_t)length);
    result[length] = 0;
    return result;
}

bool parlor_certificate_request_sign(
    const parlor_certificate_request *request, int64_t now, int32_t days, struct parlor_certificate *out) {
    memset(out, 0, sizeof *out);
    if (now == 0) now = time(NULL);
    if (days < 1 || days > PARLOR_CERTIFICATE_MOST_DAYS || now < seconds_per_day || now > INT32_MAX * INT64_C(64))
        return false;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key == NULL ? NULL : make(request, key, now, days);
    BIO *certificate_text = BIO_new(BIO_s_mem());
    // Its memory is erased when it is freed.
    BIO *key_text = BIO_new(BIO_s_secmem());
    bool done = certificate != NULL && certificate_text != NULL && key_text != NULL
                && PEM_write_bio_X509(certificate_text, certificate) == 1
                && PEM_write_bio_PKCS8PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL) == 1
                && write_fingerprint(certificate, out->fingerprint);
    if (done) {
        out->certificate = text(certificate_text);
        out->private_key = text(key_text);
        done = out->certificate != NULL && out->private_key != NULL;
    }
    BIO_free(certificate_text);
    BIO_free(key_text);
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (!done) parlor_certificate_free(out);
    return done;
}

void parlor_certificate_free(struct parlor_certificate *certificate) {
    free(certificate->certificate);
    if (certificate->private_key != NULL) OPENSSL_cleanse(certificate->private_key, strlen(certificate->private_key));
    free(certificate->private_key);
    memset(certificate, 0, sizeof *certificate);
}

/// An encrypted PEM is refused: without this, OpenSSL asks for its passphrase at the terminal.
static int no_passphrase(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static X509 *read_certificate(const char *pem, size_t length) {
    if (length == 0 || length > longest_pem) return NULL;
    BIO *bio = BIO_new_mem_buf(pem, (int)length);
    X509 *certificate = bio == NULL ? NULL : PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    BIO_free(bio);
    return certificate;
}

bool parlor_certificate_fingerprint(const char *pem, size_t length, char out[PARLOR_FINGERPRINT_SIZE]) {
    X509 *certificate = read_certificate(pem, length);
    bool done = certificate != NULL && write_fingerprint(certificate, out);
    X509_free(certificate);
    return done;
}

bool parlor_certificate_has_key(const char *pem, size_t length, const char *key_pem, size_t key_length) {
    if (key_length == 0 || key_length > longest_pem) return false;
    X509 *certificate = read_certificate(pem, length);
    BIO *bio = BIO_new_mem_buf(key_pem, (int)key_length);
    EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
    bool fits = certificate != NULL && key != NULL && X509_check_private_key(certificate, key) == 1;
    BIO_free(bio);
    EVP_PKEY_free(key);
    X509_free(certificate);
    return fits;
}
