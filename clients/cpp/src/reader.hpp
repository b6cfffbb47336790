// MessagePack, already taken apart by msgpack-cxx, to values and messages.
#pragma once

#include <algorithm>
#include <cstring>
#include <msgpack/unpack.hpp>
#include <string>
#include <unordered_map>

#include "dovetail/codec.hpp"
#include "dovetail/names.hpp"
#include "fields.hpp"
#include "utf8.hpp"

namespace dovetail::codec {

using Object = msgpack::object;

[[noreturn]] inline void invalid(const std::string& text) {
    throw ProtocolError(Code::invalid, text);
}

[[noreturn]] inline void malformed(const std::string& text) {
    throw ProtocolError(Code::malformed, text);
}

inline std::string_view raw_text(const Object& object) {
    return {object.via.str.ptr, object.via.str.size};
}

inline bool is_text(const Object& object) {
    return object.type == msgpack::type::STR;
}

inline bool is_integer(const Object& object) {
    return object.type == msgpack::type::POSITIVE_INTEGER || object.type == msgpack::type::NEGATIVE_INTEGER;
}

inline std::string_view text(const Object& object) {
    const std::string_view found = raw_text(object);
    if (!utf8::valid(found)) malformed("a text that is not UTF-8");
    return found;
}

inline Bytes bytes(const char* data, std::size_t size) {
    Bytes out(size);
    if (size != 0) std::memcpy(out.data(), data, size);
    return out;
}

Value to_value(const Object& object);

// -- one overload for each type of field; what does not fit is `invalid` -----------------------------

inline void read(const Object& object, Value& out) {
    out = to_value(object);
}

inline void read(const Object& object, bool& out) {
    if (object.type != msgpack::type::BOOLEAN) invalid("expected a boolean");
    out = object.via.boolean;
}

inline void read(const Object& object, std::int64_t& out) {
    if (object.type == msgpack::type::POSITIVE_INTEGER) {
        if (object.via.u64 > static_cast<std::uint64_t>(INT64_MAX)) invalid("an integer beyond 2^63-1");
        out = static_cast<std::int64_t>(object.via.u64);
    } else if (object.type == msgpack::type::NEGATIVE_INTEGER) {
        out = object.via.i64;
    } else {
        invalid("expected an integer");
    }
}

inline void read(const Object& object, double& out) {
    switch (object.type) {
        case msgpack::type::POSITIVE_INTEGER:
            out = static_cast<double>(object.via.u64);
            return;
        case msgpack::type::NEGATIVE_INTEGER:
            out = static_cast<double>(object.via.i64);
            return;
        case msgpack::type::FLOAT32:
        case msgpack::type::FLOAT64:
            out = object.via.f64;
            return;
        default:
            invalid("expected a number");
    }
}

inline void read(const Object& object, std::string& out) {
    if (!is_text(object)) invalid("expected text");
    out = text(object);
}

inline void read(const Object& object, Bytes& out) {
    if (object.type != msgpack::type::BIN) invalid("expected binary");
    out = bytes(object.via.bin.ptr, object.via.bin.size);
}

inline void read(const Object& object, Map& out) {
    if (object.type != msgpack::type::MAP) invalid("expected a map");
    out = std::move(std::get<Map>(to_value(object).held()));
}

template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
void read(const Object& object, E& out) {
    if (!is_text(object)) invalid("expected text");
    if (!find_name(text(object), out))
        invalid("\"" + std::string(raw_text(object).substr(0, 40)) + "\" is not one of the words");
}

class Reader;
template <class T>
void read(const Object& object, std::optional<T>& out);
template <class T>
void read(const Object& object, std::vector<T>& out);
template <class A, class B>
void read(const Object& object, std::pair<A, B>& out);
template <class T>
void read(const Object& object, std::vector<std::pair<std::string, T>>& out);
template <class... T>
void read(const Object& object, std::variant<T...>& out);
void read(const Object& object, Legal& out);
void read(const Object& object, Space& out);
template <class T>
void read(const Object& object, Boxed<T>& out);
/// A message, part or space: a map of fields.
template <class T>
auto read(const Object& object, T& out)
    -> decltype(fields::visit(std::declval<Reader&>(), out, fields::Of<T>()));

template <class T>
void read(const Object& object, Boxed<T>& out) {
    T value;
    read(object, value);
    out = Boxed<T>(std::move(value));
}

template <class T>
void read(const Object& object, std::optional<T>& out) {
    if (object.type == msgpack::type::NIL) {
        out.reset();
    } else {
        read(object, out.emplace());
    }
}

template <class T>
void read(const Object& object, std::vector<T>& out) {
    if (object.type != msgpack::type::ARRAY) invalid("expected an array");
    const auto& array = object.via.array;
    out.resize(array.size);
    for (std::uint32_t i = 0; i < array.size; ++i) read(array.ptr[i], out[i]);
}

template <class A, class B>
void read(const Object& object, std::pair<A, B>& out) {
    if (object.type != msgpack::type::ARRAY || object.via.array.size != 2)
        invalid("expected an array of two");
    read(object.via.array.ptr[0], out.first);
    read(object.via.array.ptr[1], out.second);
}

/// A map whose values are of one type; of equal keys the last counts.
template <class T>
void read(const Object& object, std::vector<std::pair<std::string, T>>& out) {
    if (object.type != msgpack::type::MAP) invalid("expected a map");
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::uint32_t i = 0; i < object.via.map.size; ++i) {
        const auto& entry = object.via.map.ptr[i];
        if (!is_text(entry.key)) invalid("a key that is not a text");
        const auto [place, added] = places.emplace(text(entry.key), out.size());
        if (added) out.emplace_back(place->first, T());
        read(entry.val, out[place->second].second = T());
    }
}

