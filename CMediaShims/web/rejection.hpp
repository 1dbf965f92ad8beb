// What the server itself answers to a request that never reaches the handler: which, and in which words.
#pragma once

#include "message.hpp"

#include <optional>
#include <string>

namespace parlor_web {

struct Rejection {
    unsigned status;
    /// What is wrong, and what would be right.
    std::string sentence;
};

/// The framing and the start line of a request whose syntax is right (RFC 9112, 3.2 and 6): nothing if it may go on.
std::optional<Rejection> check_header(const Message &message);

/// What to answer to an error of the parser.
Rejection rejection_of(error_code error, const parlor_web_limits &limits);

/// As clients of WHIP expect it (RFC 9457); `error` is the sentence, too, as in the handler's refusals.
std::string problem_document(const Rejection &rejection);

/// The reason phrase that goes with a status when the handler gives none; empty for statuses nobody has named.
const char *reason_phrase(unsigned status);

/// 16 characters A-Z a-z 0-9 - _ from the system's source of randomness.
std::string random_id();

}  // namespace parlor_web
