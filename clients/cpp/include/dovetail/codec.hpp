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

namespace codec {

/// Accepts bytes that are exactly one MessagePack value within limits.
/// Throws ProtocolError with code `limit` or `malformed`.
void check(std::string_view frame, const Limits& limits = {});

/// The bytes of a value. Throws Error for text that is no UTF-8.
Frame encode(const Value& value);

/// The value in a frame. Throws ProtocolError with code `limit` or `malformed`.
Value decode(std::string_view frame, const Limits& limits = {});

/// The frame of a message; `Message` is any of those in messages.hpp with a `type`, or
/// `messages::Decision`. Fields with default values are left out. Throws Error for text that is no UTF-8.
template <class Message>
Frame encode_message(const Message& message);

/// The value that a message, or a part of one, is on the wire.
template <class Message>
Value to_value(const Message& message);

/// Reads a part or message from its value, such as a `WatchedTurn` from the reply to a stepwise `step`.
/// Throws ProtocolError.
template <class Message>
Message from_value(const Value& value);

/// Reads what a peer of a role accepts from a broker. Keeps its memory from frame to frame.
class Decoder {
public:
    explicit Decoder(Role role);
    ~Decoder();

    /// Throws ProtocolError with code `limit`, `malformed`, `unknown-type` or `invalid`.
    messages::Incoming decode(std::string_view frame, const Limits& limits = {});

private:
    struct Memory;
    Role role_;
    std::unique_ptr<Memory> memory_;
};

}  // namespace codec
}  // namespace dovetail
