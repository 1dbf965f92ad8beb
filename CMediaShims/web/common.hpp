// What every file of this target includes first. Boost's own sources are compiled once, in asio.cpp, tls.cpp and
// beast.cpp.
#pragma once

// Beast asserts on some orders of arrival of a chunked body that are legal (a final chunk whose last line comes byte by
// byte); what the network sends must never end the process.
#define BOOST_DISABLE_ASSERTS
#define BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_BEAST_SEPARATE_COMPILATION

#include "CWeb.h"

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/wait_traits.hpp>
#include <boost/beast/core/string_type.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace parlor_web {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;
using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
using Timer = asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor>;

inline parlor_web_bytes view(const std::string &text) {
    return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

inline std::string copy(parlor_web_bytes bytes) {
    return bytes.count == 0 ? std::string() : std::string(reinterpret_cast<const char *>(bytes.bytes), bytes.count);
}

/// A new TCP socket, closed on exec from the start, for a Socket or an acceptor. `flags` as for socket(2).
int new_socket(const asio::ip::tcp &protocol, int flags, error_code &error);

void close_descriptor(int descriptor);

template <class Opened>
void open_socket(Opened &opened, const asio::ip::tcp &protocol, int flags, error_code &error) {
    const int descriptor = new_socket(protocol, flags, error);
    if (error) {
        return;
    }
    opened.assign(protocol, descriptor, error);
    if (error) {
        close_descriptor(descriptor);
    }
}

/// Fills a failure; the text is cut to fit.
void describe(parlor_web_failure *failure, parlor_web_failure_kind kind, int code, const std::string &message);

/// The same from an error of Asio, Beast or OpenSSL.
void describe(parlor_web_failure *failure, parlor_web_failure_kind kind, const std::string &what, error_code error);

/// ASCII only: names of header fields and their tokens.
bool equals_ignoring_case(beast::string_view a, beast::string_view b);

/// Whether a comma-separated list contains the token, ignoring case.
bool list_contains(beast::string_view list, beast::string_view token);

}  // namespace parlor_web
