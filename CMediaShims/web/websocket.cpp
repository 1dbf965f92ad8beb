#include "websocket.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/websocket/stream.hpp>

#include <algorithm>
#include <atomic>
#include <deque>

namespace parlor_web {

// What Beast's closing handshake needs to know about our stream (RFC 6455, 7.1.1), found by argument-dependent look-up.

void beast_close_socket(Stream &stream) { stream.close(); }

void teardown(beast::role_type role, Stream &stream, error_code &error) {
    beast::websocket::teardown(role, stream.socket(), error);
}

template <class Handler>
void async_teardown(beast::role_type role, Stream &stream, Handler &&handler) {
    // How the connection went does not matter any more, and must not hide why it went: Beast takes "end of file" for
    // success. Beast's own teardown stops reading after the first piece, and so resets the connection under the closing
    // frame when a peer is in the middle of a message that is too large. Beast bounds the time.
    static_cast<void>(role);
    stream.async_linger([handler = std::forward<Handler>(handler)](error_code) mutable {
        handler(error_code(asio::error::eof));
    });
}

namespace {

namespace http = beast::http;
namespace ws = beast::websocket;

/// Above this, the buffer of a message goes back after it; most messages of signalling are smaller.
constexpr std::size_t kept_buffer = 4096;

constexpr const char *too_slow = "the peer takes its messages too slowly";

/// Lines "Name: value\r\n" into Beast's fields.
template <class Fields>
void insert_lines(Fields &fields, beast::string_view lines) {
    while (!lines.empty()) {
        const auto end = lines.find("\r\n");
        const auto line = lines.substr(0, end);
        const auto colon = line.find(": ");
        if (colon != beast::string_view::npos) {
            fields.insert(line.substr(0, colon), line.substr(colon + 2));
        }
        if (end == beast::string_view::npos) {
            return;
        }
        lines.remove_prefix(end + 2);
    }
}

/// The code that Beast has sent, or would have, for a message it refused.
std::uint16_t code_of(error_code error) {
    if (error == ws::error::message_too_big || error == ws::error::buffer_overflow
        || error == http::error::buffer_overflow) {
        return ws::close_code::too_big;
    }
    if (error == ws::error::bad_frame_payload) {
        return ws::close_code::bad_payload;
    }
    if (error == ws::condition::protocol_violation) {
        return ws::close_code::protocol_error;
    }
    return ws::close_code::abnormal;
}

class Session final : public WebSocket, public std::enable_shared_from_this<Session>, private Timed {
public:
    Session(
        std::shared_ptr<Loop> loop, Stream stream, const parlor_web_socket_limits &limits,
        parlor_web_socket_callbacks callbacks, SocketHooks hooks)
        : loop_(std::move(loop)), limits_(limits), callbacks_(callbacks), hooks_(std::move(hooks)),
          stream_(std::move(stream)), buffer_(limits.message_bytes) {
        // Messages are sent in one frame each; there is no compression (a bomb needs some).
        stream_.auto_fragment(false);
        stream_.read_message_max(
            limits.first_bytes == 0 ? limits.message_bytes : std::min(limits.first_bytes, limits.message_bytes));
        ws::stream_base::timeout timeout{};
        timeout.handshake_timeout = Milliseconds(limits.write_ms);
        timeout.idle_timeout = Milliseconds(limits.idle_ms / 2);
        timeout.keep_alive_pings = true;
        stream_.set_option(timeout);
    }

    ~Session() override { callbacks_.release(callbacks_.context); }

    void accept(const Message &message, const std::string &subprotocol, const std::string &fields) override {
        auto request = std::make_shared<http::request<http::empty_body>>();
        request->version(message.version);
        request->method_string(message.method);
        request->target(message.target);
        for (const auto &field : message.fields) {
            request->insert(message.name(field), message.value(field));
        }
        stream_.set_option(ws::stream_base::decorator([subprotocol, fields](ws::response_type &response) {
            response.erase(http::field::server);
            insert_lines(response, fields);
            if (!subprotocol.empty()) {
                response.set(http::field::sec_websocket_protocol, subprotocol);
            }
        }));
        stream_.async_accept(*request, [self = shared_from_this(), request](error_code error) {
            self->opening_ended(error, "the WebSocket could not be opened", nullptr);
        });
    }

