/// \file
/// Values of any kind, for observations, actions, options and message bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dovetail/errors.hpp"

namespace dovetail {

class Value;

/// Binary data.
using Bytes = std::vector<std::uint8_t>;
/// An array of values.
using List = std::vector<Value>;

/// The element types of tensors.
enum class Dtype : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    float32,
    float64
};

/// The contract's name of a dtype, such as `float32`.
const char* name_of(Dtype dtype);
/// Bytes of one element.
std::size_t size_of(Dtype dtype);
/// True if `name` is a dtype; if so it is put into `dtype`.
bool find_dtype(std::string_view name, Dtype& dtype);

namespace detail {
template <class T>
constexpr Dtype dtype_of() {
    if constexpr (std::is_same_v<T, bool>) return Dtype::boolean;
    if constexpr (std::is_same_v<T, std::int8_t>) return Dtype::int8;
    if constexpr (std::is_same_v<T, std::int16_t>) return Dtype::int16;
    if constexpr (std::is_same_v<T, std::int32_t>) return Dtype::int32;
    if constexpr (std::is_same_v<T, std::int64_t>) return Dtype::int64;
    if constexpr (std::is_same_v<T, std::uint8_t>) return Dtype::uint8;
    if constexpr (std::is_same_v<T, std::uint16_t>) return Dtype::uint16;
    if constexpr (std::is_same_v<T, std::uint32_t>) return Dtype::uint32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return Dtype::uint64;
    if constexpr (std::is_same_v<T, float>) return Dtype::float32;
    if constexpr (std::is_same_v<T, double>) return Dtype::float64;
}
}  // namespace detail

/// An array of numbers: dtype, shape, and the elements in C order, little-endian.
class Tensor {
public:
    Tensor() = default;
    /// Throws Error if the bytes do not fit dtype and shape.
    Tensor(Dtype dtype, std::vector<std::size_t> shape, Bytes data);

    /// A tensor of zeros.
    static Tensor zeros(Dtype dtype, std::vector<std::size_t> shape);

    /// A tensor of these elements; `T` is one of the C++ types of the dtypes.
    template <class T>
    static Tensor of(std::vector<std::size_t> shape, const std::vector<T>& elements) {
        Bytes data(elements.size() * sizeof(T));
        for (std::size_t i = 0; i < elements.size(); ++i) {
            const T element = elements[i];
            std::memcpy(data.data() + i * sizeof(T), &element, sizeof(T));
        }
        return Tensor(detail::dtype_of<T>(), std::move(shape), std::move(data));
    }

    Dtype dtype() const { return dtype_; }
    const std::vector<std::size_t>& shape() const { return shape_; }
    const Bytes& data() const { return data_; }
    /// The number of elements.
    std::size_t size() const { return data_.size() / size_of(dtype_); }
    /// Element `i` in C order as a number, exact for all but integers beyond 2^53.
    double number(std::size_t i) const;
    /// Element `i` in C order as a boolean, integer or float, always exact.
    Value at(std::size_t i) const;
    /// The elements. Throws Error if they are of another type.
    template <class T>
    const T* elements() const {
        if (detail::dtype_of<T>() != dtype_) throw Error(std::string("the tensor is ") + name_of(dtype_));
        return static_cast<const T*>(static_cast<const void*>(data_.data()));
    }
    /// The elements, to be changed. Throws Error if they are of another type.
    template <class T>
    T* elements() {
        return const_cast<T*>(std::as_const(*this).elements<T>());
    }

    bool operator==(const Tensor& other) const {
        return dtype_ == other.dtype_ && shape_ == other.shape_ && data_ == other.data_;
    }
    bool operator!=(const Tensor& other) const { return !(*this == other); }

private:
    const std::uint8_t* element(std::size_t i) const;

    Dtype dtype_ = Dtype::float64;
    std::vector<std::size_t> shape_{0};
    Bytes data_;
};

