#include "connection.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace parlor_web {

namespace {

/// What one read asks for: an ordinary request fits; a body comes in larger pieces.
constexpr std::size_t header_read = 1024;
constexpr std::size_t body_read = 16 * 1024;
/// A chunk's header line with extensions may be this long beyond the limit of the header.
constexpr std::size_t buffer_reserve = 1024;
/// After the last response: how long the peer may go on sending before it closes.
constexpr std::uint32_t linger_ms = 2000;
/// With every 503 (RFC 9110, 10.2.3): connections come and go within seconds.
constexpr int retry_after_seconds = 5;

bool has_no_body(unsigned status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

Connection::Connection(
    std::shared_ptr<Server> server, Stream stream, std::string peer_host, std::uint16_t peer_port, bool is_surplus)
    : server_(std::move(server)), stream_(std::move(stream)), peer_host_(std::move(peer_host)), peer_port_(peer_port),
      is_surplus_(is_surplus), buffer_(server_->limits.header_bytes + buffer_reserve) {}

void Connection::set_deadline(std::uint32_t milliseconds) {
    server_->loop->arm(*this, Clock::now() + Milliseconds(milliseconds));
}

void Connection::start() {
    set_deadline(server_->limits.header_ms);
    if (stream_.tls() == nullptr) {
        begin();
        return;
    }
    stream_.tls()->async_handshake(true, [self = shared_from_this()](error_code error) {
        if (self->phase_ != Phase::handshake) {
            return;
        }
        if (error) {
            Counters::add(self->server_->counters.tls_failures);
            self->close();
            return;
        }
        self->begin();
    });
}

void Connection::begin() {
    phase_ = Phase::idle;
    if (is_surplus_) {
        const std::string limit = std::to_string(server_->limits.connections);
        reject({503, "too many connections; the limit is " + limit + ", try again later"}, nullptr);
    } else {
        read(header_read);
    }
}

void Connection::read(std::size_t count) {
    const std::size_t room = buffer_.max_size() - buffer_.size();
    if (room == 0) {
        reject(rejection_of(beast::http::error::header_limit, server_->limits), &Counters::header_too_large);
        return;
    }
    stream_.async_read_some(
        buffer_.prepare(std::min(count, room)),
        [self = shared_from_this()](error_code error, std::size_t received) { self->received(error, received); });
}

void Connection::received(error_code error, std::size_t count) {
    if (phase_ != Phase::idle && phase_ != Phase::reading) {
        return;
    }
    if (error) {
        if (phase_ == Phase::idle) {
            close();
        } else if (error == asio::error::eof) {
            // The peer may have closed only its sending half, and can still read.
            Counters::add(server_->counters.broken);
            reject({400, "the request is incomplete; its end did not come before the end of the connection"}, nullptr);
        } else {
            Counters::add(server_->counters.broken);
            close();
        }
        return;
    }
    buffer_.commit(count);
    process();
}

void Connection::process() {
    const auto &limits = server_->limits;
    for (;;) {
        if (parser_ == nullptr) {
            // An empty line before a request is no error (RFC 9112, 2.2).
            const auto text = buffer_.data();
            if (text.size() >= 2 && std::memcmp(text.data(), "\r\n", 2) == 0) {
                buffer_.consume(2);
                continue;
            }
            if (text.size() == 0 || (text.size() == 1 && *static_cast<const char *>(text.data()) == '\r')) {
                phase_ = Phase::idle;
                read(header_read);
                return;
            }
            parser_ = std::make_unique<MessageParser<true>>(limits.header_bytes, limits.body_bytes);
            header_checked_ = false;
            phase_ = Phase::reading;
            const auto now = Clock::now();
            request_deadline_ = now + Milliseconds(limits.request_ms);
            server_->loop->arm(*this, std::min(request_deadline_, now + Milliseconds(limits.header_ms)));
        }
        error_code error;
        const auto data = buffer_.data();
        buffer_.consume(parser_->put(data, error));
        const bool more = error == beast::http::error::need_more;
        if (error && !more) {
            const auto rejection = rejection_of(error, limits);
            reject(
                rejection, rejection.status == 431 ? &Counters::header_too_large
                : rejection.status == 413          ? &Counters::body_too_large
                                                   : &Counters::malformed);
            return;
        }
        if (parser_->is_header_done() && !header_checked_) {
            header_checked_ = true;
            if (const auto rejection = check_header(parser_->message)) {
                reject(*rejection, &Counters::malformed);
                return;
            }
            server_->loop->arm(*this, request_deadline_);
            beast::string_view expectation;
            if (parser_->message.version >= 11 && !parser_->is_done()
                && parser_->message.count("Expect", &expectation) > 0 && buffer_.size() == 0) {
                write_continue();
                return;
            }
        }
        if (parser_->is_done()) {
            phase_ = Phase::waiting;
            server_->loop->disarm(*this);
            Counters::add(server_->counters.requests);
            server_->dispatch(shared_from_this());
            return;
        }
        if (more || buffer_.size() == 0) {
            read(parser_->is_header_done() ? body_read : header_read);
            return;
        }
    }
}

void Connection::write_continue() {
    static const std::string text = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(
        stream_, asio::buffer(text), [self = shared_from_this()](error_code error, std::size_t) {
            if (self->phase_ != Phase::reading) {
                return;
            }
            if (error) {
                self->close();
            } else {
                self->read(body_read);
            }
        });
}

void Connection::handed_out(std::uint64_t ticket) {
    ticket_ = ticket;
    phase_ = Phase::handling;
    parser_->message.body = std::string();
    set_deadline(server_->limits.handler_ms);
}

void Connection::answer(std::uint64_t ticket, Answer &answer) {
    if (ticket != ticket_ || phase_ != Phase::handling) {
        return;
    }
    Counters::add(server_->counters.responses);
    ticket_ = 0;
    close_after_ = answer.close_after;
    write(answer.status, answer.reason, answer.fields, std::move(answer.body));
}

void Connection::reject(const Rejection &rejection, Counter counter) {
    if (counter != nullptr) {
        Counters::add(server_->counters.*counter);
    }
    close_after_ = true;
    ticket_ = 0;
    std::string fields = "Content-Type: application/problem+json\r\n";
    fields.append(server_->fixed_fields).append("X-Reqid: ").append(random_id()).append("\r\n");
    if (rejection.status == 503) {
        fields.append("Retry-After: ").append(std::to_string(retry_after_seconds)).append("\r\n");
    }
    write(rejection.status, {}, fields, problem_document(rejection));
}

void Connection::write(unsigned status, const std::string &reason, const std::string &fields, std::string body) {
    phase_ = Phase::writing;
    const bool is_head = parser_ != nullptr && parser_->message.method == "HEAD";
    const bool is_old = parser_ != nullptr && parser_->message.version < 11;
    close_after_ = close_after_ || server_->stopping() || parser_ == nullptr || !parser_->keep_alive();

    head_.clear();
    head_.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
    head_.append(reason.empty() ? reason_phrase(status) : reason.c_str()).append("\r\n").append(fields);
    head_.append("Date: ").append(server_->date()).append("\r\n");
    if (!has_no_body(status)) {
        head_.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    }
    if (close_after_) {
        head_.append("Connection: close\r\n");
    } else if (is_old) {
        head_.append("Connection: keep-alive\r\n");
    }
    head_.append("\r\n");
    body_ = is_head || has_no_body(status) ? std::string() : std::move(body);

    set_deadline(server_->limits.write_ms);
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body_)};
    asio::async_write(stream_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
        if (self->phase_ != Phase::writing) {
            return;
        }
        if (error) {
            Counters::add(self->server_->counters.broken);
            self->close();
        } else {
            self->written();
        }
    });
}

