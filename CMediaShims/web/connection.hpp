// One connection of the HTTP server: one read outstanding, one request out with the handler, one write in flight.
// Requests that the peer has pipelined wait in the kernel and in a bounded buffer, so that order needs no care.
#pragma once

#include "rejection.hpp"
#include "server.hpp"
#include "websocket.hpp"

#include <boost/beast/core/flat_buffer.hpp>

namespace parlor_web {

class Connection final : public std::enable_shared_from_this<Connection>, private Timed {
public:
    /// A surplus connection is beyond the limit: all it gets is 503.
    Connection(
        std::shared_ptr<Server> server, Stream stream, std::string peer_host, std::uint16_t peer_port,
        bool is_surplus);

    void start();
    /// The request is given to the handler.
    void handed_out(std::uint64_t ticket);
    /// The request that was handed out, for the callback.
    const Message &message() const { return parser_->message; }
    const std::string &peer_host() const { return peer_host_; }
    std::uint16_t peer_port() const { return peer_port_; }
    bool is_waiting() const { return phase_ == Phase::waiting; }
    bool is_surplus() const { return is_surplus_; }
    bool is_tls() { return stream_.tls() != nullptr; }
    bool wants_websocket() const;

    /// The handler's answer; ignored if it comes too late.
    void answer(std::uint64_t ticket, Answer &answer);
    /// The same, when the handler opens a WebSocket.
    void upgrade(std::uint64_t ticket, const Upgrade &upgrade);
    /// The server stops: ends now if nothing is under way, else after the response.
    void retire();
    /// At once.
    void close();

private:
    using Counter = std::atomic<std::uint64_t> Counters::*;
    enum class Phase { handshake, idle, reading, waiting, handling, writing, lingering, upgraded, closed };

    void expired() override;
    void begin();
    void read(std::size_t count);
    void received(error_code error, std::size_t count);
    void process();
    void write_continue();
    /// The counter may be null.
    void reject(const Rejection &rejection, Counter counter);
    std::string late_request() const;
    void write(unsigned status, const std::string &reason, const std::string &fields, std::string body);
    void written();
    void linger();
    void set_deadline(std::uint32_t milliseconds);

    const std::shared_ptr<Server> server_;
    Stream stream_;
    const std::string peer_host_;
    const std::uint16_t peer_port_;
    const bool is_surplus_;
    Phase phase_ = Phase::handshake;
    bool header_checked_ = false;
    bool close_after_ = false;
    std::uint64_t ticket_ = 0;
    Clock::time_point request_deadline_;
    beast::flat_buffer buffer_;
    std::unique_ptr<MessageParser<true>> parser_;
    std::string head_;
    std::string body_;
    /// Has taken the stream over in the phase `upgraded`.
    std::shared_ptr<WebSocket> socket_;
};

}  // namespace parlor_web
