// One HTTP message as it comes from the peer: the start line and the fields as sent, in order.
#pragma once

#include "common.hpp"

#include <boost/beast/http/basic_parser.hpp>

#include <string>
#include <vector>

namespace parlor_web {

struct Message {
    std::string method;
    std::string target;
    unsigned status = 0;
    std::string reason;
    int version = 11;

    /// All names and values, one after the other; a field's strings are cut out of it.
    std::string text;
    struct Field {
        std::uint32_t name_start, name_count, value_start, value_count;
    };
    std::vector<Field> fields;
    std::string body;

    beast::string_view name(const Field &field) const { return {text.data() + field.name_start, field.name_count}; }
    beast::string_view value(const Field &field) const { return {text.data() + field.value_start, field.value_count}; }

    /// The fields of that name: how many, and the first one's value.
    std::size_t count(beast::string_view name, beast::string_view *first = nullptr) const;

    /// For a callback; valid while the message stands.
    std::vector<parlor_web_field> field_views() const;
};

/// Beast's incremental parser, which checks the syntax and the framing, filling a `Message`.
///
/// Beast bounds only what it could not yet parse, so that a header which comes line by line would have no bound: the
/// sum is counted here. Trailer fields (RFC 9112, 7.1.2) are checked and dropped; they must not look like fields of
/// the header.
template <bool is_request>
class MessageParser final : public beast::http::basic_parser<is_request> {
public:
    MessageParser(std::size_t header_limit, std::uint64_t body_limit) : header_left_(header_limit) {
        this->header_limit(static_cast<std::uint32_t>(header_limit));
        this->body_limit(body_limit);
    }

    Message message;

private:
    using string_view = beast::string_view;
    std::size_t header_left_;
    bool header_done_ = false;

    bool take(std::size_t count, error_code &error) {
        if (count > header_left_) {
            error = beast::http::error::header_limit;
            return false;
        }
        header_left_ -= count;
        return true;
    }

    void on_request_impl(
        beast::http::verb, string_view method, string_view target, int version, error_code &error) override {
        if (take(method.size() + target.size() + 12, error)) {
            message.method.assign(method.data(), method.size());
            message.target.assign(target.data(), target.size());
            message.version = version;
        }
    }

    void on_response_impl(int status, string_view reason, int version, error_code &error) override {
        if (take(reason.size() + 15, error)) {
            message.status = static_cast<unsigned>(status);
            message.reason.assign(reason.data(), reason.size());
            message.version = version;
        }
    }

    void on_field_impl(beast::http::field, string_view name, string_view value, error_code &error) override {
        if (!take(name.size() + value.size() + 4, error) || header_done_) {
            return;
        }
        auto &text = message.text;
        const auto start = static_cast<std::uint32_t>(text.size());
        text.append(name.data(), name.size());
        text.append(value.data(), value.size());
        const auto name_count = static_cast<std::uint32_t>(name.size());
        message.fields.push_back({start, name_count, start + name_count, static_cast<std::uint32_t>(value.size())});
    }

    void on_header_impl(error_code &) override { header_done_ = true; }
    void on_body_init_impl(const boost::optional<std::uint64_t> &, error_code &) override {}

    std::size_t on_body_impl(string_view bytes, error_code &) override {
        message.body.append(bytes.data(), bytes.size());
        return bytes.size();
    }

    void on_chunk_header_impl(std::uint64_t, string_view, error_code &) override {}

    std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code &) override {
        message.body.append(bytes.data(), bytes.size());
        return bytes.size();
    }

    void on_finish_impl(error_code &) override {}
};

}  // namespace parlor_web
