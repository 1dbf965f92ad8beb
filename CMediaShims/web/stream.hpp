// A TCP connection, plain or under TLS, as one type: what stands above needs no templates.
#pragma once

#include "tls_stream.hpp"

#include <boost/asio/ssl/context.hpp>
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
        tls_ = std::make_shared<TLSStream>(std::move(socket), context_->native_handle());
    }

    executor_type get_executor() noexcept { return socket().get_executor(); }
    Socket &socket() { return tls_ ? tls_->socket() : *plain_; }
    TLSStream *tls() { return tls_.get(); }

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

    /// The orderly end of a connection after the last thing written: our sending half is closed, and what the peer still
    /// sends is read and thrown away until it closes, too, or until it has sent too much. A close at once would reset the
    /// connection under what is still on its way to the peer (RFC 9112, 9.6). The handler gets an error_code; the time is
    /// the caller's to bound, by `close`.
    template <class Handler>
    void async_linger(Handler &&handler) {
        if (tls_) {
            tls_->say_end();
        }
        error_code ignored;
        socket().shutdown(asio::socket_base::shutdown_send, ignored);
        socket().native_non_blocking(true, ignored);
        asio::async_compose<Handler, void(error_code)>(Linger{this}, handler, socket());
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
    struct Linger {
        Stream *stream;
        bool has_waited = false;
        std::size_t discarded = 0;

        template <class Self>
        void operator()(Self &self, error_code error = {}) {
            if (error) {
                self.complete(error);
                return;
            }
            if (has_waited && stream->discard(discarded, error)) {
                self.complete(error);
                return;
            }
            has_waited = true;
            stream->socket().async_wait(Socket::wait_read, std::move(self));
        }
    };

    /// Reads what is there; true at the end.
    bool discard(std::size_t &discarded, error_code &error);

    TLSContext context_;
    std::shared_ptr<TLSStream> tls_;
    std::optional<Socket> plain_;
};

}  // namespace parlor_web
