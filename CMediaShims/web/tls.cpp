// Asio's TLS sources, once, the steps of a TLS stream, and the making of TLS contexts.
#include "stream.hpp"

#include <boost/asio/ssl/impl/src.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>

#include <sys/socket.h>

namespace parlor_web {

// MARK: - Streams

TLSStream::TLSStream(Socket socket, SSL_CTX *context) : socket_(std::move(socket)), ssl_(SSL_new(context)) {
    error_code ignored;
    socket_.native_non_blocking(true, ignored);
    if (ssl_ != nullptr && SSL_set_fd(ssl_.get(), socket_.native_handle()) != 1) {
        ssl_.reset();
    }
}

void TLSStream::say_end() {
    if (is_ready()) {
        SSL_shutdown(ssl_.get());
    }
}

bool TLSStream::is_ready() {
    // OpenSSL's queue of errors is the thread's, and SSL_get_error looks at it.
    ERR_clear_error();
    errno = 0;
    return ssl_ != nullptr && socket_.is_open();
}

TLSStream::Wish TLSStream::wish(int result, error_code &error) {
    const int saved = errno;
    const int reason = SSL_get_error(ssl_.get(), result);
    switch (reason) {
    case SSL_ERROR_WANT_READ: return Wish::read;
    case SSL_ERROR_WANT_WRITE: return Wish::write;
    case SSL_ERROR_ZERO_RETURN: error = asio::error::eof; break;
    case SSL_ERROR_SYSCALL:
        error = saved == 0 ? asio::ssl::error::stream_truncated
                           : error_code(saved, boost::system::system_category());
        break;
    default: {
        const auto code = ERR_get_error();
        if (ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
            error = asio::ssl::error::stream_truncated;
        } else {
            error = error_code(static_cast<int>(code), asio::error::get_ssl_category());
        }
    }
    }
    return Wish::end;
}

bool Stream::discard(std::size_t &discarded, error_code &error) {
    // As much as a peer may have sent before it reads our last words.
    constexpr std::size_t limit = 4 * 1024 * 1024;
    char buffer[16 * 1024];
    while (discarded <= limit) {
        const auto count = ::recv(socket().native_handle(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (count == 0) {
            return true;
        }
        if (count < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return false;
            }
            if (errno != EINTR) {
                error = error_code(errno, boost::system::system_category());
                return true;
            }
            continue;
        }
        discarded += static_cast<std::size_t>(count);
    }
    error = asio::error::message_size;
    return true;
}

}  // namespace parlor_web

// MARK: - Contexts

using namespace parlor_web;

static std::shared_ptr<asio::ssl::context> make_context(asio::ssl::context::method method) {
    auto context = std::make_shared<asio::ssl::context>(method);
    SSL_CTX *native = context->native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    // Idle connections keep no record buffers; a renegotiation would be work for the asking. A write may end after one
    // record, and is tried again from wherever the bytes are then.
    SSL_CTX_set_mode(
        native, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
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
    // Sessions are resumed by tickets, which the clients keep.
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(native, 1);
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
