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

/// True for line ends, control characters, and those that turn the reading order [S13.5].
inline bool obeyed(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
    if (character.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
    if (character.size() != 3 || byte(0) != 0xE2) return false;
    return (byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE) ||
           (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xAF);
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
        if (obeyed(text.substr(0, size))) {
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
