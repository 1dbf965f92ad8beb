#include "client.hpp"

#include "websocket.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <array>

namespace parlor_web {

namespace {

constexpr std::size_t read_size = 16 * 1024;
/// Responses before the final one (RFC 9110, 15.2); more than a few is no honest server.
constexpr int interim_limit = 8;

parlor_web_failure describe_failure(const Failure &failure) {
    parlor_web_failure described{};
    if (failure.error) {
        describe(&described, failure.kind, failure.what, failure.error);
    } else {
        describe(&described, failure.kind, 0, failure.what);
    }
    return described;
}

/// One request and its response.
class HTTPExchange final : public Exchange, public std::enable_shared_from_this<HTTPExchange>, private Timed {
public:
    HTTPExchange(
        std::shared_ptr<Client> client, std::uint64_t number, const parlor_web_outgoing_request &request,
        void *context, parlor_web_on_response done)
        : client_(std::move(client)), number_(number), context_(context), done_(done),
          timeout_(request.timeout_ms), header_limit_(request.header_limit), body_limit_(request.body_limit),
          is_head_(std::string(request.method) == "HEAD"), body_(copy(request.body)),
          buffer_(request.header_limit + read_size) {
        const bool is_tls = request.tls != nullptr;
        connector_ = std::make_shared<Connector>(
            *client_->loop, request.host, request.port, is_tls ? request.tls->context : nullptr,
            is_tls && request.tls->verifies);
        head_.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
        if (!request.has_host) {
            head_.append("Host: ").append(authority(request.host, request.port, is_tls)).append("\r\n");
        }
        head_.append(copy(request.fields));
        const std::string method = request.method;
        if (!body_.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
            head_.append("Content-Length: ").append(std::to_string(body_.size())).append("\r\n");
        }
        head_.append("Connection: close\r\n\r\n");
    }

    void start() override {
        client_->loop->arm(*this, Clock::now() + Milliseconds(timeout_));
        connector_->start([self = shared_from_this()](std::optional<Failure> failure, std::optional<Stream> stream) {
            if (failure.has_value()) {
                self->fail(*failure);
            } else {
                self->stream_ = std::move(stream);
                self->write();
            }
        });
    }

    void fail(const Failure &failure) override {
        const auto described = describe_failure(failure);
        end(nullptr, &described);
    }

private:
    void expired() override {
        const auto self = shared_from_this();
        fail({PARLOR_WEB_TIMEOUT, "no complete response within " + std::to_string(timeout_) + " ms", {}});
    }

    void write() {
        const std::array<asio::const_buffer, 2> buffers{asio::buffer(head_), asio::buffer(body_)};
        asio::async_write(*stream_, buffers, [self = shared_from_this()](error_code error, std::size_t) {
            // A server may answer and close before it has read everything: the response counts.
            self->write_error_ = error;
        });
        begin_response();
        read();
    }

    void begin_response() {
        parser_ = std::make_unique<MessageParser<false>>(header_limit_, body_limit_);
        if (is_head_) {
            parser_->skip(true);
        }
    }

    void read() {
        const std::size_t room = buffer_.max_size() - buffer_.size();
        if (room == 0) {
            fail({PARLOR_WEB_TOO_LARGE, "the response's header is too large", {}});
            return;
        }
        stream_->async_read_some(
            buffer_.prepare(std::min(read_size, room)),
            [self = shared_from_this()](error_code error, std::size_t count) {
                if (self->done_ == nullptr) {
                    return;
                }
                self->buffer_.commit(count);
                if (error) {
                    self->ended_by_peer(error);
                } else {
                    self->process();
                }
            });
    }

    void process() {
        while (buffer_.size() > 0) {
            error_code error;
            const auto data = buffer_.data();
            buffer_.consume(parser_->put(data, error));
            if (error == beast::http::error::need_more) {
                break;
            }
            if (error == beast::http::error::header_limit || error == beast::http::error::body_limit) {
                fail({PARLOR_WEB_TOO_LARGE, "the response is too large", {}});
                return;
            }
            if (error) {
                fail({PARLOR_WEB_PROTOCOL, "malformed response", error});
                return;
            }
            if (parser_->is_done()) {
                const auto status = parser_->message.status;
                if (status / 100 != 1) {
                    succeed();
                    return;
                }
                interim_ += 1;
                if (interim_ > interim_limit || status == 101) {
                    fail({PARLOR_WEB_PROTOCOL, "unexpected interim response", {}});
                    return;
                }
                begin_response();
            }
        }
        read();
    }

    void ended_by_peer(error_code reason) {
        // Many servers end TLS without its closing message; a body with a length shows by itself whether it is whole.
        const bool at_end = reason == asio::error::eof || reason == asio::ssl::error::stream_truncated;
        if (at_end && parser_->is_header_done()) {
            error_code incomplete;
            parser_->put_eof(incomplete);
            if (!incomplete && reason == asio::error::eof) {
                succeed();
                return;
            }
        }
        if (!at_end || !write_error_) {
            write_error_ = reason;
        }
        fail({PARLOR_WEB_CLOSED, "the connection ended before the response was complete", write_error_});
    }

    void succeed() {
        const auto &message = parser_->message;
        const auto fields = message.field_views();
        parlor_web_response response{};
        response.status = message.status;
        response.reason = view(message.reason);
        response.fields = fields.data();
        response.field_count = fields.size();
        response.body = view(message.body);
        end(&response, nullptr);
    }

    void end(const parlor_web_response *response, const parlor_web_failure *failure) {
        if (done_ == nullptr) {
            return;
        }
        const auto self = shared_from_this();
        const auto done = done_;
        done_ = nullptr;
        client_->loop->disarm(*this);
        connector_->cancel();
        if (stream_.has_value()) {
            stream_->close();
        }
        client_->ended(number_);
        done(context_, response, failure);
    }

