/// \file
/// Seeds by the rule of SPEC.md, section 8, and random numbers that are the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dovetail {

/// The seed at `path` below `master`, in 0 .. 2^63 - 1; parts that are numbers are given in decimal.
std::int64_t derive(std::int64_t master, const std::vector<std::string>& path);

/// A small generator of random numbers (SplitMix64), fit for the standard library's distributions.
class Random {
public:
    using result_type = std::uint64_t;
    explicit Random(std::int64_t seed = 0) : state_(static_cast<std::uint64_t>(seed)) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }

    result_type operator()() {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    /// An integer in 0 .. `n - 1`, each as likely as the others; `n` must not be 0.
    std::uint64_t below(std::uint64_t n) {
        const std::uint64_t rest = (0 - n) % n;  // numbers below it would favour the first ones
        std::uint64_t drawn = (*this)();
        while (drawn < rest) drawn = (*this)();
        return drawn % n;
    }
    /// A number from 0, below 1.
    double unit() { return static_cast<double>((*this)() >> 11) * (1.0 / 9007199254740992.0); }
    /// One of the entries of a container that is not empty.
    template <class Container>
    const auto& pick(const Container& from) {
        return from[below(from.size())];
    }

private:
    std::uint64_t state_;
};

}  // namespace dovetail
