#include "dovetail/value.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dovetail {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are little-endian on the wire and are used in place; this machine is not"
#endif

namespace {

struct About {
    const char* name;
    std::size_t size;
};

constexpr About kDtypes[] = {
    {"bool", 1},   {"int8", 1},   {"int16", 2},  {"int32", 4},   {"int64", 8},   {"uint8", 1},
    {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8},
};

template <class T>
T loaded(const std::uint8_t* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

double half(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    double value;
    if (exponent == 31) {
        value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
        value = std::ldexp(fraction, -24);
    } else {
        value = std::ldexp(1024 + fraction, exponent - 25);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

[[noreturn]] void wrong(const Value& value, const char* wanted) {
    throw Error(std::string("expected ") + wanted + ", got " + value.kind());
}

template <class T>
const T& held(const Value& value, const char* wanted) {
    const T* found = std::get_if<T>(&value.held());
    if (found == nullptr) wrong(value, wanted);
    return *found;
}

}  // namespace

const char* name_of(Dtype dtype) {
    return kDtypes[static_cast<std::size_t>(dtype)].name;
}

std::size_t size_of(Dtype dtype) {
    return kDtypes[static_cast<std::size_t>(dtype)].size;
}

bool find_dtype(std::string_view name, Dtype& dtype) {
    for (std::size_t i = 0; i < std::size(kDtypes); ++i) {
        if (name == kDtypes[i].name) {
            dtype = static_cast<Dtype>(i);
            return true;
        }
    }
    return false;
}

Tensor::Tensor(Dtype dtype, std::vector<std::size_t> shape, Bytes data)
    : dtype_(dtype), shape_(std::move(shape)), data_(std::move(data)) {
    if (shape_.size() > 32) throw Error("a tensor of more than 32 dimensions");
    for (const std::size_t length : shape_) {
        if (length > static_cast<std::size_t>(INT64_MAX))
            throw Error("a tensor with a length that no index reaches");
    }
    // A zero anywhere makes the product zero, however large the others are.
    std::size_t wanted = size_of(dtype_);
    if (std::find(shape_.begin(), shape_.end(), std::size_t{0}) != shape_.end()) wanted = 0;
    for (const std::size_t length : shape_) {
        if (wanted != 0 && length > std::numeric_limits<std::size_t>::max() / wanted) {
            throw Error("a tensor whose shape is larger than any memory");
        }
        wanted *= length;
    }
    if (wanted != data_.size()) {
        throw Error("a tensor of " + std::to_string(data_.size()) + " bytes whose dtype and shape make " +
                    std::to_string(wanted));
    }
    if (dtype_ == Dtype::boolean) {
        for (const std::uint8_t byte : data_) {
            if (byte > 1) throw Error("a tensor of bool with a byte that is neither 0 nor 1");
        }
    }
}

Tensor Tensor::zeros(Dtype dtype, std::vector<std::size_t> shape) {
    std::size_t size = size_of(dtype);
    for (const std::size_t length : shape) size *= length;
    return Tensor(dtype, std::move(shape), Bytes(size));
}

const std::uint8_t* Tensor::element(std::size_t i) const {
    if (i >= size())
        throw Error("a tensor of " + std::to_string(size()) + " elements has none of that number");
    return data_.data() + i * size_of(dtype_);
}

double Tensor::number(std::size_t i) const {
    const std::uint8_t* const at = element(i);
    switch (dtype_) {
        case Dtype::boolean:
        case Dtype::uint8:
            return *at;
        case Dtype::int8:
            return loaded<std::int8_t>(at);
        case Dtype::int16:
            return loaded<std::int16_t>(at);
        case Dtype::int32:
            return loaded<std::int32_t>(at);
        case Dtype::int64:
            return static_cast<double>(loaded<std::int64_t>(at));
        case Dtype::uint16:
            return loaded<std::uint16_t>(at);
        case Dtype::uint32:
            return loaded<std::uint32_t>(at);
        case Dtype::uint64:
            return static_cast<double>(loaded<std::uint64_t>(at));
        case Dtype::float16:
            return half(loaded<std::uint16_t>(at));
        case Dtype::float32:
            return loaded<float>(at);
        case Dtype::float64:
            break;
    }
    return loaded<double>(at);
}

Value Tensor::at(std::size_t i) const {
    switch (dtype_) {
        case Dtype::boolean:
            return number(i) != 0;
        case Dtype::int64:
            return loaded<std::int64_t>(element(i));
        case Dtype::uint64:
            return loaded<std::uint64_t>(element(i));
        case Dtype::float16:
        case Dtype::float32:
        case Dtype::float64:
            return number(i);
        default:
            return static_cast<std::int64_t>(number(i));
    }
}

Map::Map(std::initializer_list<Entry> entries) : entries_(entries) {
    settle();
}

const Value* Map::find(std::string_view key) const {
    for (const Entry& entry : entries_) {
        if (entry.first == key) return &entry.second;
    }
    return nullptr;
}

Value* Map::find(std::string_view key) {
    for (Entry& entry : entries_) {
        if (entry.first == key) return &entry.second;
    }
    return nullptr;
}

const Value& Map::at(std::string_view key) const {
    const Value* found = find(key);
    if (found == nullptr) throw Error("there is no \"" + std::string(key) + "\"");
    return *found;
}

Value& Map::operator[](std::string_view key) {
    if (Value* found = find(key)) return *found;
    return entries_.emplace_back(std::string(key), Value()).second;
}

void Map::erase(std::string_view key) {
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.first == key; }),
                   entries_.end());
}

