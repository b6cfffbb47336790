// MessagePack, already taken apart by msgpack-cxx, to values and messages.
#pragma once

#include <cstring>
#include <msgpack.hpp>
#include <string>

#include "dovetail/codec.hpp"
#include "fields.hpp"
#include "names.hpp"
#include "utf8.hpp"

namespace dovetail::codec {

using Object = msgpack::object;

[[noreturn]] inline void invalid(const std::string& text) {
    throw ProtocolError("invalid", text);
}

[[noreturn]] inline void malformed(const std::string& text) {
    throw ProtocolError("malformed", text);
}

inline std::string_view raw_text(const Object& object) {
    return {object.via.str.ptr, object.via.str.size};
}

inline bool is_text(const Object& object) {
    return object.type == msgpack::type::STR;
}

inline std::string_view text(const Object& object) {
    const std::string_view found = raw_text(object);
    if (!utf8::valid(found)) malformed("a text that is no UTF-8");
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

inline void read(const Object& object, std::uint64_t& out) {
    if (object.type == msgpack::type::NEGATIVE_INTEGER) invalid("expected an integer from 0");
    if (object.type != msgpack::type::POSITIVE_INTEGER) invalid("expected an integer");
    out = object.via.u64;
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

inline void read(const Object& object, Space& out) {
    const Value value = to_value(object);
    try {
        out = Space::from(value);
    } catch (const ProtocolError&) {
        throw;
    } catch (const dovetail::Error& error) {
        invalid(error.what());
    }
}

template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
void read(const Object& object, E& out) {
    if (!is_text(object)) invalid("expected text");
    if (!names::find(text(object), out))
        invalid("\"" + std::string(raw_text(object).substr(0, 40)) + "\" is no such word");
}

class Reader;
template <class T>
void read(const Object& object, std::optional<T>& out);
template <class T>
void read(const Object& object, std::vector<T>& out);
template <class A, class B>
void read(const Object& object, std::pair<A, B>& out);
void read(const Object& object, Legal& out);
/// A message or part: a map of fields.
template <class T>
auto read(const Object& object, T& out)
    -> decltype(fields::visit(std::declval<Reader&>(), out, fields::Of<T>()));

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

    template <class T>
    void required(const char* name, T& value) {
        const Object* found = find(name);
        if (found == nullptr) invalid(std::string("`") + name + "` is missing");
        take(name, *found, value);
    }
    template <class T>
    void optional(const char* name, T& value) {
        if (const Object* found = find(name)) take(name, *found, value);
    }
    template <class T>
    void optional(const char* name, T& value, const T&) {
        optional(name, value);
    }
    template <class T>
    void ranged(const char* name, T& value, const T&, const T& least, const T& most) {
        optional(name, value);
        if (!(value >= least && value <= most)) invalid(std::string("`") + name + "` is out of range");
    }
    void payload(const char* name, Value& value, std::string& unreadable) {
        const Object* found = find(name);
        if (found == nullptr) return;
        try {
            value = to_value(*found);
        } catch (const ProtocolError& error) {
            unreadable = std::string("`") + name + "`: " + error.what();
        }
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
            throw ProtocolError(error.code, std::string("`") + name + "`: " + error.what());
        }
    }

    msgpack::object_map map_;
};

template <class T>
auto read(const Object& object, T& out)
    -> decltype(fields::visit(std::declval<Reader&>(), out, fields::Of<T>())) {
    if (object.type != msgpack::type::MAP) invalid("expected a map");
    Reader reader(object);
    fields::visit(reader, out, fields::Of<T>());
}

}  // namespace dovetail::codec