void Connection::written() {
    body_ = std::string();
    parser_.reset();
    if (close_after_ || server_->stopping()) {
        linger();
        return;
    }
    if (buffer_.size() == 0 && buffer_.capacity() > 2 * header_read) {
        buffer_.shrink_to_fit();
    }
    set_deadline(server_->limits.idle_ms);
    process();
}

void Connection::linger() {
    phase_ = Phase::lingering;
    set_deadline(linger_ms);
    stream_.async_linger([self = shared_from_this()](error_code) { self->close(); });
}

void Connection::expired() {
    const auto self = shared_from_this();
    switch (phase_) {
    case Phase::handshake:
        Counters::add(server_->counters.timed_out);
        close();
        break;
    case Phase::reading:
        reject({408, late_request()}, &Counters::timed_out);
        break;
    case Phase::handling:
        reject({503, "the request was not answered in time; try again later"}, &Counters::handler_late);
        break;
    case Phase::writing:
        Counters::add(server_->counters.timed_out);
        close();
        break;
    case Phase::idle:
    case Phase::waiting:
    case Phase::lingering:
    case Phase::upgraded:
    case Phase::closed:
        close();
        break;
    }
}

std::string Connection::late_request() const {
    const auto &limits = server_->limits;
    const bool is_header = parser_ == nullptr || !parser_->is_header_done();
    return std::string(is_header ? "the header" : "the body") + " did not come in time; it must be complete within "
        + std::to_string(is_header ? std::min(limits.header_ms, limits.request_ms) : limits.request_ms)
        + " ms of the request's first byte";
}

