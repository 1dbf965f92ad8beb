#include "message.hpp"

namespace parlor_web {

std::size_t Message::count(beast::string_view wanted, beast::string_view *first) const {
    std::size_t found = 0;
    for (const auto &field : fields) {
        if (equals_ignoring_case(name(field), wanted)) {
            if (found == 0 && first != nullptr) {
                *first = value(field);
            }
            found += 1;
        }
    }
    return found;
}

std::vector<parlor_web_field> Message::field_views() const {
    std::vector<parlor_web_field> views;
    views.reserve(fields.size());
    const auto *start = reinterpret_cast<const std::uint8_t *>(text.data());
    for (const auto &field : fields) {
        views.push_back({{start + field.name_start, field.name_count}, {start + field.value_start, field.value_count}});
    }
    return views;
}

}  // namespace parlor_web
