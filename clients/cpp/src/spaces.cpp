#include "dovetail/spaces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "utf8.hpp"

namespace dovetail {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Value& needed(const Map& map, const char* kind, const char* name) {
    const Value* found = map.find(name);
    if (found == nullptr) throw Error(std::string(kind) + " without `" + name + "`");
    return *found;
}

std::int64_t integer(const Value& value, std::int64_t least) {
    const std::int64_t found = value.as_int();
    if (found < least) throw Error("an integer below " + std::to_string(least) + " in a space");
    return found;
}

std::vector<std::size_t> shape(const Value& value) {
    std::vector<std::size_t> out;
    for (const Value& each : value.as_list()) out.push_back(static_cast<std::size_t>(integer(each, 0)));
    return out;
}

Value as_list(const std::vector<std::size_t>& shape) {
    return List(shape.begin(), shape.end());
}

bool is_bound(const Value& value) {
    if (value.is_number()) return true;
    return value.is_list() && std::all_of(value.as_list().begin(), value.as_list().end(), is_bound);
}

const Value& bound(const Value& value) {
    if (!is_bound(value))
        throw Error("a bound of a Box that is neither a number nor nested arrays of numbers");
    return value;
}

// -- containment ------------------------------------------------------------------------------

struct Elements {
    bool fits = false;
    bool tensor = false;
    std::vector<Value> each;
};

bool flatten(const Value& value, const std::vector<std::size_t>& shape, std::size_t depth,
             std::vector<Value>& out) {
    if (depth == shape.size()) {
        if (!value.is_number() && !value.is_bool()) return false;
        out.push_back(value);
        return true;
    }
    if (!value.is_list() || value.as_list().size() != shape[depth]) return false;
    for (const Value& each : value.as_list()) {
        if (!flatten(each, shape, depth + 1, out)) return false;
    }
    return true;
}

Elements elements(const Value& value, const std::vector<std::size_t>& shape) {
    Elements out;
    if (value.is_tensor()) {
        const Tensor& tensor = value.as_tensor();
        out.tensor = true;
        out.fits = tensor.shape() == shape;
        if (!out.fits) return out;
        out.each.reserve(tensor.size());
        for (std::size_t i = 0; i < tensor.size(); ++i) out.each.push_back(tensor.at(i));
        return out;
    }
    out.fits = flatten(value, shape, 0, out.each);
    return out;
}

bool between(const Value& value, long double low, long double high) {
    if (!value.is_integer()) return false;
    const auto number = value.held().index() == 3 ? static_cast<long double>(value.as_uint())
                                                  : static_cast<long double>(value.as_int());
    return number >= low && number <= high;
}

/// Whether a tensor of this dtype can hold a number.
bool holds(Dtype dtype, const Value& value) {
    if (dtype == Dtype::boolean) return value.is_bool();
    if (dtype >= Dtype::float16) return true;
    const long double many = std::ldexp(1.0L, static_cast<int>(8 * size_of(dtype)));
    return dtype <= Dtype::int64 ? between(value, -many / 2, many / 2 - 1) : between(value, 0, many - 1);
}

double plain(const Value& value) {
    return value.is_bool() ? (value.as_bool() ? 1.0 : 0.0) : value.as_number();
}

bool bounds(const Value& bound, const std::vector<std::size_t>& shape, std::size_t size,
            std::vector<double>& out) {
    if (bound.is_number()) {
        out.assign(size, bound.as_number());
        return true;
    }
    std::vector<Value> each;
    if (!flatten(bound, shape, 0, each)) return false;
    for (const Value& one : each) out.push_back(plain(one));
    return true;
}

bool contains(const spaces::Discrete& space, const Value& value) {
    if (!value.is_integer() || value.held().index() == 3) return false;
    const std::int64_t number = value.as_int();
    // As unsigned numbers, where nothing overflows.
    return number >= space.start &&
           static_cast<std::uint64_t>(number) - static_cast<std::uint64_t>(space.start) <
               static_cast<std::uint64_t>(space.n);
}

bool contains(const spaces::Box& space, const Value& value) {
    Dtype dtype;
    if (!find_dtype(space.dtype, dtype)) return false;
    const Elements found = elements(value, space.shape);
    if (!found.fits) return false;
    if (found.tensor && value.as_tensor().dtype() != dtype) return false;
    std::vector<double> low, high;
    if (!bounds(space.low, space.shape, found.each.size(), low)) return false;
    if (!bounds(space.high, space.shape, found.each.size(), high)) return false;
    for (std::size_t i = 0; i < found.each.size(); ++i) {
        if (!found.tensor && !holds(dtype, found.each[i])) return false;
        const double number = plain(found.each[i]);
        if (!(number >= low[i] && number <= high[i])) return false;
    }
    return true;
}

bool contains(const spaces::MultiDiscrete& space, const Value& value) {
    const Elements found = elements(value, {space.nvec.size()});
    if (!found.fits) return false;
    for (std::size_t i = 0; i < found.each.size(); ++i) {
        if (!between(found.each[i], 0, static_cast<long double>(space.nvec[i]) - 1)) return false;
    }
    return true;
}

bool contains(const spaces::MultiBinary& space, const Value& value) {
    const Elements found = elements(value, space.shape);
    return found.fits && std::all_of(found.each.begin(), found.each.end(),
                                     [](const Value& each) { return plain(each) == 0 || plain(each) == 1; });
}

bool contains(const spaces::Text& space, const Value& value) {
    if (!value.is_text()) return false;
    const std::vector<std::string_view> characters = utf8::characters(value.as_text());
    if (characters.size() < space.min_length || characters.size() > space.max_length) return false;
    if (!space.charset) return true;
    const std::vector<std::string_view> allowed = utf8::characters(*space.charset);
    return std::all_of(characters.begin(), characters.end(), [&](std::string_view each) {
        return std::find(allowed.begin(), allowed.end(), each) != allowed.end();
    });
}

bool contains(const spaces::Tuple& space, const Value& value) {
    if (!value.is_list() || value.as_list().size() != space.spaces.size()) return false;
    for (std::size_t i = 0; i < space.spaces.size(); ++i) {
        if (!space.spaces[i].contains(value.as_list()[i])) return false;
    }
    return true;
}

bool contains(const spaces::Dict& space, const Value& value) {
    if (!value.is_map() || value.as_map().size() != space.spaces.size()) return false;
    return std::all_of(space.spaces.begin(), space.spaces.end(), [&](const auto& each) {
        const Value* found = value.as_map().find(each.first);
        return found != nullptr && each.second.contains(*found);
    });
}

// -- samples --------------------------------------------------------------------------------------

Value sample(const spaces::Discrete& space, Random& random) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(space.start) +
                                     random.below(static_cast<std::uint64_t>(space.n)));
}

