// One side of a WebSocket, server's or client's. The heavy templates are in websocket.cpp only.
#pragma once

#include "loop.hpp"
#include "message.hpp"
#include "stream.hpp"

#include <functional>
#include <memory>
#include <string>

namespace parlor_web {

/// What the owner on the loop's thread wants to know.
struct SocketHooks {
    /// Opened or not: exactly once.
    std::function<void(bool)> opened;
    /// The last thing that happens.
    std::function<void()> ended;
    /// The peer does not take its messages.
    std::function<void()> too_slow;
};

class WebSocket {
public:
    static std::shared_ptr<WebSocket> make(
        std::shared_ptr<Loop> loop, Stream stream, const parlor_web_socket_limits &limits,
        parlor_web_socket_callbacks callbacks, SocketHooks hooks);
    virtual ~WebSocket() = default;

    // On the loop's thread.
    virtual void accept(const Message &request, const std::string &subprotocol, const std::string &fields) = 0;
    virtual void open(const std::string &host, const std::string &target, const std::string &fields) = 0;
    /// At once, without a closing handshake. Before it is open: `on_failure` with this failure.
    virtual void abort(const parlor_web_failure &failure) = 0;

    // From any thread.
    virtual parlor_web_send_result send(bool is_text, parlor_web_bytes bytes) = 0;
    virtual void consumed(std::size_t messages, std::size_t bytes) = 0;
    virtual void widen() = 0;
    virtual void close(std::uint16_t code, std::string reason) = 0;
    /// Resets the connection, without a closing handshake.
    virtual void drop() = 0;
};

}  // namespace parlor_web
