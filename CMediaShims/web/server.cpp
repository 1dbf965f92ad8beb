#include "server.hpp"

#include "connection.hpp"

#include <boost/asio/ip/v6_only.hpp>

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <sys/socket.h>
#include <unistd.h>

namespace parlor_web {

namespace {

/// After a failed accept (no file descriptors, mostly) the listener waits, else the loop would spin.
constexpr Milliseconds accept_pause{50};
/// Connections taken at one time, before others on this thread have their turn.
constexpr int accept_batch = 64;
/// Connections beyond the limit that are told so, at one time; more are closed without a word.
constexpr std::size_t surplus_limit = 64;

std::string numeric(const asio::ip::address &address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
    }
    return address.to_string();
}

}  // namespace

// MARK: - Listener

Listener::Listener(
    std::shared_ptr<Server> server, Acceptor acceptor, asio::ip::tcp protocol, TLSContext tls)
    : server_(std::move(server)), acceptor_(std::move(acceptor)), protocol_(protocol), tls_(std::move(tls)) {}

void Listener::accept() {
    if (!acceptor_.is_open()) {
        return;
    }
    acceptor_.async_wait(Acceptor::wait_read, [self = shared_from_this()](error_code error) {
        if (!self->acceptor_.is_open()) {
            return;
        }
        if (!error) {
            self->accept_waiting();
        } else {
            Counters::add(self->server_->counters.accept_errors);
            self->server_->loop->arm(*self, Clock::now() + accept_pause);
        }
    });
}

/// Asio's own accept cannot set close-on-exec in one step.
void Listener::accept_waiting() {
    for (int count = 0; count < accept_batch; count += 1) {
        const int descriptor = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                Counters::add(server_->counters.accept_errors);
                server_->loop->arm(*this, Clock::now() + accept_pause);
                return;
            }
            // Nothing waits, or the peer has gone again: accept(2) passes on the errors of the new connection.
            break;
        }
        Socket socket(server_->loop->io());
        error_code error;
        socket.assign(protocol_, descriptor, error);
        if (error) {
            ::close(descriptor);
            continue;
        }
        accepted(std::move(socket));
    }
    accept();
}

void Listener::accepted(Socket socket) {
    error_code error;
    const auto peer = socket.remote_endpoint(error);
    if (error) {
        return;
    }
    socket.set_option(asio::ip::tcp::no_delay(true), error);
    const bool is_surplus = server_->full();
    Counters::add(is_surplus ? server_->counters.refused : server_->counters.accepted);
    if (is_surplus && server_->surplus() >= surplus_limit) {
        return;
    }
    auto stream = tls_ == nullptr ? Stream(std::move(socket)) : Stream(std::move(socket), tls_);
    auto connection = std::make_shared<Connection>(
        server_, std::move(stream), numeric(peer.address()), peer.port(), is_surplus);
    server_->opened(connection);
    connection->start();
}

void Listener::close() {
    error_code ignored;
    acceptor_.close(ignored);
    server_->loop->disarm(*this);
}

// MARK: - Server

Server::Server(
    const parlor_web_limits &limits, std::string fixed_fields, parlor_web_server_callbacks callbacks)
    : limits(limits), fixed_fields(std::move(fixed_fields)), loop(std::make_shared<Loop>()), callbacks_(callbacks) {}

Server::~Server() { callbacks_.release(callbacks_.context); }

std::int32_t Server::listen(
    const std::string &host, std::uint16_t port, TLSContext tls, parlor_web_failure *failure) {
    error_code error;
    const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
    const std::string place = (address.is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(port);
    if (error) {
        describe(failure, PARLOR_WEB_LISTEN, EINVAL, "cannot listen on " + place + ": not a numeric address");
        return -1;
    }
    const asio::ip::tcp::endpoint endpoint(address, port);
    Listener::Acceptor acceptor(loop->io());
    open_socket(acceptor, endpoint.protocol(), SOCK_NONBLOCK, error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error && address.is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(1024, error);
    asio::ip::tcp::endpoint bound;
    if (!error) bound = acceptor.local_endpoint(error);
    if (error) {
        describe(failure, PARLOR_WEB_LISTEN, "cannot listen on " + place, error);
        return -1;
    }
    auto listener = std::make_shared<Listener>(
        shared_from_this(), std::move(acceptor), endpoint.protocol(), std::move(tls));
    loop->post([weak = weak_from_this(), listener] {
        const auto self = weak.lock();
        if (self == nullptr || self->stopping_) {
            listener->close();
            return;
        }
        self->listeners_.push_back(listener);
        if (self->started_) {
            listener->accept();
        }
    });
    return bound.port();
}

void Server::start() {
    loop->post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self == nullptr || self->started_ || self->stopping_) {
            return;
        }
        self->started_ = true;
        for (const auto &listener : self->listeners_) {
            listener->accept();
        }
    });
}

