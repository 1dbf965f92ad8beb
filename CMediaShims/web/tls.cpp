// Asio's TLS sources, once, and the making of TLS contexts.
#include "stream.hpp"

#include <boost/asio/ssl/impl/src.hpp>

#include <openssl/ssl.h>

using namespace parlor_web;

static std::shared_ptr<asio::ssl::context> make_context(asio::ssl::context::method method) {
    auto context = std::make_shared<asio::ssl::context>(method);
    SSL_CTX *native = context->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // Idle connections keep no record buffers; a renegotiation would be work for the asking.
    SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    return context;
}

// ALPN (RFC 7301): length and name of the one protocol that is spoken here.
static const unsigned char spoken[] = "\x08http/1.1";
static constexpr unsigned int spoken_count = sizeof spoken - 1;

static int choose_protocol(
    SSL *, const unsigned char **chosen, unsigned char *count, const unsigned char *offered,
    unsigned int offered_count, void *) {
    unsigned char *found = nullptr;
    const int result = SSL_select_next_proto(&found, count, spoken, spoken_count, offered, offered_count);
    if (result != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;  // no_application_protocol (RFC 7301, 3.2)
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

parlor_web_tls *parlor_web_tls_server(
    const char *certificate_chain, bool chain_is_file, const char *private_key, bool key_is_file,
    parlor_web_failure *failure) {
    auto context = make_context(asio::ssl::context::tls_server);
    SSL_CTX *native = context->native_handle();
    // Of TLS 1.2, which every present browser and library can do better than, only the suites with forward secrecy and
    // AEAD (RFC 9325, 4.2).
    SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");
    SSL_CTX_set_alpn_select_cb(native, choose_protocol, nullptr);
    error_code error;
    if (chain_is_file) {
        context->use_certificate_chain_file(certificate_chain, error);
    } else {
        context->use_certificate_chain(asio::buffer(std::string(certificate_chain)), error);
    }
    if (error) {
        const std::string name = chain_is_file ? " file " + std::string(certificate_chain) : "";
        describe(failure, PARLOR_WEB_TLS, "the certificate chain" + name + " cannot be used", error);
        return nullptr;
    }
    if (key_is_file) {
        context->use_private_key_file(private_key, asio::ssl::context::pem, error);
    } else {
        context->use_private_key(asio::buffer(std::string(private_key)), asio::ssl::context::pem, error);
    }
    if (error) {
        const std::string name = key_is_file ? " file " + std::string(private_key) : "";
        describe(failure, PARLOR_WEB_TLS, "the private key" + name + " cannot be used with this certificate", error);
        return nullptr;
    }
    return new parlor_web_tls{std::move(context)};
}

parlor_web_tls *parlor_web_tls_client(
    const char *authorities, bool is_file, bool insecure, parlor_web_failure *failure) {
    auto context = make_context(asio::ssl::context::tls_client);
    SSL_CTX_set_alpn_protos(context->native_handle(), spoken, spoken_count);
    error_code error;
    if (insecure) {
        context->set_verify_mode(asio::ssl::verify_none, error);
        return new parlor_web_tls{std::move(context), false};
    }
    context->set_verify_mode(asio::ssl::verify_peer, error);
    context->set_default_verify_paths(error);
    if (authorities != nullptr) {
        if (is_file) {
            context->load_verify_file(authorities, error);
        } else {
            context->add_certificate_authority(asio::buffer(std::string(authorities)), error);
        }
        if (error) {
            describe(failure, PARLOR_WEB_TLS, "the certificate authorities cannot be used", error);
            return nullptr;
        }
    }
    return new parlor_web_tls{std::move(context), true};
}

void parlor_web_tls_release(parlor_web_tls *tls) { delete tls; }
