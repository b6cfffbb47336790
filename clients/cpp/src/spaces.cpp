#include "dovetail/spaces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "coding.hpp"
#include "utf8.hpp"

namespace dovetail {

namespace {

using Shape = std::vector<std::int64_t>;

/// Elements of the largest value that is drawn; more do not fit into a message.
constexpr double kLargest = 1 << 20;

/// How much longer than necessary a text or sequence is at most.
constexpr std::int64_t kSpread = 16;

// -- how many elements a value that is drawn has at most; as a double, since it may be any number ----------

double weight(const Space& space);

/// Those of an array, or its empty rows; infinitely many if it has too many dimensions.
double weight(const Shape& shape) {
    double size = shape.size() > 32 ? std::numeric_limits<double>::infinity() : 1;
    for (const std::int64_t length : shape) size *= static_cast<double>(std::max<std::int64_t>(length, 1));
    return size;
}

double longest(std::int64_t least, std::int64_t most) {
    return std::min(static_cast<double>(most), static_cast<double>(least) + static_cast<double>(kSpread));
}

double weight(const spaces::Discrete&) {
    return 1;
}

double weight(const spaces::Box& space) {
    return weight(space.shape);
}

double weight(const spaces::MultiDiscrete& space) {
    return static_cast<double>(space.nvec.size());
}

double weight(const spaces::MultiBinary& space) {
    return weight(space.shape);
}

double weight(const spaces::Text& space) {
    return 1 + longest(space.min_length, space.max_length);
}

double weight(const spaces::Tuple& space) {
    double size = 1;
    for (const Space& each : space.spaces) size += weight(each);
    return size;
}

double weight(const spaces::Sequence& space) {
    return 1 + longest(space.min_length, space.max_length) * weight(*space.element);
}

double weight(const spaces::Dict& space) {
    double size = 1;
    for (const auto& each : space.spaces) size += weight(each.second);
    return size;
}

double weight(const Space& space) {
    return std::visit([](const auto& each) { return weight(each); }, space.held());
}

/// How many numbers an array has.
std::size_t size_of(const Shape& shape) {
    std::size_t size = 1;
    for (const std::int64_t length : shape) size *= static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
    return size;
}

Value sample(const Space& space, Random& random);

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

Value sample(const spaces::MultiDiscrete& space, Random& random) {
    List out;
    for (const std::int64_t n : space.nvec) out.push_back(random.below(static_cast<std::uint64_t>(n)));
    return out;
}

Value sample(const spaces::MultiBinary& space, Random& random) {
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
    const std::int64_t spread = std::min<std::int64_t>(space.max_length - space.min_length, kSpread);
    std::int64_t left = from.empty() ? 0 : space.min_length;
    if (!from.empty())
        left += static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spread) + 1));
    std::string out;
    for (; left > 0; --left) out += random.pick(from);
    return out;
}

Value sample(const spaces::Tuple& space, Random& random) {
    List out;
    for (const Space& each : space.spaces) out.push_back(sample(each, random));
    return out;
}

Value sample(const spaces::Sequence& space, Random& random) {
    if (space.min_length > space.max_length) throw Error("a Sequence space that contains nothing");
    // Not longer than necessary: a space may allow sequences of any length.
    const std::int64_t spread = std::min<std::int64_t>(space.max_length - space.min_length, kSpread);
    std::int64_t left =
        space.min_length + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spread) + 1));
    List out;
    for (; left > 0; --left) out.push_back(sample(*space.element, random));
    return out;
}

Value sample(const spaces::Dict& space, Random& random) {
    Map out;
    for (const auto& each : space.spaces) out[each.first] = sample(each.second, random);
    return out;
}

