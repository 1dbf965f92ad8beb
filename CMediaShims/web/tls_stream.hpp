// TLS over a socket, by OpenSSL directly. Asio's own stream keeps 70 kB of buffers for each connection, also for an idle
// one; here an idle connection has none, for the context releases OpenSSL's (SSL_MODE_RELEASE_BUFFERS).
#pragma once

#include "common.hpp"

#include <boost/asio/compose.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>

#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace parlor_web {

/// Writes go to the socket by write(2): whoever runs this has SIGPIPE blocked, as every loop has.
class TLSStream : public std::enable_shared_from_this<TLSStream> {
public:
    TLSStream(Socket socket, SSL_CTX *context);

    Socket &socket() { return socket_; }
    SSL *native() { return ssl_.get(); }

    /// The handler gets an error_code, also where there was no memory for a session.
    template <class Handler>
    void async_handshake(bool is_server, Handler &&handler) {
        if (ssl_ == nullptr) {
            // The attempt below finds that, too, and ends.
        } else if (is_server) {
            SSL_set_accept_state(ssl_.get());
        } else {
            SSL_set_connect_state(ssl_.get());
        }
        auto attempt = [](SSL *ssl, std::size_t &) { return SSL_do_handshake(ssl); };
        start(attempt, [handler = std::forward<Handler>(handler)](error_code error, std::size_t) mutable {
            handler(error);
        });
    }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers &buffers, Handler &&handler) {
        auto attempt = [buffers](SSL *ssl, std::size_t &count) {
            for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
                const asio::mutable_buffer buffer(*at);
                if (buffer.size() > 0) {
                    return SSL_read_ex(ssl, buffer.data(), buffer.size(), &count);
                }
            }
            count = 0;
            return 1;
        };
        start(attempt, std::forward<Handler>(handler));
    }

    template <class Buffers, class Handler>
    void async_write_some(const Buffers &buffers, Handler &&handler) {
        auto attempt = [buffers](SSL *ssl, std::size_t &count) {
            // A frame's header and its payload, or a response's, leave in one record if they are small. A second
            // attempt finds the same bytes.
            char gathered[4096];
            std::size_t size = 0;
            for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
                const asio::const_buffer buffer(*at);
                if (size == 0 && buffer.size() >= sizeof gathered) {
                    return SSL_write_ex(ssl, buffer.data(), buffer.size(), &count);
                }
                const std::size_t part = std::min(buffer.size(), sizeof gathered - size);
                if (part > 0) {
                    std::memcpy(gathered + size, buffer.data(), part);
                    size += part;
                }
            }
            if (size == 0) {
                count = 0;
                return 1;
            }
            return SSL_write_ex(ssl, gathered, size, &count);
        };
        start(attempt, std::forward<Handler>(handler));
    }

    /// Tells the peer that nothing follows, if the socket takes it now.
    void say_end();

private:
    /// What OpenSSL wants after an attempt that did not succeed.
    enum class Wish { read, write, end };
    Wish wish(int result, error_code &error);
    /// Before each attempt. False once the socket is closed, whose number may be another's by now.
    bool is_ready();

    struct Freeing {
        void operator()(SSL *ssl) const { SSL_free(ssl); }
    };

    /// Attempts, waits for the socket, and attempts again. Keeps the stream: Beast's pings do not.
    template <class Attempt>
    struct Operation {
        std::shared_ptr<TLSStream> stream;
        Attempt attempt;
        bool has_waited = false;
        bool is_done = false;
        error_code result{};
        std::size_t count = 0;

        template <class Self>
        void operator()(Self &self, error_code error = {}) {
            if (is_done) {
                self.complete(result, count);
                return;
            }
            if (error) {
                self.complete(error, 0);
                return;
            }
            if (!stream->is_ready()) {
                result = asio::error::operation_aborted;
            } else if (const int outcome = attempt(stream->ssl_.get(), count); outcome <= 0) {
                count = 0;
                const auto wish = stream->wish(outcome, result);
                if (wish != Wish::end) {
                    has_waited = true;
                    const auto direction = wish == Wish::read ? Socket::wait_read : Socket::wait_write;
                    auto &socket = stream->socket_;
                    socket.async_wait(direction, std::move(self));
                    return;
                }
            }
            if (has_waited) {
                self.complete(result, count);
            } else {
                // Never inside the call that began it.
                is_done = true;
                const auto executor = stream->socket_.get_executor();
                asio::post(executor, std::move(self));
            }
        }
    };

    template <class Attempt, class Handler>
    void start(Attempt attempt, Handler &&handler) {
        asio::async_compose<Handler, void(error_code, std::size_t)>(
            Operation<Attempt>{shared_from_this(), std::move(attempt)}, handler, socket_);
    }

    Socket socket_;
    std::unique_ptr<SSL, Freeing> ssl_;
};

}  // namespace parlor_web
