/// \file
/// Values and messages to bytes and back. Limits are checked before anything is decoded.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dovetail/messages.hpp"
#include "dovetail/value.hpp"

namespace dovetail {

/// The bytes of one message.
using Frame = std::string;

using messages::Limits;

namespace codec {

/// Accepts bytes that are exactly one MessagePack value within limits.
/// Throws ProtocolError with code `limit` or `malformed`.
void check(std::string_view frame, const Limits& limits = {});

/// The bytes of a value. Throws Error for text that is not UTF-8.
Frame encode(const Value& value);

/// The value in a frame. Throws ProtocolError with code `limit` or `malformed`.
Value decode(std::string_view frame, const Limits& limits = {});

/// The forms of a message or part, built in the library for each one of messages.hpp.
template <class T>
struct Coding {
    static Frame encode(const T& value);
    static Value to_value(const T& value);
    static T from_value(const Value& value);
};

/// The frame of a message. Fields with default values are left out. Throws Error for text that is not UTF-8.
template <class Message>
Frame encode_message(const Message& message) {
    return Coding<Message>::encode(message);
}

/// The value that a message, or a part of one, is on the wire.
template <class Message>
Value to_value(const Message& message) {
    return Coding<Message>::to_value(message);
}

/// Reads a part or message from its value, such as a `WatchedTurn` from the reply to a stepwise `step`.
/// Throws ProtocolError.
template <class Message>
Message from_value(const Value& value) {
    return Coding<Message>::from_value(value);
}

/// The `error` that answers a frame which a decoder refused; it names what the frame was about, if that can
/// be read.
messages::Error refusal(std::string_view frame, const ProtocolError& error);

/// Reads what a peer of a role accepts from a broker. Keeps its memory from frame to frame.
class Decoder {
public:
    explicit Decoder(Role role);
    ~Decoder();

    /// The message in a frame. An `end` is read even if the last position cannot be: every seat must hear it.
    /// Throws ProtocolError with code `limit`, `malformed`, `unknown-type` or `invalid`.
    messages::Incoming decode(std::string_view frame, const Limits& limits = {});

private:
    struct Memory;
    Role role_;
    std::unique_ptr<Memory> memory_;
};

}  // namespace codec
}  // namespace dovetail
