// Definitions of the templates in `codec.hpp`; `messages.cpp` instantiates them for every message and part.
#pragma once

#include "reader.hpp"
#include "writer.hpp"

namespace dovetail::codec {

/// Unpacks bytes that passed `check`; the object refers to them. Throws ProtocolError.
Object unpack(msgpack::zone& zone, std::string_view frame);

constexpr Limits limits_of(std::int64_t frame, std::int64_t depth, std::int64_t elements) {
    Limits out;
    out.frame = frame;
    out.depth = depth;
    out.elements = elements;
    return out;
}

/// For what this program itself has written.
inline constexpr Limits kOwn = limits_of(INT64_MAX, 64, INT64_MAX);

template <class T>
Frame Coding<T>::encode(const T& value) {
    Frame frame;
    Writer(frame).write(value);
    return frame;
}

template <class T>
Value Coding<T>::to_value(const T& value) {
    return decode(encode(value), kOwn);
}

template <class T>
T Coding<T>::from_value(const Value& value) {
    const Frame frame = codec::encode(value);
    check(frame, kOwn);
    msgpack::zone zone;
    T out;
    read(unpack(zone, frame), out);
    return out;
}

}  // namespace dovetail::codec
