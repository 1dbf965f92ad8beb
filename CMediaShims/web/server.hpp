// The HTTP server: its listeners, its connections, and the requests that are out with the handler.
#pragma once

#include "loop.hpp"
#include "message.hpp"
#include "stream.hpp"

#include <boost/asio/basic_socket_acceptor.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace parlor_web {

class Connection;
class Server;

/// Written by the server's thread, read by any.
struct Counters {
    std::atomic<std::uint64_t> accepted{0}, refused{0}, accept_errors{0}, requests{0}, responses{0}, malformed{0},
        header_too_large{0}, body_too_large{0}, timed_out{0}, handler_late{0}, tls_failures{0}, broken{0}, upgrades{0},
        slow_readers{0}, connections{0}, running{0};

    static void add(std::atomic<std::uint64_t> &counter, std::uint64_t amount = 1) {
        counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
};

/// What the handler said, on its way to the connection.
struct Answer {
    unsigned status = 200;
    std::string reason;
    std::string fields;
    std::string body;
    bool close_after = false;
};

/// The handler opens a WebSocket instead. The callbacks are used up: by the socket, or by `refuse`.
struct Upgrade {
    std::string subprotocol;
    std::string fields;
    parlor_web_socket_limits limits;
    parlor_web_socket_callbacks callbacks;

    void refuse(const std::string &sentence) const {
        parlor_web_failure failure{};
        describe(&failure, PARLOR_WEB_CLOSED, 0, sentence);
        callbacks.on_failure(callbacks.context, &failure, nullptr);
        callbacks.release(callbacks.context);
    }
};

/// One listening socket.
class Listener final : public std::enable_shared_from_this<Listener>, private Timed {
public:
    using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

    Listener(std::shared_ptr<Server> server, Acceptor acceptor, asio::ip::tcp protocol, TLSContext tls);
    void accept();
    void close();

private:
    void accept_waiting();
    void accepted(Socket socket);
    void expired() override { accept(); }

    std::shared_ptr<Server> server_;
    Acceptor acceptor_;
    const asio::ip::tcp protocol_;
    TLSContext tls_;
};

class Server final : public std::enable_shared_from_this<Server>, private Timed {
public:
    Server(const parlor_web_limits &limits, std::string fixed_fields, parlor_web_server_callbacks callbacks);
    ~Server();

    const parlor_web_limits limits;
    /// Lines of header fields for what the server answers by itself.
    const std::string fixed_fields;
    const std::shared_ptr<Loop> loop;
    Counters counters;

    // From any thread.
    std::int32_t listen(const std::string &host, std::uint16_t port, TLSContext tls, parlor_web_failure *failure);
    void start();
    void respond(std::uint64_t ticket, Answer answer);
    void upgrade(std::uint64_t ticket, Upgrade upgrade);
    void stop(Milliseconds grace, void *context, void (*done)(void *));

    // On the loop's thread.
    bool stopping() const { return stopping_; }
    bool full() const { return connections_.size() - surplus_ >= limits.connections; }
    /// Connections that are being told that there are too many.
    std::size_t surplus() const { return surplus_; }
    void opened(std::shared_ptr<Connection> connection);
    void closed(const std::shared_ptr<Connection> &connection);
    /// Hands the connection's request to the handler, now or when an earlier one is answered.
    void dispatch(const std::shared_ptr<Connection> &connection);
    /// The value of the Date field (RFC 9110, 6.6.1), made once per second.
    const std::string &date();

private:
    void expired() override;
    void hand_out(const std::shared_ptr<Connection> &connection);
    void answered(std::uint64_t ticket, Answer &answer);
    void upgraded(std::uint64_t ticket, const Upgrade &upgrade);
    void hand_out_waiting();
    void end_if_empty();

    const parlor_web_server_callbacks callbacks_;
    bool started_ = false;
    bool stopping_ = false;
    Clock::time_point grace_end_;
    std::vector<std::shared_ptr<Listener>> listeners_;
    std::unordered_set<std::shared_ptr<Connection>> connections_;
    std::size_t surplus_ = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> running_;
    std::deque<std::weak_ptr<Connection>> waiting_;
    std::uint64_t last_ticket_ = 0;
    std::vector<std::pair<void *, void (*)(void *)>> at_end_;
    std::string date_;
    std::time_t date_second_ = 0;
};

}  // namespace parlor_web
