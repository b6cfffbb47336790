// UTF-8: what is well-formed, and where its characters are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::utf8 {

/// The number of bytes of the character at the beginning, or 0 if it is not well-formed.
inline std::size_t length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return 0;
    }
    const unsigned char second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return size;
}

inline bool valid(std::string_view text) {
    while (!text.empty()) {
        const std::size_t size = length(text);
        if (size == 0) return false;
        text.remove_prefix(size);
    }
    return true;
}

/// The characters of a text that is well-formed.
inline std::vector<std::string_view> characters(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const std::size_t size = std::max<std::size_t>(length(text), 1);
        out.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return out;
}

/// One line of at most 300 bytes for a person, whatever was in the text.
inline std::string line(std::string_view text) {
    std::string out;
    while (!text.empty() && out.size() < 297) {
        const std::size_t size = length(text);
        if (size == 0) {
            out += '?';
            text.remove_prefix(1);
            continue;
        }
        if (size == 1 && static_cast<unsigned char>(text[0]) < 0x20) {
            if (!out.empty() && out.back() != ' ') out += ' ';
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out;
}

}  // namespace dovetail::utf8