/// One of several types: the first that fits.
template <class... T>
void read(const Object& object, std::variant<T...>& out) {
    const auto fits = [&](auto value) {
        try {
            read(object, value);
        } catch (const ProtocolError&) {
            return false;
        }
        out = std::move(value);
        return true;
    };
    if (!(fits(T()) || ...)) invalid("a value of another type");
}

inline void read(const Object& object, Legal& out) {
    switch (object.type) {
        case msgpack::type::NIL:
            out = std::monostate();
            return;
        case msgpack::type::BIN:
            read(object, out.emplace<Bytes>());
            return;
        default:
            read(object, out.emplace<std::vector<std::int64_t>>());
    }
}

/// A visitor that takes fields from a map; of equal keys the last counts.
class Reader {
public:
    explicit Reader(const Object& object) : map_(object.via.map) {}
    /// With `lenient` values that cannot be read are left out.
    Reader(const Object& object, bool lenient) : map_(object.via.map), lenient_(lenient) {}

    template <class T>
    void required(const char* name, T& value) {
        const Object* found = find(name);
        if (found == nullptr) invalid(std::string("`") + name + "` is missing");
        take(name, *found, value);
    }
    template <class T, class... Standard>
    void optional(const char* name, T& value, const Standard&...) {
        if (const Object* found = find(name)) take(name, *found, value);
    }
    void bound(const char* name, Value& value, double) {
        optional(name, value);
        if (!is_bound(value))
            invalid(std::string("`") + name + "`: expected a number or nested arrays of them");
    }

    // -- whether what was read is in its range; nil is, and an array is if all its elements are ----------

    template <class T>
    void at_least(const char* name, const T& value, double bound) const {
        require(name, value, [&](double number) { return number >= bound; });
    }
    template <class T>
    void above(const char* name, const T& value, double bound) const {
        require(name, value, [&](double number) { return number > bound; });
    }
    template <class T>
    void at_most(const char* name, const T& value, double bound) const {
        require(name, value, [&](double number) { return number <= bound; });
    }

    const Object* find(std::string_view name) const {
        for (std::uint32_t i = map_.size; i-- > 0;) {
            const Object& key = map_.ptr[i].key;
            if (is_text(key) && raw_text(key) == name) return &map_.ptr[i].val;
        }
        return nullptr;
    }

private:
    template <class T>
    void take(const char* name, const Object& object, T& value) {
        try {
            read(object, value);
        } catch (const ProtocolError& error) {
            if (std::is_same_v<T, Value> && lenient_) return;
            throw ProtocolError(error.code, std::string("`") + name + "`: " + error.what());
        }
    }
    static bool is_bound(const Value& value) {
        if (!value.is_list()) return value.is_number();
        return std::all_of(value.as_list().begin(), value.as_list().end(), is_bound);
    }
    template <class Fits>
    static void require(const char* name, double value, const Fits& fits) {
        if (!fits(value)) invalid(std::string("`") + name + "` is out of range");
    }
    template <class Fits>
    static void require(const char* name, std::int64_t value, const Fits& fits) {
        require(name, static_cast<double>(value), fits);
    }
    template <class T, class Fits>
    static void require(const char* name, const std::optional<T>& value, const Fits& fits) {
        if (value) require(name, *value, fits);
    }
    template <class T, class Fits>
    static void require(const char* name, const std::vector<T>& values, const Fits& fits) {
        for (const T& each : values) require(name, each, fits);
    }

    msgpack::object_map map_;
    bool lenient_ = false;
};

template <class T>
auto read(const Object& object, T& out)
    -> decltype(fields::visit(std::declval<Reader&>(), out, fields::Of<T>())) {
    if (object.type != msgpack::type::MAP) invalid("expected a map");
    // Every seat must hear the end, also if its last position cannot be read.
    Reader reader(object, std::is_same_v<T, messages::End>);
    fields::visit(reader, out, fields::Of<T>());
}

inline void read(const Object& object, Space& out) {
    if (object.type != msgpack::type::MAP) invalid("expected a space");
    const Object* kind = Reader(object).find("space");
    if (kind == nullptr || !is_text(*kind)) invalid("a space whose `space` names no kind");
    auto space = fields::made(raw_text(*kind));
    if (!space) invalid("a space of the unknown kind \"" + utf8::line(raw_text(*kind).substr(0, 40)) + "\"");
    std::visit([&](auto& each) { read(object, each); }, space->held());
    out = std::move(*space);
}

}  // namespace dovetail::codec