/// The elements of a tensor or of nested lists; false if they do not have the shape.
bool elements(const Value& value, const Shape& shape, std::size_t depth, List& out) {
    if (depth == 0 && value.is_tensor()) {
        const Tensor& tensor = value.as_tensor();
        if (!std::equal(tensor.shape().begin(), tensor.shape().end(), shape.begin(), shape.end(),
                        [](std::size_t a, std::int64_t b) { return static_cast<std::int64_t>(a) == b; }))
            return false;
        for (std::size_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.at(i));
        return true;
    }
    if (depth == shape.size()) {
        out.push_back(value);
        return true;
    }
    if (!value.is_list() || value.as_list().size() != static_cast<std::size_t>(shape[depth])) return false;
    return std::all_of(value.as_list().begin(), value.as_list().end(), [&](const Value& each) {
        return each.is_tensor() ? false : elements(each, shape, depth + 1, out);
    });
}

bool is_float(Dtype dtype) {
    return dtype == Dtype::float16 || dtype == Dtype::float32 || dtype == Dtype::float64;
}

/// Rounds to a dtype of floats: ties to even, infinite beyond the largest.
double nearest(double number, Dtype dtype) {
    if (dtype == Dtype::float32) {
        // Beyond the largest a conversion is not defined.
        const double most = std::numeric_limits<float>::max();
        const double half = std::ldexp(1.0, 103);  // half of its distance to the next
        if (std::isfinite(number) && std::abs(number) >= most + half)
            return std::copysign(std::numeric_limits<double>::infinity(), number);
        if (std::isfinite(number) && std::abs(number) > most) return std::copysign(most, number);
        return static_cast<double>(static_cast<float>(number));
    }
    if (dtype != Dtype::float16 || number == 0 || !std::isfinite(number)) return number;
    const double unit = std::ldexp(1.0, std::max(std::ilogb(number), -14) - 10);
    const double rounded = std::nearbyint(number / unit) * unit;
    if (std::abs(rounded) > 65504) return std::copysign(std::numeric_limits<double>::infinity(), number);
    return rounded;
}

/// True if a <= b, both integers or booleans, or floats that bound them; exact. NaN bounds nothing.
bool ordered(const Value& a, const Value& b) {
    const auto truth = [](const Value& value) -> Value {
        if (value.is_bool()) return std::int64_t{value.as_bool()};
        return value;
    };
    const Value x = truth(a), y = truth(b);
    const auto large = [](const Value& value) { return std::holds_alternative<std::uint64_t>(value.held()); };
    if (x.is_integer() && y.is_integer()) {
        if (large(x) || large(y)) return !large(x) || (large(y) && x.as_uint() <= y.as_uint());
        return x.as_int() <= y.as_int();
    }
    if (!x.is_integer() && !y.is_integer()) return x.as_number() <= y.as_number();
    // One is a float: within the range of integers it is as good as the whole number that it bounds.
    const bool left = !x.is_integer();
    const double bound = left ? std::ceil(x.as_number()) : std::floor(y.as_number());
    if (std::isnan(bound)) return false;
    if (bound >= std::ldexp(1.0, 64)) return !left;
    if (bound < -std::ldexp(1.0, 63)) return left;
    const Value whole =
        bound < 0 ? Value(static_cast<std::int64_t>(bound)) : Value(static_cast<std::uint64_t>(bound));
    return left ? ordered(whole, y) : ordered(x, whole);
}

/// The least and the greatest integer of a dtype.
std::pair<Value, Value> range(Dtype dtype) {
    const int spare = 64 - static_cast<int>(8 * size_of(dtype));
    if (dtype == Dtype::boolean) return {0, 1};
    const bool is_unsigned = dtype == Dtype::uint8 || dtype == Dtype::uint16 || dtype == Dtype::uint32 ||
                             dtype == Dtype::uint64;
    if (is_unsigned) return {0, UINT64_MAX >> spare};
    return {-(INT64_MAX >> spare) - 1, INT64_MAX >> spare};
}