/// A MessagePack extension that is not Dovetail's, kept unchanged.
struct Extension {
    std::int8_t code = 0;
    Bytes data;
    bool operator==(const Extension& other) const { return code == other.code && data == other.data; }
};

/// A map with text keys, in the order in which they were set.
class Map {
public:
    using Entry = std::pair<std::string, Value>;

    Map() = default;
    Map(std::initializer_list<Entry> entries);

    /// The value of a key, or null if there is none.
    const Value* find(std::string_view key) const;
    Value* find(std::string_view key);
    /// The value of a key. Throws Error if there is none.
    const Value& at(std::string_view key) const;
    /// The value of a key, which is added if missing.
    Value& operator[](std::string_view key);
    /// Removes an entry, if present.
    void erase(std::string_view key);

    std::size_t size() const { return entries_.size(); }
    bool empty() const { return entries_.empty(); }
    std::vector<Entry>::const_iterator begin() const;
    std::vector<Entry>::const_iterator end() const;
    /// Equal if the same keys have equal values, in any order.
    bool operator==(const Map& other) const;

    /// For decoders: adds an entry without looking for one with the same key.
    void append(std::string key, Value value);
    /// For decoders: of entries with the same key only the last stays.
    void settle();

private:
    std::vector<Entry> entries_;
};

/// Nil, a boolean, an integer, a float, text, bytes, a list, a map, a tensor or a foreign extension.
///
/// Integers are exact from -2^63 to 2^64-1; those that fit `int64_t` are held as such.
class Value {
public:
    using Variant = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                                 Bytes, List, Map, Tensor, Extension>;

    Value() = default;
    Value(std::nullptr_t) {}
    // A template, so that no pointer is taken for a boolean.
    template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
    Value(T value) : held_(value) {}
    template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    Value(T value) {
        if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) {
            if (value > static_cast<std::uint64_t>(INT64_MAX)) {
                held_ = static_cast<std::uint64_t>(value);
                return;
            }
        }
        held_ = static_cast<std::int64_t>(value);
    }
    Value(double value) : held_(value) {}
    Value(const char* value) : held_(std::string(value)) {}
    Value(std::string_view value) : held_(std::string(value)) {}
    Value(std::string value) : held_(std::move(value)) {}
    Value(Bytes value) : held_(std::move(value)) {}
    Value(List value) : held_(std::move(value)) {}
    Value(Map value) : held_(std::move(value)) {}
    Value(Tensor value) : held_(std::move(value)) {}
    Value(Extension value) : held_(std::move(value)) {}

    bool is_nil() const { return held_.index() == 0; }
    bool is_bool() const { return std::holds_alternative<bool>(held_); }
    /// True if it is an integer, of any size.
    bool is_integer() const { return held_.index() == 2 || held_.index() == 3; }
    /// True if it is an integer or a float.
    bool is_number() const { return is_integer() || std::holds_alternative<double>(held_); }
    bool is_text() const { return std::holds_alternative<std::string>(held_); }
    bool is_bytes() const { return std::holds_alternative<Bytes>(held_); }
    bool is_list() const { return std::holds_alternative<List>(held_); }
    bool is_map() const { return std::holds_alternative<Map>(held_); }
    bool is_tensor() const { return std::holds_alternative<Tensor>(held_); }

    // Each throws Error if the value is of another kind.
    bool as_bool() const;
    std::int64_t as_int() const;
    std::uint64_t as_uint() const;
    /// An integer or a float.
    double as_number() const;
    const std::string& as_text() const;
    const Bytes& as_bytes() const;
    const List& as_list() const;
    const Map& as_map() const;
    const Tensor& as_tensor() const;

    /// The name of its kind, for people.
    const char* kind() const;

    const Variant& held() const { return held_; }
    Variant& held() { return held_; }
    bool operator==(const Value& other) const { return held_ == other.held_; }
    bool operator!=(const Value& other) const { return !(held_ == other.held_); }

private:
    Variant held_;
};

}  // namespace dovetail