    const std::shared_ptr<Client> client_;
    const std::uint64_t number_;
    void *const context_;
    parlor_web_on_response done_;
    const std::uint32_t timeout_;
    const std::size_t header_limit_;
    const std::size_t body_limit_;
    const bool is_head_;
    std::shared_ptr<Connector> connector_;
    std::optional<Stream> stream_;
    std::string head_;
    const std::string body_;
    beast::flat_buffer buffer_;
    std::unique_ptr<MessageParser<false>> parser_;
    error_code write_error_;
    int interim_ = 0;
};

/// The opening of a WebSocket, and then its keeper: what the client cancels when it ends.
class SocketExchange final : public Exchange, public std::enable_shared_from_this<SocketExchange>, private Timed {
public:
    SocketExchange(
        std::shared_ptr<Client> client, std::uint64_t number, const parlor_web_outgoing_request &request,
        const parlor_web_socket_limits &limits, parlor_web_socket_callbacks callbacks)
        : client_(std::move(client)), number_(number), limits_(limits), callbacks_(callbacks),
          timeout_(request.timeout_ms), host_(authority(request.host, request.port, request.tls != nullptr)),
          target_(request.target), fields_(copy(request.fields)) {
        const bool is_tls = request.tls != nullptr;
        connector_ = std::make_shared<Connector>(
            *client_->loop, request.host, request.port, is_tls ? request.tls->context : nullptr,
            is_tls && request.tls->verifies);
    }

    void start() override {
        client_->loop->arm(*this, Clock::now() + Milliseconds(timeout_));
        connector_->start([self = shared_from_this()](std::optional<Failure> failure, std::optional<Stream> stream) {
            if (failure.has_value()) {
                self->fail(*failure);
            } else {
                self->connected(std::move(*stream));
            }
        });
    }

    void fail(const Failure &failure) override {
        const auto self = shared_from_this();
        const auto described = describe_failure(failure);
        if (socket_ != nullptr) {
            socket_->abort(described);
        } else {
            client_->loop->disarm(*this);
            connector_->cancel();
            client_->ended(number_);
            callbacks_.on_failure(callbacks_.context, &described, nullptr);
            callbacks_.release(callbacks_.context);
        }
    }

private:
    void connected(Stream stream) {
        SocketHooks hooks;
        hooks.opened = [self = shared_from_this()](bool) { self->client_->loop->disarm(*self); };
        hooks.too_slow = [] {};
        hooks.ended = [self = shared_from_this()] {
            self->socket_.reset();
            self->client_->ended(self->number_);
        };
        socket_ = WebSocket::make(client_->loop, std::move(stream), limits_, callbacks_, std::move(hooks));
        socket_->open(host_, target_, fields_);
    }

    void expired() override {
        const auto self = shared_from_this();
        fail({PARLOR_WEB_TIMEOUT, "no WebSocket within " + std::to_string(timeout_) + " ms", {}});
    }

    const std::shared_ptr<Client> client_;
    const std::uint64_t number_;
    const parlor_web_socket_limits limits_;
    const parlor_web_socket_callbacks callbacks_;
    const std::uint32_t timeout_;
    const std::string host_;
    const std::string target_;
    const std::string fields_;
    std::shared_ptr<Connector> connector_;
    std::shared_ptr<WebSocket> socket_;
};

}  // namespace

std::uint64_t Client::begin(std::function<std::shared_ptr<Exchange>(std::uint64_t number)> make) {
    const auto number = last_number_.fetch_add(1) + 1;
    auto exchange = make(number);
    loop->post([self = shared_from_this(), number, exchange = std::move(exchange)] {
        self->exchanges_.emplace(number, exchange);
        exchange->start();
    });
    return number;
}

void Client::cancel(std::uint64_t number) {
    loop->post([self = shared_from_this(), number] {
        const auto found = self->exchanges_.find(number);
        if (found != self->exchanges_.end()) {
            const auto exchange = found->second;
            exchange->fail({PARLOR_WEB_CANCELLED, "cancelled", {}});
        }
    });
}

void Client::cancel_all() {
    loop->post([self = shared_from_this()] {
        const auto exchanges = self->exchanges_;
        for (const auto &entry : exchanges) {
            entry.second->fail({PARLOR_WEB_CANCELLED, "the client ended", {}});
        }
    });
}

}  // namespace parlor_web

// MARK: - The C face

using namespace parlor_web;

parlor_web_client *parlor_web_client_create(const char *thread_name) {
    auto client = std::make_shared<Client>();
    client->loop->start(thread_name);
    return new parlor_web_client{std::move(client)};
}

uint64_t parlor_web_client_request(
    parlor_web_client *client, const parlor_web_outgoing_request *request, void *context,
    parlor_web_on_response done) {
    return client->client->begin([&](std::uint64_t number) {
        return std::make_shared<HTTPExchange>(client->client, number, *request, context, done);
    });
}

uint64_t parlor_web_client_open(
    parlor_web_client *client, const parlor_web_outgoing_request *request, const parlor_web_socket_limits *limits,
    parlor_web_socket_callbacks callbacks) {
    return client->client->begin([&](std::uint64_t number) {
        return std::make_shared<SocketExchange>(client->client, number, *request, *limits, callbacks);
    });
}

void parlor_web_client_cancel(parlor_web_client *client, uint64_t number) { client->client->cancel(number); }

void parlor_web_client_destroy(parlor_web_client *client) {
    const auto loop = client->client->loop;
    client->client->cancel_all();
    delete client;
    loop->finish();
}
