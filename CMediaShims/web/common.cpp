#include "common.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

namespace parlor_web {

int new_socket(const asio::ip::tcp &protocol, int flags, error_code &error) {
    const int descriptor = ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC | flags, protocol.protocol());
    error = descriptor < 0 ? error_code(errno, boost::system::system_category()) : error_code();
    return descriptor;
}

void close_descriptor(int descriptor) { ::close(descriptor); }

void describe(parlor_web_failure *failure, parlor_web_failure_kind kind, int code, const std::string &message) {
    if (failure == nullptr) {
        return;
    }
    failure->kind = kind;
    failure->code = code;
    const std::size_t count = std::min(message.size(), sizeof(failure->message) - 1);
    std::memcpy(failure->message, message.data(), count);
    failure->message[count] = 0;
}

void describe(parlor_web_failure *failure, parlor_web_failure_kind kind, const std::string &what, error_code error) {
    const bool is_system = error.category() == boost::system::system_category()
        || error.category() == boost::system::generic_category();
    describe(failure, kind, is_system ? error.value() : 0, what + ": " + error.message());
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equals_ignoring_case(beast::string_view a, beast::string_view b) {
    return a.size() == b.size()
        && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool list_contains(beast::string_view list, beast::string_view token) {
    while (!list.empty()) {
        const auto comma = list.find(',');
        auto item = list.substr(0, comma);
        while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
        while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
        if (equals_ignoring_case(item, token)) {
            return true;
        }
        if (comma == beast::string_view::npos) {
            return false;
        }
        list.remove_prefix(comma + 1);
    }
    return false;
}

}  // namespace parlor_web
