#include "dovetail/seeds.hpp"

#include <array>

namespace dovetail {

namespace {

constexpr std::array<std::uint32_t, 64> kRounds{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t turned(std::uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

/// The first eight bytes of the SHA-256 of a text (FIPS 180-4), as a big-endian integer.
std::uint64_t digest(std::string text) {
    std::array<std::uint32_t, 8> h{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const std::uint64_t bits = text.size() * 8;
    text += static_cast<char>(0x80);
    while (text.size() % 64 != 56) text += '\0';
    for (int i = 7; i >= 0; --i) text += static_cast<char>(bits >> (8 * i) & 0xFF);
    for (std::size_t block = 0; block < text.size(); block += 64) {
        std::array<std::uint32_t, 64> w;
        for (std::size_t i = 0; i < 16; ++i) {
            w[i] = 0;
            for (std::size_t k = 0; k < 4; ++k) {
                w[i] = w[i] << 8 | static_cast<unsigned char>(text[block + 4 * i + k]);
            }
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3;
            const std::uint32_t b = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + a + w[i - 7] + b;
        }
        std::array<std::uint32_t, 8> v = h;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t s1 = turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25);
            const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
            const std::uint32_t t1 = v[7] + s1 + choice + kRounds[i] + w[i];
            const std::uint32_t s0 = turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22);
            const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v = {t1 + s0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
        }
        for (std::size_t i = 0; i < 8; ++i) h[i] += v[i];
    }
    return static_cast<std::uint64_t>(h[0]) << 32 | h[1];
}

}  // namespace

std::int64_t derive(std::int64_t master, const std::vector<std::string>& path) {
    std::string text = std::to_string(master);
    for (const std::string& part : path) text += "/" + part;
    return static_cast<std::int64_t>(digest(std::move(text)) >> 1);
}

}  // namespace dovetail
