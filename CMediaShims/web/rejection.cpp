#include "rejection.hpp"

#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cstdio>

#include <sys/random.h>

namespace parlor_web {

namespace {

bool starts_with_ignoring_case(beast::string_view text, beast::string_view start) {
    return text.size() >= start.size() && equals_ignoring_case(text.substr(0, start.size()), start);
}

/// A path, an absolute URL, or the asterisk of OPTIONS (RFC 9112, 3.2).
bool is_target(const std::string &method, const std::string &target) {
    if (target == "*") {
        return method == "OPTIONS";
    }
    for (const beast::string_view scheme : {"http://", "https://"}) {
        if (starts_with_ignoring_case(target, scheme)) {
            const auto rest = beast::string_view(target).substr(scheme.size());
            return !rest.empty() && rest.find_first_of("/?#") != 0;
        }
    }
    return !target.empty() && target.front() == '/';
}

/// The characters of a name or an address and a port (RFC 3986, 3.2.2); it may be empty.
bool is_host(beast::string_view value) {
    return std::all_of(value.begin(), value.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || beast::string_view("-._~!$&'()*+,;=%:[]").find(c) != beast::string_view::npos;
    });
}

/// The last token of a comma-separated list.
beast::string_view last_token(beast::string_view list) {
    const auto comma = list.rfind(',');
    auto item = comma == beast::string_view::npos ? list : list.substr(comma + 1);
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    return item;
}

std::optional<Rejection> check_framing(const Message &message) {
    beast::string_view value;
    const auto lengths = message.count("Content-Length", &value);
    if (lengths > 1 || (lengths == 1 && value.find(',') != beast::string_view::npos)) {
        return Rejection{400, "Content-Length stands more than once; a request has at most one"};  // RFC 9112, 6.3
    }
    const auto codings = message.count("Transfer-Encoding", &value);
    if (codings == 0) {
        return std::nullopt;
    }
    if (message.version < 11) {
        return Rejection{400, "HTTP/1.0 has no Transfer-Encoding; use Content-Length, or HTTP/1.1"};
    }
    if (codings > 1) {
        return Rejection{400, "Transfer-Encoding stands more than once; a request has at most one"};
    }
    if (lengths > 0) {
        return Rejection{400, "both Transfer-Encoding and Content-Length; a request has one of them"};
    }
    if (equals_ignoring_case(value, "chunked")) {
        return std::nullopt;
    }
    const auto comma = value.rfind(',');
    if (!equals_ignoring_case(last_token(value), "chunked")) {
        // The end of such a body cannot be found (RFC 9112, 6.3).
        return Rejection{400, "the last transfer coding of a request must be chunked"};
    }
    if (comma != beast::string_view::npos && list_contains(value.substr(0, comma), "chunked")) {
        return Rejection{400, "the transfer coding chunked may be applied only once"};
    }
    return Rejection{501, "an unknown transfer coding; the only one here is chunked"};  // RFC 9112, 6.1
}

}  // namespace

std::optional<Rejection> check_header(const Message &message) {
    if (message.method == "CONNECT") {
        return Rejection{501, "CONNECT is for proxies; this server is none"};
    }
    if (!is_target(message.method, message.target)) {
        return Rejection{400, "the request target must be a path that begins with /, or an absolute http URL"};
    }
    beast::string_view value;
    const auto hosts = message.count("Host", &value);
    if (hosts > 1 || (hosts == 0 && message.version >= 11)) {
        return Rejection{400, "a request has exactly one Host field"};  // RFC 9112, 3.2
    }
    if (hosts == 1 && !is_host(value)) {
        return Rejection{400, "the Host field must be a name or an address, and a port if it is not the usual one"};
    }
    if (auto framing = check_framing(message)) {
        return framing;
    }
    const auto expectations = message.count("Expect", &value);
    if (expectations > 1 || (expectations == 1 && !equals_ignoring_case(value, "100-continue"))) {
        return Rejection{417, "an unknown expectation; the only one here is 100-continue"};  // RFC 9110, 10.1.1
    }
    return std::nullopt;
}

Rejection rejection_of(error_code error, const parlor_web_limits &limits) {
    using http = beast::http::error;
    const std::string header = std::to_string(limits.header_bytes);
    if (error == http::header_limit) {
        return {431, "the header is too large; request line and fields may have " + header + " bytes together"};
    }
    if (error == http::body_limit) {
        return {413, "the body is too large; it may have " + std::to_string(limits.body_bytes) + " bytes"};
    }
    if (error == http::bad_line_ending) {
        return {400, "a line of the header must end with CR LF"};
    }
    if (error == http::bad_method || error == http::bad_target || error == http::bad_version) {
        return {400, "the request line must be a method, a target and HTTP/1.1 or HTTP/1.0, one space between them"};
    }
    if (error == http::bad_field) {
        return {400, "a header field must be a name without spaces, a colon and a value"};
    }
    if (error == http::bad_value || error == http::bad_obs_fold) {
        return {400, "the value of a header field must not have control characters"};
    }
    if (error == http::bad_content_length) {
        return {400, "Content-Length must be one decimal number, and must not stand beside Transfer-Encoding"};
    }
    if (error == http::bad_transfer_encoding) {
        return {400, "Transfer-Encoding must stand once, and must not stand beside Content-Length"};
    }
    if (error == http::bad_chunk || error == http::bad_chunk_extension) {
        return {400, "a chunk must be its size in hexadecimal digits, CR LF, so many bytes, and CR LF"};
    }
    return {400, "malformed request: " + error.message()};
}

std::string problem_document(const Rejection &rejection) {
    std::string sentence = "\"";
    for (const char c : rejection.sentence) {
        if (static_cast<unsigned char>(c) < 0x20) {
            sentence.push_back(' ');
            continue;
        }
        if (c == '"' || c == '\\') {
            sentence.push_back('\\');
        }
        sentence.push_back(c);
    }
    sentence.push_back('"');
    // No page describes these: title and status say what they are.
    return std::string("{\"type\":\"about:blank\",\"title\":\"").append(reason_phrase(rejection.status))
        .append("\",\"status\":").append(std::to_string(rejection.status))
        .append(",\"detail\":").append(sentence).append(",\"error\":").append(sentence).append("}");
}

std::string random_id() {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char bytes[16] = {};
    // So few bytes come whole, or not at all before the system has any randomness, which is long past.
    const auto ignored = getrandom(bytes, sizeof bytes, 0);
    static_cast<void>(ignored);
    std::string text;
    for (const unsigned char byte : bytes) {
        text.push_back(digits[byte & 63]);
    }
    return text;
}

const char *reason_phrase(unsigned status) {
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "";
    }
}

}  // namespace parlor_web