/// Throws Error if an array is too large to be drawn number by number.
void check_size(const std::vector<std::size_t>& shape) {
    std::size_t size = 1;
    for (const std::size_t length : shape) {
        if (length > 10'000'000 / size || shape.size() > 32) throw Error("an array too large to be drawn");
        size *= std::max<std::size_t>(length, 1);
    }
}

/// Nested lists of a shape, with what `make` returns for each element in C order.
template <class Make>
Value nested(const std::vector<std::size_t>& shape, std::size_t depth, Make& make) {
    if (depth == shape.size()) return make();
    List out;
    for (std::size_t i = 0; i < shape[depth]; ++i) out.push_back(nested(shape, depth + 1, make));
    return out;
}

Value sample(const spaces::Box& space, Random& random) {
    Dtype dtype;
    if (!find_dtype(space.dtype, dtype)) throw Error("a Box of the unknown dtype " + utf8::line(space.dtype));
    check_size(space.shape);
    std::size_t size = 1;
    for (const std::size_t length : space.shape) size *= length;
    std::vector<double> low, high;
    if (!bounds(space.low, space.shape, size, low) || !bounds(space.high, space.shape, size, high)) {
        throw Error("a Box whose bounds fit no array of its shape");
    }
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
    check_size(space.shape);
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
    const std::uint64_t longest = std::min<std::uint64_t>(space.max_length - space.min_length, 16);
    const std::uint64_t length = from.empty() ? 0 : space.min_length + random.below(longest + 1);
    std::string out;
    for (std::uint64_t i = 0; i < length; ++i) out += random.pick(from);
    return out;
}

Value sample(const spaces::Tuple& space, Random& random) {
    List out;
    for (const Space& each : space.spaces) out.push_back(each.sample(random));
    return out;
}