    void open(const std::string &host, const std::string &target, const std::string &fields) override {
        stream_.set_option(ws::stream_base::decorator([fields](ws::request_type &request) {
            // What the caller names replaces what Beast has set, the Host field for one.
            beast::string_view lines = fields;
            http::fields given;
            insert_lines(given, lines);
            request.erase(http::field::user_agent);
            for (const auto &field : given) {
                request.erase(field.name_string());
            }
            for (const auto &field : given) {
                request.insert(field.name_string(), field.value());
            }
        }));
        auto response = std::make_shared<ws::response_type>();
        stream_.async_handshake(*response, host, target, [self = shared_from_this(), response](error_code error) {
            self->opening_ended(error, "no WebSocket", response.get());
        });
    }

    void abort(const parlor_web_failure &failure) override {
        const auto self = shared_from_this();
        beast_close_socket(stream_.next_layer());
        if (state_ == State::opening) {
            fail(failure, nullptr);
        } else {
            end(ws::close_code::abnormal, {});
        }
    }

    parlor_web_send_result send(bool is_text, parlor_web_bytes bytes) override {
        if (gone_) {
            return PARLOR_WEB_GONE;
        }
        const auto messages = queued_messages_.fetch_add(1) + 1;
        const auto total = queued_bytes_.fetch_add(bytes.count) + bytes.count;
        if (messages > limits_.outbox_messages || (messages > 1 && total > limits_.outbox_bytes)) {
            gone_ = true;
            loop_->post([self = shared_from_this()] { self->overflow(); });
            return PARLOR_WEB_FULL;
        }
        // The only copy on the way to the kernel.
        loop_->post([self = shared_from_this(), is_text, text = copy(bytes)]() mutable {
            if (self->state_ == State::open) {
                self->queue_.push_back({is_text, std::move(text)});
                self->write();
            }
        });
        return PARLOR_WEB_SENT;
    }

    void consumed(std::size_t messages, std::size_t bytes) override {
        if (ended_) {
            return;
        }
        loop_->post([self = shared_from_this(), messages, bytes] {
            self->inbox_messages_ -= std::min(messages, self->inbox_messages_);
            self->inbox_bytes_ -= std::min(bytes, self->inbox_bytes_);
            self->read();
        });
    }

    void widen() override {
        if (ended_) {
            return;
        }
        loop_->post([self = shared_from_this()] { self->stream_.read_message_max(self->limits_.message_bytes); });
    }

    void close(std::uint16_t code, std::string reason) override {
        gone_ = true;
        if (ended_) {
            return;
        }
        loop_->post([self = shared_from_this(), code, reason = std::move(reason)] {
            if (self->state_ == State::open) {
                self->begin_closing(code, reason);
            }
        });
    }

    void drop() override {
        gone_ = true;
        if (ended_) {
            return;
        }
        loop_->post([self = shared_from_this()] {
            if (self->state_ != State::ended) {
                self->stream_.next_layer().reset();
                self->end(ws::close_code::abnormal, "aborted");
            }
        });
    }

private:
    enum class State { opening, open, closing, ended };

    void opening_ended(error_code error, const char *what, const ws::response_type *response) {
        if (state_ != State::opening) {
            return;
        }
        if (!error) {
            state_ = State::open;
            hooks_.opened(true);
            callbacks_.on_open(callbacks_.context, make_handle());
            read();
            return;
        }
        const bool refused = error == ws::error::upgrade_declined && response != nullptr;
        parlor_web_failure failure{};
        if (refused) {
            const std::string status = std::to_string(response->result_int());
            describe(&failure, PARLOR_WEB_REFUSED, 0, std::string(what) + ": the server answered " + status);
            beast_close_socket(stream_.next_layer());
            fail(failure, response);
        } else {
            const bool timeout = error == beast::error::timeout;
            const bool system = error.category() == asio::error::get_system_category()
                || error.category() == asio::error::get_misc_category();
            describe(
                &failure, timeout ? PARLOR_WEB_TIMEOUT : system ? PARLOR_WEB_CLOSED : PARLOR_WEB_PROTOCOL, what, error);
            beast_close_socket(stream_.next_layer());
            fail(failure, nullptr);
        }
    }

    parlor_web_socket *make_handle();

    /// Beast leaves its timer running when a connection breaks, and with it the loop, as long as somebody holds this object.
    void stop_timer() {
        stream_.set_option(ws::stream_base::timeout{ws::stream_base::none(), ws::stream_base::none(), false});
    }