/// True if a dtype can hold an element of nested lists, or of a tensor of that dtype.
bool holds(Dtype dtype, const Value& element) {
    if (element.is_bool() || dtype == Dtype::boolean) return element.is_bool() && dtype == Dtype::boolean;
    if (is_float(dtype)) return element.is_number();
    const auto [least, most] = range(dtype);
    return element.is_integer() && ordered(least, element) && ordered(element, most);
}

/// A bound of each of `size` elements; false if it fits no array of the shape.
bool limits(const Value& bound, const Shape& shape, std::size_t size, List& out) {
    if (bound.is_number()) {
        out.assign(size, bound);
        return true;
    }
    return bound.is_list() && elements(bound, shape, 0, out) &&
           std::all_of(out.begin(), out.end(), [](const Value& each) { return each.is_number(); });
}

double real(double low, double high, Random& random) {
    const double share = random.unit();
    if (low == high) return low;
    if (std::isfinite(low) && std::isfinite(high))  // their difference can be infinite
        return std::min(std::max(low * (1 - share) + high * share, low), high);
    if (std::isfinite(low)) return low + share;
    return std::isfinite(high) ? high - share : 2 * share - 1;
}

Value whole(Dtype dtype, const Value& low, const Value& high, Random& random) {
    auto [first, last] = range(dtype);
    const auto rounded = [](const Value& bound, double number) -> Value {
        if (bound.is_integer()) return bound;
        if (number < 0) return static_cast<std::int64_t>(number);
        return static_cast<std::uint64_t>(number);
    };
    const bool within = ordered(low, last) && ordered(first, high);
    if (within && ordered(first, low)) first = rounded(low, std::ceil(low.as_number()));
    if (within && ordered(high, last)) last = rounded(high, std::floor(high.as_number()));
    if (!within || !ordered(first, last)) throw Error("a Box without a number between its bounds");
    const bool negative = !ordered(0, first);
    const auto bits = [](const Value& each) {
        return ordered(0, each) ? each.as_uint() : static_cast<std::uint64_t>(each.as_int());
    };
    const std::uint64_t more = bits(last) - bits(first) + 1;  // 0 if it is all of 64 bits
    const std::uint64_t drawn = bits(first) + (more == 0 ? random() : random.below(more));
    if (dtype == Dtype::boolean) return drawn == 1;
    if (negative) return static_cast<std::int64_t>(drawn);
    return drawn;
}

Value sample(const spaces::Box& space, Random& random) {
    Dtype dtype;
    List low, high;
    if (!find_dtype(space.dtype, dtype)) throw Error("a Box of the unknown dtype " + utf8::line(space.dtype));
    const std::size_t size = size_of(space.shape);
    if (!limits(space.low, space.shape, size, low) || !limits(space.high, space.shape, size, high))
        throw Error("a Box whose bounds fit no array of its shape");
    std::size_t i = 0;
    auto make = [&]() -> Value {
        const Value &least = low[i], &most = high[i];
        ++i;
        if (is_float(dtype)) return real(least.as_number(), most.as_number(), random);
        return whole(dtype, least, most, random);
    };
    return nested(space.shape, 0, make);
}

/// The characters of each text space in order; it may stand for each element of a sequence.
using Known = std::map<const spaces::Text*, std::vector<std::string_view>>;

bool contains(const Space& space, const Value& value, Known& known);

bool contains(const spaces::Discrete& space, const Value& value, Known&) {
    return std::holds_alternative<std::int64_t>(value.held()) && value.as_int() >= space.start &&
           static_cast<std::uint64_t>(value.as_int()) - static_cast<std::uint64_t>(space.start) <
               static_cast<std::uint64_t>(space.n);
}