void Connection::upgrade(std::uint64_t ticket, const Upgrade &upgrade) {
    if (ticket != ticket_ || phase_ != Phase::handling) {
        upgrade.refuse("the connection has ended");
        return;
    }
    if (!wants_websocket() || buffer_.size() > 0) {
        // A client must not send before it has the answer (RFC 6455, 4.1).
        upgrade.refuse("not a WebSocket request");
        reject(
            {400, "a WebSocket begins with GET, Connection: Upgrade, Upgrade: websocket, Sec-WebSocket-Version: 13 and a "
                  "Sec-WebSocket-Key, and with nothing after it before the answer"},
            &Counters::malformed);
        return;
    }
    ticket_ = 0;
    phase_ = Phase::upgraded;
    server_->loop->disarm(*this);
    buffer_.shrink_to_fit();
    SocketHooks hooks;
    hooks.opened = [self = shared_from_this()](bool opened) {
        if (!opened) {
            Counters::add(self->server_->counters.broken);
            return;
        }
        Counters::add(self->server_->counters.upgrades);
        self->parser_.reset();
        if (self->server_->stopping()) {
            self->retire();
        }
    };
    hooks.too_slow = [self = shared_from_this()] { Counters::add(self->server_->counters.slow_readers); };
    hooks.ended = [self = shared_from_this()] { self->close(); };
    socket_ = WebSocket::make(server_->loop, std::move(stream_), upgrade.limits, upgrade.callbacks, std::move(hooks));
    socket_->accept(parser_->message, upgrade.subprotocol, upgrade.fields);
}

void Connection::retire() {
    if (phase_ == Phase::upgraded) {
        socket_->close(1001, "the server ends");
    }
    if (phase_ == Phase::handshake || phase_ == Phase::idle) {
        close();
    }
}

void Connection::close() {
    if (phase_ == Phase::closed) {
        return;
    }
    const bool was_upgraded = phase_ == Phase::upgraded;
    phase_ = Phase::closed;
    ticket_ = 0;
    server_->loop->disarm(*this);
    if (was_upgraded) {
        parlor_web_failure failure{};
        describe(&failure, PARLOR_WEB_CANCELLED, 0, "the server ends");
        const auto socket = std::move(socket_);
        socket->abort(failure);
    } else {
        stream_.close();
    }
    server_->closed(shared_from_this());
}

bool Connection::wants_websocket() const {
    const auto &message = parser_->message;
    beast::string_view value;
    if (message.method != "GET" || message.version < 11) return false;
    if (message.count("Upgrade", &value) == 0 || !list_contains(value, "websocket")) return false;
    if (message.count("Connection", &value) == 0 || !list_contains(value, "upgrade")) return false;
    if (message.count("Sec-WebSocket-Version", &value) != 1 || value != "13") return false;
    return message.count("Sec-WebSocket-Key", &value) == 1 && value.size() == 24;
}

}  // namespace parlor_web