void Server::respond(std::uint64_t ticket, Answer answer) {
    loop->post([weak = weak_from_this(), ticket, answer = std::move(answer)]() mutable {
        if (const auto self = weak.lock()) {
            self->answered(ticket, answer);
        }
    });
}

void Server::upgrade(std::uint64_t ticket, Upgrade upgrade) {
    loop->post([weak = weak_from_this(), ticket, upgrade = std::move(upgrade)] {
        if (const auto self = weak.lock()) {
            self->upgraded(ticket, upgrade);
        } else {
            upgrade.refuse("the server has ended");
        }
    });
}

void Server::stop(Milliseconds grace, void *context, void (*done)(void *)) {
    loop->post([self = shared_from_this(), grace, context, done] {
        self->at_end_.emplace_back(context, done);
        const auto limit = Clock::now() + grace;
        if (!self->stopping_ || limit < self->grace_end_) {
            self->grace_end_ = limit;
            self->loop->arm(*self, limit);
        }
        if (!self->stopping_) {
            self->stopping_ = true;
            for (const auto &listener : self->listeners_) {
                listener->close();
            }
            self->listeners_.clear();
            const auto connections = self->connections_;
            for (const auto &connection : connections) {
                connection->retire();
            }
        }
        self->end_if_empty();
    });
}

void Server::expired() {
    const auto connections = connections_;
    for (const auto &connection : connections) {
        connection->close();
    }
    end_if_empty();
}

void Server::end_if_empty() {
    if (!stopping_ || !connections_.empty()) {
        return;
    }
    loop->disarm(*this);
    running_.clear();
    waiting_.clear();
    const auto at_end = std::move(at_end_);
    at_end_.clear();
    for (const auto &[context, done] : at_end) {
        done(context);
    }
}

void Server::opened(std::shared_ptr<Connection> connection) {
    surplus_ += connection->is_surplus() ? 1 : 0;
    connections_.insert(std::move(connection));
    counters.connections.store(connections_.size() - surplus_, std::memory_order_relaxed);
}

void Server::closed(const std::shared_ptr<Connection> &connection) {
    if (connections_.erase(connection) > 0 && connection->is_surplus()) {
        surplus_ -= 1;
    }
    counters.connections.store(connections_.size() - surplus_, std::memory_order_relaxed);
    end_if_empty();
}

void Server::dispatch(const std::shared_ptr<Connection> &connection) {
    if (running_.size() < limits.running_requests && waiting_.empty()) {
        hand_out(connection);
    } else {
        waiting_.push_back(connection);
    }
}

void Server::hand_out(const std::shared_ptr<Connection> &connection) {
    last_ticket_ += 1;
    const auto ticket = last_ticket_;
    running_.emplace(ticket, connection);
    counters.running.store(running_.size(), std::memory_order_relaxed);

    const auto &message = connection->message();
    const auto fields = message.field_views();
    parlor_web_request request{};
    request.ticket = ticket;
    request.method = view(message.method);
    request.target = view(message.target);
    request.fields = fields.data();
    request.field_count = fields.size();
    request.body = view(message.body);
    request.peer_host = view(connection->peer_host());
    request.peer_port = connection->peer_port();
    request.is_tls = connection->is_tls();
    request.wants_websocket = connection->wants_websocket();
    callbacks_.on_request(callbacks_.context, &request);
    connection->handed_out(ticket);
}

