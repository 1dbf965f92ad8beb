// A TCP connection, plain or under TLS, as one type: what stands above needs no templates.
#pragma once

#include "common.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>

#include <memory>
#include <optional>

/// The opaque type of the C face.
struct parlor_web_tls {
    std::shared_ptr<boost::asio::ssl::context> context;
    bool verifies = false;  // a client checks the name, too
};

namespace parlor_web {

using TLSContext = std::shared_ptr<asio::ssl::context>;

/// An AsyncReadStream and AsyncWriteStream.
class Stream {
public:
    using executor_type = Executor;

    explicit Stream(Socket socket) { plain_.emplace(std::move(socket)); }

    Stream(Socket socket, TLSContext context) : context_(std::move(context)) {
        tls_ = std::make_unique<asio::ssl::stream<Socket>>(std::move(socket), *context_);
    }

    executor_type get_executor() noexcept { return socket().get_executor(); }
    Socket &socket() { return tls_ ? tls_->next_layer() : *plain_; }
    asio::ssl::stream<Socket> *tls() { return tls_.get(); }

    template <class Buffers, class Handler>
    void async_read_some(const Buffers &buffers, Handler &&handler) {
        if (tls_) {
            tls_->async_read_some(buffers, std::forward<Handler>(handler));
        } else {
            plain_->async_read_some(buffers, std::forward<Handler>(handler));
        }
    }

    template <class Buffers, class Handler>
    void async_write_some(const Buffers &buffers, Handler &&handler) {
        if (tls_) {
            tls_->async_write_some(buffers, std::forward<Handler>(handler));
        } else {
            plain_->async_write_some(buffers, std::forward<Handler>(handler));
        }
    }

    /// At once; outstanding reads and writes end with an error.
    void close() {
        error_code ignored;
        socket().close(ignored);
    }

    /// The same, and the peer gets a reset: nothing that was written and is still on its way counts any more.
    void reset() {
        error_code ignored;
        socket().set_option(asio::socket_base::linger(true, 0), ignored);
        close();
    }

private:
    TLSContext context_;
    std::unique_ptr<asio::ssl::stream<Socket>> tls_;
    std::optional<Socket> plain_;
};

}  // namespace parlor_web
