#include "dovetail/spaces.hpp"

#include <algorithm>
#include <cmath>

#include "coding.hpp"
#include "utf8.hpp"

namespace dovetail {

namespace {

using Shape = std::vector<std::int64_t>;

/// Throws Error if an array is too large to be drawn number by number; returns how many numbers it has.
std::size_t size_of(const Shape& shape) {
    std::int64_t bound = 1, size = 1;
    for (const std::int64_t length : shape) {
        if (length < 0 || length > 10'000'000 / bound || shape.size() > 32)
            throw Error("an array too large to be drawn");
        bound *= std::max<std::int64_t>(length, 1);
        size *= length;
    }
    return static_cast<std::size_t>(size);
}

/// Appends the numbers of nested lists of a shape; returns false if they have another.
bool flatten(const Value& value, const Shape& shape, std::size_t depth, std::vector<double>& out) {
    if (depth == shape.size()) {
        if (!value.is_number()) return false;
        out.push_back(value.as_number());
        return true;
    }
    if (!value.is_list() || value.as_list().size() != static_cast<std::size_t>(shape[depth])) return false;
    return std::all_of(value.as_list().begin(), value.as_list().end(),
                       [&](const Value& each) { return flatten(each, shape, depth + 1, out); });
}

/// The bound of each of `size` elements. Throws Error if there is not one for each.
std::vector<double> bounds(const Value& bound, const Shape& shape, std::size_t size) {
    if (bound.is_number()) return std::vector<double>(size, bound.as_number());
    std::vector<double> out;
    if (!flatten(bound, shape, 0, out)) throw Error("a Box whose bounds fit no array of its shape");
    return out;
}

Value sample(const spaces::Discrete& space, Random& random) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(space.start) +
                                     random.below(static_cast<std::uint64_t>(space.n)));
}

/// Nested lists of a shape, with what `make` returns for each element in C order.
template <class Make>
Value nested(const Shape& shape, std::size_t depth, Make& make) {
    if (depth == shape.size()) return make();
    List out;
    for (std::int64_t i = 0; i < shape[depth]; ++i) out.push_back(nested(shape, depth + 1, make));
    return out;
}

Value sample(const spaces::Box& space, Random& random) {
    Dtype dtype;
    if (!find_dtype(space.dtype, dtype)) throw Error("a Box of the unknown dtype " + utf8::line(space.dtype));
    const std::size_t size = size_of(space.shape);
    const std::vector<double> low = bounds(space.low, space.shape, size);
    const std::vector<double> high = bounds(space.high, space.shape, size);
    std::size_t i = 0;
    auto make = [&]() -> Value {
        const double least = low[i], most = high[i];
        ++i;
        if (!std::isfinite(least) || !std::isfinite(most))
            throw Error("no value can be drawn from a Box without bounds");
        if (dtype == Dtype::boolean) {
            return least <= 0 && most >= 1 ? random.below(2) == 1 : most >= 1;
        }
        if (dtype == Dtype::float16 || dtype == Dtype::float32 || dtype == Dtype::float64) {
            return least + random.unit() * (most - least);
        }
        const double first = std::ceil(least), last = std::floor(most);
        if (!(first >= -9e15 && last <= 9e15 && first <= last))
            throw Error("a Box that integers cannot be drawn from");
        return static_cast<std::int64_t>(first) +
               static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last - first) + 1));
    };
    return nested(space.shape, 0, make);
}

Value sample(const spaces::MultiDiscrete& space, Random& random) {
    List out;
    for (const std::int64_t n : space.nvec) out.push_back(random.below(static_cast<std::uint64_t>(n)));
    return out;
}

Value sample(const spaces::MultiBinary& space, Random& random) {
    size_of(space.shape);  // throws
    auto make = [&]() -> Value { return random.below(2); };
    return nested(space.shape, 0, make);
}

Value sample(const spaces::Text& space, Random& random) {
    const std::string letters = "abcdefghijklmnopqrstuvwxyz";
    const std::vector<std::string_view> from = utf8::characters(space.charset ? *space.charset : letters);
    if (space.min_length > space.max_length || (from.empty() && space.min_length > 0)) {
        throw Error("a Text space that contains nothing");
    }
    // Not longer than need be: a space may allow texts of any length.
    const std::int64_t spread = std::min<std::int64_t>(space.max_length - space.min_length, 16);
    std::int64_t left = from.empty() ? 0 : space.min_length;
    if (!from.empty())
        left += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spread) + 1));
    std::string out;
    for (; left > 0; --left) out += random.pick(from);
    return out;
}

Value sample(const spaces::Tuple& space, Random& random) {
    List out;
    for (const Space& each : space.spaces) out.push_back(each.sample(random));
    return out;
}

Value sample(const spaces::Sequence& space, Random& random) {
    if (space.min_length > space.max_length) throw Error("a Sequence space that contains nothing");
    // Not longer than necessary: a space may allow sequences of any length.
    const std::int64_t spread = std::min<std::int64_t>(space.max_length - space.min_length, 16);
    std::int64_t left =
        space.min_length + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spread) + 1));
    List out;
    for (; left > 0; --left) out.push_back(space.element->sample(random));
    return out;
}

Value sample(const spaces::Dict& space, Random& random) {
    Map out;
    for (const auto& each : space.spaces) out[each.first] = each.second.sample(random);
    return out;
}

}  // namespace

Space Space::from(const Value& value) {
    return codec::from_value<Space>(value);
}

Value Space::value() const {
    return codec::to_value(*this);
}

Value Space::sample(Random& random) const {
    return std::visit([&](const auto& space) { return dovetail::sample(space, random); }, held_);
}

namespace codec {
template struct Coding<Space>;
}

}  // namespace dovetail