void Server::answered(std::uint64_t ticket, Answer &answer) {
    const auto found = running_.find(ticket);
    if (found == running_.end()) {
        return;
    }
    const auto connection = std::move(found->second);
    running_.erase(found);
    connection->answer(ticket, answer);
    hand_out_waiting();
    counters.running.store(running_.size(), std::memory_order_relaxed);
}

void Server::upgraded(std::uint64_t ticket, const Upgrade &upgrade) {
    const auto found = running_.find(ticket);
    if (found == running_.end()) {
        upgrade.refuse("the connection has ended");
        return;
    }
    const auto connection = std::move(found->second);
    running_.erase(found);
    connection->upgrade(ticket, upgrade);
    hand_out_waiting();
    counters.running.store(running_.size(), std::memory_order_relaxed);
}

void Server::hand_out_waiting() {
    while (!waiting_.empty() && running_.size() < limits.running_requests) {
        const auto connection = waiting_.front().lock();
        waiting_.pop_front();
        if (connection != nullptr && connection->is_waiting()) {
            hand_out(connection);
        }
    }
}

const std::string &Server::date() {
    const std::time_t now = std::time(nullptr);
    if (now != date_second_ || date_.empty()) {
        static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        static const char *const months[] = {
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        std::tm parts{};
        gmtime_r(&now, &parts);
        char text[64];
        std::snprintf(
            text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7], parts.tm_mday,
            months[parts.tm_mon % 12], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
        date_ = text;
        date_second_ = now;
    }
    return date_;
}

}  // namespace parlor_web

// MARK: - The C face

using namespace parlor_web;

struct parlor_web_server {
    std::shared_ptr<Server> server;
};

parlor_web_server *parlor_web_server_create(
    const parlor_web_limits *limits, parlor_web_bytes fixed_fields, parlor_web_server_callbacks callbacks,
    const char *thread_name) {
    auto server = std::make_shared<Server>(*limits, copy(fixed_fields), callbacks);
    server->loop->start(thread_name);
    return new parlor_web_server{std::move(server)};
}

int32_t parlor_web_server_listen(
    parlor_web_server *server, const char *host, uint16_t port, parlor_web_tls *tls, parlor_web_failure *failure) {
    return server->server->listen(host, port, tls == nullptr ? nullptr : tls->context, failure);
}

void parlor_web_server_start(parlor_web_server *server) { server->server->start(); }

void parlor_web_server_respond(
    parlor_web_server *server, uint64_t ticket, uint32_t status, parlor_web_bytes reason, parlor_web_bytes fields,
    parlor_web_bytes body, bool close_after) {
    server->server->respond(ticket, {status, copy(reason), copy(fields), copy(body), close_after});
}

void parlor_web_server_upgrade(
    parlor_web_server *server, uint64_t ticket, parlor_web_bytes subprotocol, parlor_web_bytes fields,
    const parlor_web_socket_limits *limits, parlor_web_socket_callbacks callbacks) {
    server->server->upgrade(ticket, {copy(subprotocol), copy(fields), *limits, callbacks});
}

void parlor_web_server_stop(
    parlor_web_server *server, uint32_t grace_ms, void *context, void (*done)(void *context)) {
    server->server->stop(Milliseconds(grace_ms), context, done);
}

void parlor_web_server_counters(const parlor_web_server *server, parlor_web_counters *out) {
    const auto &counters = server->server->counters;
    out->accepted = counters.accepted;
    out->refused = counters.refused;
    out->accept_errors = counters.accept_errors;
    out->requests = counters.requests;
    out->responses = counters.responses;
    out->malformed = counters.malformed;
    out->header_too_large = counters.header_too_large;
    out->body_too_large = counters.body_too_large;
    out->timed_out = counters.timed_out;
    out->handler_late = counters.handler_late;
    out->tls_failures = counters.tls_failures;
    out->broken = counters.broken;
    out->upgrades = counters.upgrades;
    out->slow_readers = counters.slow_readers;
    out->connections = counters.connections;
    out->running = counters.running;
}

void parlor_web_server_destroy(parlor_web_server *server) {
    const auto loop = server->server->loop;
    server->server->stop(Milliseconds(0), nullptr, [](void *) {});
    delete server;
    loop->finish();
}
