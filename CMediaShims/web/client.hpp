// The HTTP client: each exchange is a connection of its own.
#pragma once

#include "loop.hpp"
#include "message.hpp"
#include "stream.hpp"

#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>

namespace parlor_web {

using Resolver = asio::ip::basic_resolver<asio::ip::tcp, Executor>;

struct Failure {
    parlor_web_failure_kind kind;
    std::string what;
    error_code error;
};

/// Name to address, connection, TLS: the way to a stream. One use; `done` is called once, unless `cancel` comes first.
class Connector final : public std::enable_shared_from_this<Connector> {
public:
    using Done = std::function<void(std::optional<Failure>, std::optional<Stream>)>;

    Connector(Loop &loop, std::string host, std::uint16_t port, TLSContext tls, bool verifies);
    void start(Done done);
    void cancel();

private:
    void connect(std::vector<asio::ip::tcp::endpoint> endpoints, std::size_t next, error_code last);
    void connected(Socket socket);
    void end(std::optional<Failure> failure, std::optional<Stream> stream);

    Loop &loop_;
    const std::string host_;
    const std::uint16_t port_;
    const TLSContext tls_;
    const bool verifies_;
    Resolver resolver_;
    std::optional<Socket> socket_;
    std::optional<Stream> stream_;
    Done done_;
};

/// Host and port as the Host field has them (RFC 9112, 3.2): without the scheme's own port.
std::string authority(const std::string &host, std::uint16_t port, bool is_tls);

/// Something the client has under way, with a number to cancel it.
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual void start() = 0;
    virtual void fail(const Failure &failure) = 0;
};

class Client final : public std::enable_shared_from_this<Client> {
public:
    Client() : loop(std::make_shared<Loop>()) {}
    const std::shared_ptr<Loop> loop;

    // From any thread.
    std::uint64_t begin(std::function<std::shared_ptr<Exchange>(std::uint64_t number)> make);
    void cancel(std::uint64_t number);
    void cancel_all();

    // On the loop's thread.
    void ended(std::uint64_t number) { exchanges_.erase(number); }

private:
    std::atomic<std::uint64_t> last_number_{0};
    std::unordered_map<std::uint64_t, std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace parlor_web

/// The opaque type of the C face.
struct parlor_web_client {
    std::shared_ptr<parlor_web::Client> client;
};