    void fail(const parlor_web_failure &failure, const ws::response_type *response) {
        stop_timer();
        state_ = State::ended;
        gone_ = true;
        ended_ = true;
        parlor_web_response plain{};
        std::vector<parlor_web_field> fields;
        if (response != nullptr) {
            plain.status = response->result_int();
            const auto bytes = [](beast::string_view text) {
                return parlor_web_bytes{reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
            };
            for (const auto &field : *response) {
                fields.push_back({bytes(field.name_string()), bytes(field.value())});
            }
            plain.reason = bytes(response->reason());
            plain.fields = fields.data();
            plain.field_count = fields.size();
            plain.body = bytes(response->body());
        }
        callbacks_.on_failure(callbacks_.context, &failure, response == nullptr ? nullptr : &plain);
        const auto hooks = std::move(hooks_);
        hooks_ = {};
        hooks.opened(false);
        hooks.ended();
    }

    // MARK: Reading: one read outstanding, none while the inbox is full.

    void read() {
        if (reading_ || state_ == State::ended || closing_handshake_) {
            return;
        }
        if (inbox_messages_ >= limits_.inbox_messages || inbox_bytes_ >= limits_.inbox_bytes) {
            return;
        }
        reading_ = true;
        stream_.async_read(buffer_, [self = shared_from_this()](error_code error, std::size_t) {
            self->reading_ = false;
            self->received(error);
        });
    }

    void received(error_code error) {
        if (state_ == State::ended) {
            return;
        }
        if (error) {
            if (error == ws::error::closed) {
                const auto &reason = stream_.reason();
                end(reason.code == 0 ? static_cast<std::uint16_t>(ws::close_code::no_status) : reason.code,
                    std::string(reason.reason.data(), reason.reason.size()));
            } else if (!closing_handshake_) {
                // Else the end of the closing handshake says more.
                end(code_of(error), error.message());
            }
            return;
        }
        const auto data = buffer_.data();
        inbox_messages_ += 1;
        inbox_bytes_ += data.size();
        callbacks_.on_message(
            callbacks_.context, stream_.got_text(), {static_cast<const std::uint8_t *>(data.data()), data.size()});
        buffer_.clear();
        if (buffer_.capacity() > kept_buffer) {
            buffer_.shrink_to_fit();
        }
        read();
    }

    // MARK: Writing: one write in flight.

    void write() {
        if (writing_ || cannot_write_ || closing_handshake_ || state_ == State::opening || state_ == State::ended) {
            return;
        }
        if (queue_.empty()) {
            if (state_ == State::closing) {
                shake_hands();
            }
            return;
        }
        writing_ = true;
        if (state_ == State::open) {
            loop_->arm(*this, Clock::now() + Milliseconds(limits_.write_ms));
        }
        stream_.text(queue_.front().is_text);
        stream_.async_write(
            asio::buffer(queue_.front().bytes), [self = shared_from_this()](error_code error, std::size_t) {
                self->writing_ = false;
                self->written(error);
            });
    }

    void written(error_code error) {
        if (!queue_.empty()) {
            queued_messages_ -= 1;
            queued_bytes_ -= queue_.front().bytes.size();
            queue_.pop_front();
        }
        if (state_ == State::ended) {
            return;
        }
        if (error) {
            // The reading side is about to find out, and knows the reason: it may be in the middle of the closing
            // handshake.
            if (!reading_) {
                end(ws::close_code::abnormal, error.message());
            } else {
                gone_ = true;
                cannot_write_ = true;
                state_ = State::closing;
                loop_->arm(*this, Clock::now() + Milliseconds(limits_.close_ms));
            }
            return;
        }
        if (state_ == State::open && queue_.empty()) {
            loop_->disarm(*this);
        }
        write();
    }

    void shake_hands() {
        closing_handshake_ = true;
        stream_.async_close(close_reason_, [self = shared_from_this()](error_code error) {
            if (self->state_ == State::ended) {
                return;
            }
            const auto &reason = self->stream_.reason();
            if (error) {
                self->end(ws::close_code::abnormal, error.message());
            } else {
                self->end(
                    reason.code == 0 ? static_cast<std::uint16_t>(ws::close_code::no_status) : reason.code,
                    std::string(reason.reason.data(), reason.reason.size()));
            }
        });
    }

    void begin_closing(std::uint16_t code, const std::string &reason) {
        state_ = State::closing;
        close_reason_.code = code;
        // A control frame holds 125 bytes, two of them the code (RFC 6455, 5.5); a character is not cut in two.
        std::size_t count = std::min<std::size_t>(reason.size(), 123);
        while (count < reason.size() && count > 0 && (static_cast<unsigned char>(reason[count]) & 0xC0) == 0x80) {
            count -= 1;
        }
        close_reason_.reason.assign(reason.data(), count);
        loop_->arm(*this, Clock::now() + Milliseconds(limits_.close_ms));
        write();
    }

    /// The queue is full. What waits is dropped, all but the message that is being written: behind it the closing frame
    /// finds its way if the peer reads at all. 1013 tells it to come again; 1008 would not.
    void overflow() {
        if (state_ != State::open) {
            return;
        }
        is_too_slow_ = true;
        hooks_.too_slow();
        while (queue_.size() > (writing_ ? 1U : 0U)) {
            queue_.pop_back();
        }
        begin_closing(ws::close_code::try_again_later, too_slow);
    }

    void expired() override {
        const auto self = shared_from_this();
        if (state_ == State::open) {
            // A message does not leave: a closing frame has no place behind it.
            is_too_slow_ = true;
            hooks_.too_slow();
            stream_.next_layer().reset();
        }
        end(ws::close_code::abnormal, "no closing handshake");
    }

    void end(std::uint16_t code, std::string reason) {
        if (state_ == State::ended) {
            return;
        }
        if (is_too_slow_) {
            // Whatever became of the closing handshake.
            code = ws::close_code::try_again_later;
            reason = too_slow;
        }
        const auto self = shared_from_this();
        state_ = State::ended;
        gone_ = true;
        ended_ = true;
        loop_->disarm(*this);
        stop_timer();
        beast_close_socket(stream_.next_layer());
        callbacks_.on_close(callbacks_.context, code, view(reason));
        const auto hooks = std::move(hooks_);
        hooks_ = {};
        hooks.ended();
    }

    struct Outgoing {
        bool is_text;
        std::string bytes;
    };

    const std::shared_ptr<Loop> loop_;
    const parlor_web_socket_limits limits_;
    const parlor_web_socket_callbacks callbacks_;
    SocketHooks hooks_;
    ws::stream<Stream, false> stream_;
    beast::flat_buffer buffer_;
    State state_ = State::opening;
    bool reading_ = false;
    bool writing_ = false;
    bool cannot_write_ = false;
    bool closing_handshake_ = false;
    bool is_too_slow_ = false;
    ws::close_reason close_reason_;
    std::size_t inbox_messages_ = 0;
    std::size_t inbox_bytes_ = 0;
    std::deque<Outgoing> queue_;
    std::atomic<std::size_t> queued_messages_{0};
    std::atomic<std::size_t> queued_bytes_{0};
    std::atomic<bool> gone_{false};
    std::atomic<bool> ended_{false};
};

}  // namespace

std::shared_ptr<WebSocket> WebSocket::make(
    std::shared_ptr<Loop> loop, Stream stream, const parlor_web_socket_limits &limits,
    parlor_web_socket_callbacks callbacks, SocketHooks hooks) {
    return std::make_shared<Session>(std::move(loop), std::move(stream), limits, callbacks, std::move(hooks));
}

}  // namespace parlor_web

// MARK: - The C face

struct parlor_web_socket {
    std::shared_ptr<parlor_web::WebSocket> socket;
};

parlor_web_socket *parlor_web::Session::make_handle() { return new parlor_web_socket{shared_from_this()}; }

parlor_web_send_result parlor_web_socket_send(parlor_web_socket *socket, bool is_text, parlor_web_bytes bytes) {
    return socket->socket->send(is_text, bytes);
}

void parlor_web_socket_widen(parlor_web_socket *socket) { socket->socket->widen(); }

void parlor_web_socket_consumed(parlor_web_socket *socket, size_t messages, size_t bytes) {
    socket->socket->consumed(messages, bytes);
}

void parlor_web_socket_close(parlor_web_socket *socket, uint16_t code, parlor_web_bytes reason) {
    socket->socket->close(code, parlor_web::copy(reason));
}

void parlor_web_socket_abort(parlor_web_socket *socket) { socket->socket->drop(); }

void parlor_web_socket_release(parlor_web_socket *socket) {
    socket->socket->close(boost::beast::websocket::close_code::going_away, {});
    delete socket;
}
