#include "dovetail/legal.hpp"

#include "dovetail/vector.hpp"

namespace dovetail {

Bytes mask(const std::vector<std::int64_t>& actions, std::size_t n) {
    Bytes out((n + 7) / 8);
    for (const std::int64_t action : actions) {
        if (action < 0 || static_cast<std::size_t>(action) >= n) {
            throw Error("action " + std::to_string(action) + " does not fit a mask of " + std::to_string(n));
        }
        out[static_cast<std::size_t>(action / 8)] |= static_cast<std::uint8_t>(1 << (action % 8));
    }
    return out;
}

std::vector<std::int64_t> unmask(const Bytes& mask) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
            if ((mask[i] >> bit & 1) != 0) out.push_back(static_cast<std::int64_t>(8 * i + bit));
        }
    }
    return out;
}

std::vector<std::int64_t> Masks::actions(std::size_t row) const {
    const auto from = bits.begin() + static_cast<std::ptrdiff_t>(row * width);
    return unmask(Bytes(from, from + static_cast<std::ptrdiff_t>(width)));
}

}  // namespace dovetail
