#include "client.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace parlor_web {

Connector::Connector(Loop &loop, std::string host, std::uint16_t port, TLSContext tls, bool verifies)
    : loop_(loop), host_(std::move(host)), port_(port), tls_(std::move(tls)), verifies_(verifies),
      resolver_(loop.executor()) {}

void Connector::start(Done done) {
    done_ = std::move(done);
    error_code error;
    const auto address = asio::ip::make_address(host_, error);
    if (!error) {
        connect({{address, port_}}, 0, {});
        return;
    }
    resolver_.async_resolve(
        host_, std::to_string(port_), asio::ip::resolver_base::numeric_service,
        [self = shared_from_this()](error_code error, const Resolver::results_type &results) {
            if (!self->done_) {
                return;
            }
            if (error) {
                self->end(Failure{PARLOR_WEB_RESOLVE, "no address for " + self->host_, error}, std::nullopt);
                return;
            }
            std::vector<asio::ip::tcp::endpoint> endpoints;
            for (const auto &result : results) {
                endpoints.push_back(result.endpoint());
            }
            self->connect(std::move(endpoints), 0, asio::error::host_not_found);
        });
}

void Connector::connect(std::vector<asio::ip::tcp::endpoint> endpoints, std::size_t next, error_code last) {
    if (next >= endpoints.size()) {
        const std::string place = host_ + ":" + std::to_string(port_);
        end(Failure{PARLOR_WEB_CONNECT, "cannot connect to " + place, last}, std::nullopt);
        return;
    }
    socket_.emplace(loop_.executor());
    error_code failed;
    open_socket(*socket_, endpoints[next].protocol(), 0, failed);
    if (failed) {
        end(Failure{PARLOR_WEB_CONNECT, "no socket for " + host_, failed}, std::nullopt);
        return;
    }
    const auto endpoint = endpoints[next];
    socket_->async_connect(
        endpoint, [self = shared_from_this(), endpoints = std::move(endpoints), next](error_code error) mutable {
            if (!self->done_) {
                return;
            }
            if (error) {
                self->connect(std::move(endpoints), next + 1, error);
                return;
            }
            error_code ignored;
            self->socket_->set_option(asio::ip::tcp::no_delay(true), ignored);
            self->connected(std::move(*self->socket_));
        });
}

void Connector::connected(Socket socket) {
    if (tls_ == nullptr) {
        end(std::nullopt, Stream(std::move(socket)));
        return;
    }
    stream_.emplace(std::move(socket), tls_);
    auto *tls = stream_->tls();
    error_code error;
    asio::ip::make_address(host_, error);
    const bool is_name = static_cast<bool>(error);
    if (tls->native() == nullptr) {
        end(Failure{PARLOR_WEB_TLS, "no TLS session with " + host_, asio::error::no_memory}, std::nullopt);
        return;
    }
    if (is_name) {  // not for an address (RFC 6066, 3)
        SSL_set_tlsext_host_name(tls->native(), host_.c_str());
    }
    if (verifies_) {
        SSL_set_hostflags(tls->native(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        const int accepted = is_name ? SSL_set1_host(tls->native(), host_.c_str())
                                     : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->native()), host_.c_str());
        if (accepted != 1) {
            end(Failure{PARLOR_WEB_TLS, "no certificate can be for " + host_, {}}, std::nullopt);
            return;
        }
    }
    tls->async_handshake(false, [self = shared_from_this()](error_code error) {
        if (!self->done_) {
            return;
        }
        if (error) {
            self->end(Failure{PARLOR_WEB_TLS, "no TLS session with " + self->host_, error}, std::nullopt);
        } else {
            auto stream = std::move(self->stream_);
            self->stream_.reset();
            self->end(std::nullopt, std::move(stream));
        }
    });
}

void Connector::end(std::optional<Failure> failure, std::optional<Stream> stream) {
    const auto done = std::move(done_);
    done_ = nullptr;
    done(std::move(failure), std::move(stream));
}

void Connector::cancel() {
    done_ = nullptr;
    resolver_.cancel();
    error_code ignored;
    if (stream_.has_value()) {
        stream_->close();
    } else if (socket_.has_value()) {
        socket_->close(ignored);
    }
}

std::string authority(const std::string &host, std::uint16_t port, bool is_tls) {
    std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
    if (port != (is_tls ? 443 : 80)) {
        text += ":" + std::to_string(port);
    }
    return text;
}

}  // namespace parlor_web