std::vector<Map::Entry>::const_iterator Map::begin() const {
    return entries_.begin();
}

std::vector<Map::Entry>::const_iterator Map::end() const {
    return entries_.end();
}

bool Map::operator==(const Map& other) const {
    if (size() != other.size()) return false;
    for (const Entry& entry : entries_) {
        const Value* found = other.find(entry.first);
        if (found == nullptr || *found != entry.second) return false;
    }
    return true;
}

void Map::append(std::string key, Value value) {
    entries_.emplace_back(std::move(key), std::move(value));
}

void Map::settle() {
    if (entries_.size() < 2) return;
    // By sorting, so that a map of very many keys from outside costs no quadratic time.
    std::vector<std::size_t> order(entries_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const int compared = entries_[a].first.compare(entries_[b].first);
        return compared != 0 ? compared < 0 : a < b;
    });
    std::vector<bool> dropped(entries_.size());
    bool any = false;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        if (entries_[order[i]].first == entries_[order[i + 1]].first) dropped[order[i]] = any = true;
    }
    if (!any) return;
    std::vector<Entry> kept;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (!dropped[i]) kept.push_back(std::move(entries_[i]));
    }
    entries_ = std::move(kept);
}

bool Value::as_bool() const {
    return dovetail::held<bool>(*this, "a boolean");
}

std::int64_t Value::as_int() const {
    return dovetail::held<std::int64_t>(*this, "an integer below 2^63");
}

std::uint64_t Value::as_uint() const {
    if (const auto* large = std::get_if<std::uint64_t>(&held_)) return *large;
    const auto* small = std::get_if<std::int64_t>(&held_);
    if (small == nullptr || *small < 0) wrong(*this, "an integer from 0");
    return static_cast<std::uint64_t>(*small);
}

double Value::as_number() const {
    if (const auto* real = std::get_if<double>(&held_)) return *real;
    if (const auto* small = std::get_if<std::int64_t>(&held_)) return static_cast<double>(*small);
    if (const auto* large = std::get_if<std::uint64_t>(&held_)) return static_cast<double>(*large);
    wrong(*this, "a number");
}

const std::string& Value::as_text() const {
    return dovetail::held<std::string>(*this, "text");
}

const Bytes& Value::as_bytes() const {
    return dovetail::held<Bytes>(*this, "bytes");
}

const List& Value::as_list() const {
    return dovetail::held<List>(*this, "a list");
}

const Map& Value::as_map() const {
    return dovetail::held<Map>(*this, "a map");
}

const Tensor& Value::as_tensor() const {
    return dovetail::held<Tensor>(*this, "a tensor");
}

const char* Value::kind() const {
    static constexpr const char* kNames[] = {"nil",     "a boolean", "an integer",  "an integer",
                                             "a float", "text",      "bytes",       "a list",
                                             "a map",   "a tensor",  "an extension"};
    return kNames[held_.index()];
}

}  // namespace dovetail