bool contains(const spaces::Box& space, const Value& value, Known&) {
    Dtype dtype;
    List all, low, high;
    if (!find_dtype(space.dtype, dtype)) return false;
    if (value.is_tensor() && value.as_tensor().dtype() != dtype) return false;
    if (!elements(value, space.shape, 0, all) || !limits(space.low, space.shape, all.size(), low) ||
        !limits(space.high, space.shape, all.size(), high))
        return false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!holds(dtype, all[i])) return false;
        if (is_float(dtype)) {
            const double number = nearest(all[i].as_number(), dtype);
            if (!(nearest(low[i].as_number(), dtype) <= number &&
                  number <= nearest(high[i].as_number(), dtype)))
                return false;
        } else if (!ordered(low[i], all[i]) || !ordered(all[i], high[i])) {
            return false;
        }
    }
    return true;
}

bool contains(const spaces::MultiDiscrete& space, const Value& value, Known& known) {
    List all;
    if (!elements(value, {static_cast<std::int64_t>(space.nvec.size())}, 0, all)) return false;
    if (value.is_tensor() && (is_float(value.as_tensor().dtype()))) return false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!contains(spaces::Discrete{space.nvec[i], 0}, all[i], known)) return false;
    }
    return !value.is_tensor() || value.as_tensor().dtype() != Dtype::boolean;
}

bool contains(const spaces::MultiBinary& space, const Value& value, Known&) {
    List all;
    return elements(value, space.shape, 0, all) && std::all_of(all.begin(), all.end(), [&](const Value& each) {
               if (each.is_bool()) return value.is_tensor();
               return each.is_number() && (each.as_number() == 0 || each.as_number() == 1);
           });
}

bool contains(const spaces::Text& space, const Value& value, Known& known) {
    if (!value.is_text()) return false;
    const std::vector<std::string_view> all = utf8::characters(value.as_text());
    const auto length = static_cast<std::int64_t>(all.size());
    if (length < space.min_length || length > space.max_length) return false;
    if (!space.charset) return true;
    std::vector<std::string_view>& charset = known[&space];
    if (charset.empty()) {
        charset = utf8::characters(*space.charset);
        std::sort(charset.begin(), charset.end());
    }
    return std::all_of(all.begin(), all.end(), [&](std::string_view each) {
        return std::binary_search(charset.begin(), charset.end(), each);
    });
}

bool contains(const spaces::Tuple& space, const Value& value, Known& known) {
    if (!value.is_list() || value.as_list().size() != space.spaces.size()) return false;
    for (std::size_t i = 0; i < space.spaces.size(); ++i) {
        if (!contains(space.spaces[i], value.as_list()[i], known)) return false;
    }
    return true;
}

bool contains(const spaces::Sequence& space, const Value& value, Known& known) {
    if (!value.is_list()) return false;
    const auto length = static_cast<std::int64_t>(value.as_list().size());
    return length >= space.min_length && length <= space.max_length &&
           std::all_of(value.as_list().begin(), value.as_list().end(),
                       [&](const Value& each) { return contains(*space.element, each, known); });
}

bool contains(const spaces::Dict& space, const Value& value, Known& known) {
    if (!value.is_map() || value.as_map().size() != space.spaces.size()) return false;
    return std::all_of(space.spaces.begin(), space.spaces.end(), [&](const auto& each) {
        const Value* found = value.as_map().find(each.first);
        return found != nullptr && contains(each.second, *found, known);
    });
}

Value sample(const Space& space, Random& random) {
    return std::visit([&](const auto& each) { return sample(each, random); }, space.held());
}

bool contains(const Space& space, const Value& value, Known& known) {
    return std::visit([&](const auto& each) { return contains(each, value, known); }, space.held());
}

}  // namespace

Space Space::from(const Value& value) {
    return codec::from_value<Space>(value);
}

Value Space::value() const {
    return codec::to_value(*this);
}

Value Space::sample(Random& random) const {
    if (weight(*this) > kLargest) throw Error("a space whose values are too large to be drawn");
    return dovetail::sample(*this, random);
}

bool Space::contains(const Value& value) const {
    Known known;
    return dovetail::contains(*this, value, known);
}

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

namespace codec {
template struct Coding<Space>;
}

}  // namespace dovetail