Value sample(const spaces::Dict& space, Random& random) {
    Map out;
    for (const auto& each : space.spaces) out[each.first] = each.second.sample(random);
    return out;
}

// -- maps ---------------------------------------------------------------------------------------

Map to_map(const spaces::Discrete& space) {
    Map out{{"space", "Discrete"}, {"n", space.n}};
    if (space.start != 0) out["start"] = space.start;
    return out;
}

Map to_map(const spaces::Box& space) {
    Map out{{"space", "Box"}, {"shape", as_list(space.shape)}};
    if (space.low != Value(-kInfinity)) out["low"] = space.low;
    if (space.high != Value(kInfinity)) out["high"] = space.high;
    if (space.dtype != "float32") out["dtype"] = space.dtype;
    return out;
}

Map to_map(const spaces::MultiDiscrete& space) {
    return {{"space", "MultiDiscrete"}, {"nvec", List(space.nvec.begin(), space.nvec.end())}};
}

Map to_map(const spaces::MultiBinary& space) {
    return {{"space", "MultiBinary"}, {"shape", as_list(space.shape)}};
}

Map to_map(const spaces::Text& space) {
    Map out{{"space", "Text"}, {"max_length", space.max_length}};
    if (space.min_length != 0) out["min_length"] = space.min_length;
    if (space.charset) out["charset"] = *space.charset;
    return out;
}

Map to_map(const spaces::Tuple& space) {
    List parts;
    for (const Space& each : space.spaces) parts.push_back(each.value());
    return {{"space", "Tuple"}, {"spaces", std::move(parts)}};
}

Map to_map(const spaces::Dict& space) {
    Map parts;
    for (const auto& each : space.spaces) parts.append(each.first, each.second.value());
    return {{"space", "Dict"}, {"spaces", std::move(parts)}};
}

}  // namespace

Space Space::from(const Value& value) {
    if (!value.is_map()) throw Error(std::string("a space that is no map but ") + value.kind());
    const Map& map = value.as_map();
    const Value* kind = map.find("space");
    if (kind == nullptr || !kind->is_text()) throw Error("a space whose `space` names no kind");
    const std::string& name = kind->as_text();
    const char* about = name.c_str();
    if (name == "Discrete") {
        spaces::Discrete space{integer(needed(map, about, "n"), 1), 0};
        if (const Value* start = map.find("start")) space.start = start->as_int();
        return space;
    }
    if (name == "Box") {
        spaces::Box space;
        space.shape = shape(needed(map, about, "shape"));
        if (const Value* low = map.find("low")) space.low = bound(*low);
        if (const Value* high = map.find("high")) space.high = bound(*high);
        if (const Value* dtype = map.find("dtype")) space.dtype = dtype->as_text();
        return space;
    }
    if (name == "MultiDiscrete") {
        spaces::MultiDiscrete space;
        for (const Value& each : needed(map, about, "nvec").as_list()) space.nvec.push_back(integer(each, 1));
        return space;
    }
    if (name == "MultiBinary") return spaces::MultiBinary{shape(needed(map, about, "shape"))};
    if (name == "Text") {
        spaces::Text space;
        space.max_length = needed(map, about, "max_length").as_uint();
        if (const Value* least = map.find("min_length")) space.min_length = least->as_uint();
        if (const Value* charset = map.find("charset"); charset != nullptr && !charset->is_nil()) {
            space.charset = charset->as_text();
        }
        return space;
    }
    if (name == "Tuple") {
        spaces::Tuple space;
        for (const Value& each : needed(map, about, "spaces").as_list()) space.spaces.push_back(from(each));
        return space;
    }
    if (name == "Dict") {
        spaces::Dict space;
        for (const auto& [key, each] : needed(map, about, "spaces").as_map()) {
            space.spaces.emplace_back(key, from(each));
        }
        return space;
    }
    throw Error("a space of the unknown kind \"" + name.substr(0, 40) + "\"");
}

Value Space::value() const {
    return std::visit([](const auto& space) { return Value(to_map(space)); }, held_);
}

bool Space::contains(const Value& value) const {
    return std::visit([&](const auto& space) { return dovetail::contains(space, value); }, held_);
}

Value Space::sample(Random& random) const {
    return std::visit([&](const auto& space) { return dovetail::sample(space, random); }, held_);
}

}  // namespace dovetail
