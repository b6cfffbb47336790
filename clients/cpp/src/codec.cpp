#include "dovetail/codec.hpp"

#include <algorithm>
#include <memory>

#include "coding.hpp"

namespace dovetail::codec {

namespace {

/// Levels of nesting that are read at the most, whatever the limits: each takes some of the stack.
constexpr std::int64_t kDeepest = 500;

/// A position in bytes that are walked through without building any value.
class Walk {
public:
    explicit Walk(std::string_view frame) : frame_(frame) {}

    std::size_t left() const { return frame_.size() - at_; }
    unsigned byte() {
        need(1);
        return static_cast<unsigned char>(frame_[at_++]);
    }
    std::uint64_t number(int bytes) {
        std::uint64_t value = 0;
        while (bytes-- > 0) value = value << 8 | byte();
        return value;
    }
    void skip(std::uint64_t bytes) {
        need(bytes);
        at_ += bytes;
    }

private:
    void need(std::uint64_t bytes) const {
        if (bytes > left())
            malformed("a frame of " + std::to_string(frame_.size()) + " bytes ends inside a value");
    }

    std::string_view frame_;
    std::size_t at_ = 0;
};

/// How many bytes follow the first one of a value that is not a container, and the length after it.
std::uint64_t body(unsigned first, Walk& walk) {
    if (first >= 0xA0 && first <= 0xBF) return first & 31;               // a short text
    if (first <= 0xC3 || first >= 0xE0) return 0;                        // a small integer, nil, a boolean
    if (first <= 0xC6) return walk.number(1 << (first - 0xC4));          // binary
    if (first <= 0xC9) return walk.number(1 << (first - 0xC7)) + 1;      // an extension
    if (first <= 0xCB) return std::uint64_t{4} << (first - 0xCA);        // a float
    if (first <= 0xD3) return std::uint64_t{1} << (first & 3);           // an integer
    if (first <= 0xD8) return (std::uint64_t{1} << (first - 0xD4)) + 1;  // an extension of fixed length
    return walk.number(1 << (first - 0xD9));                             // text
}

/// Passes a value, but not the entries of a container; returns how many values these are, or -1 if it is
/// none.
std::int64_t pass(Walk& walk) {
    const unsigned first = walk.byte();
    if (first >= 0x80 && first <= 0x8F) return 2 * static_cast<std::int64_t>(first & 15);
    if (first >= 0x90 && first <= 0x9F) return first & 15;
    if (first >= 0xDC && first <= 0xDF) {
        const auto entries = static_cast<std::int64_t>(walk.number(first % 2 == 0 ? 2 : 4));
        return first <= 0xDD ? entries : 2 * entries;
    }
    if (first == 0xC1) malformed("byte 0xc1 is not MessagePack");
    walk.skip(body(first, walk));
    return -1;
}

bool refer(msgpack::type::object_type, std::size_t, void*) {
    return true;  // texts and bytes stay where they are until they are copied into a value
}

Value tensor(const char* data, std::size_t size) {
    const std::string_view payload(data, size);
    try {
        check(payload, limits_of(INT64_MAX, 2, 40));  // dtype, shape and bytes are no more
    } catch (const ProtocolError&) {
        malformed("a tensor that is not MessagePack");
    }
    msgpack::zone zone;
    const Object object = unpack(zone, payload);
    if (object.type != msgpack::type::ARRAY || object.via.array.size != 3)
        malformed("a tensor that is not an array of 3");
    const Object* part = object.via.array.ptr;
    Dtype dtype;
    if (!is_text(part[0]) || !find_dtype(raw_text(part[0]), dtype)) malformed("a tensor of an unknown dtype");
    if (part[1].type != msgpack::type::ARRAY || part[2].type != msgpack::type::BIN) {
        malformed("a tensor that is not [dtype, shape, bytes]");
    }
    std::vector<std::size_t> shape;
    for (std::uint32_t i = 0; i < part[1].via.array.size; ++i) {
        const Object& length = part[1].via.array.ptr[i];
        if (length.type != msgpack::type::POSITIVE_INTEGER) malformed("a tensor with a length that is none");
        shape.push_back(length.via.u64);
    }
    try {
        return Tensor(dtype, std::move(shape), bytes(part[2].via.bin.ptr, part[2].via.bin.size));
    } catch (const dovetail::Error& error) {
        malformed(error.what());
    }
}

}  // namespace

Object unpack(msgpack::zone& zone, std::string_view frame) {
    try {
        return msgpack::unpack(zone, frame.data(), frame.size(), refer);
    } catch (const msgpack::unpack_error& error) {
        malformed(error.what());
    }
}

Value to_value(const Object& object) {
    switch (object.type) {
        case msgpack::type::NIL:
            return {};
        case msgpack::type::BOOLEAN:
            return object.via.boolean;
        case msgpack::type::POSITIVE_INTEGER:
            return object.via.u64;
        case msgpack::type::NEGATIVE_INTEGER:
            return object.via.i64;
        case msgpack::type::FLOAT32:
        case msgpack::type::FLOAT64:
            return object.via.f64;
        case msgpack::type::STR:
            return text(object);
        case msgpack::type::BIN:
            return bytes(object.via.bin.ptr, object.via.bin.size);
        case msgpack::type::ARRAY: {
            List list;
            list.reserve(object.via.array.size);
            for (std::uint32_t i = 0; i < object.via.array.size; ++i) {
                list.push_back(to_value(object.via.array.ptr[i]));
            }
            return list;
        }
        case msgpack::type::MAP: {
            Map map;
            for (std::uint32_t i = 0; i < object.via.map.size; ++i) {
                const auto& entry = object.via.map.ptr[i];
                if (!is_text(entry.key)) malformed("a key of a map that is not text");
                map.append(std::string(text(entry.key)), to_value(entry.val));
            }
            map.settle();
            return map;
        }
        case msgpack::type::EXT: {
            const auto& ext = object.via.ext;
            if (ext.type() == 1) return tensor(ext.data(), ext.size);
            return Extension{ext.type(), bytes(ext.data(), ext.size)};
        }
    }
    malformed("a value of an unknown kind");
}

void check(std::string_view frame, const Limits& limits) {
    if (frame.size() > static_cast<std::uint64_t>(limits.frame)) {
        throw ProtocolError(Code::limit, "a frame of " + std::to_string(frame.size()) + " bytes; at most " +
                                             std::to_string(limits.frame) + " are read");
    }
    const std::int64_t depth = std::min(limits.depth, kDeepest);
    Walk walk(frame);
    std::int64_t elements = 0;
    std::vector<std::int64_t> open{1};  // values still to come in each open container, outermost first
    while (!open.empty()) {
        if (open.back() == 0) {
            open.pop_back();
            continue;
        }
        --open.back();
        if (++elements > limits.elements) {
            // The frame may also be malformed, but only a reader without limits could tell.
            throw ProtocolError(Code::limit,
                                "more than " + std::to_string(limits.elements) + " values in a frame");
        }
        const std::int64_t entries = pass(walk);
        if (entries < 0) continue;
        if (static_cast<std::uint64_t>(entries) > walk.left()) {
            malformed(std::to_string(entries) + " values are announced and not there");
        }
        open.push_back(entries);
        if (static_cast<std::int64_t>(open.size()) - 1 > depth) {
            throw ProtocolError(Code::limit, "nested deeper than " + std::to_string(depth));
        }
    }
    if (walk.left() != 0) malformed("a frame continues after its value");
}

Frame encode(const Value& value) {
    Frame frame;
    Writer(frame).write(value);
    return frame;
}

Value decode(std::string_view frame, const Limits& limits) {
    check(frame, limits);
    msgpack::zone zone;
    return to_value(unpack(zone, frame));
}

messages::Error refusal(std::string_view frame, const ProtocolError& error) {
    messages::Error out;
    out.code = name_of(error.code);
    out.message = utf8::line(error.what());
    if (error.code == Code::limit) return out;
    try {
        check(frame, kOwn);
        msgpack::zone zone;
        const Object object = unpack(zone, frame);
        if (object.type != msgpack::type::MAP) return out;
        const auto named = [&](const char* name, std::optional<std::int64_t>& field) {
            const Object* found = Reader(object).find(name);
            std::int64_t number = 0;
            if (found == nullptr || !is_integer(*found)) return;
            read(*found, number);
            field = number;
        };
        // An answer asks for nothing, and its `id` is a number of this peer's own.
        const Object* type = Reader(object).find("type");
        if (type != nullptr && type->type == msgpack::type::STR) {
            const std::string_view kind(type->via.str.ptr, type->via.str.size);
            if (kind == messages::Reply::type || kind == messages::Saved::type || kind == messages::Error::type)
                return out;
        }
        named("id", out.id);
        if (!out.id) named("seq", out.answers);
    } catch (const ProtocolError&) {
        // Then it names what could be read.
    }
    return out;
}

struct Decoder::Memory {
    msgpack::zone zone;
};

Decoder::Decoder(Role role) : role_(role), memory_(new Memory) {}

Decoder::~Decoder() = default;

messages::Incoming Decoder::decode(std::string_view frame, const Limits& limits) {
    check(frame, limits);
    memory_->zone.clear();
    const Object object = unpack(memory_->zone, frame);
    if (object.type != msgpack::type::MAP) invalid("a frame that is not a map");
    for (std::uint32_t i = 0; i < object.via.map.size; ++i) {
        if (!is_text(object.via.map.ptr[i].key)) invalid("a key that is not text");
    }
    const Object* type = Reader(object).find("type");
    if (type == nullptr || !is_text(*type))
        throw ProtocolError(Code::unknown_type, "a message without a type");
    auto message = fields::made(role_, raw_text(*type));
    if (!message) {
        throw ProtocolError(Code::unknown_type,
                            "no message of this role: \"" + utf8::line(raw_text(*type).substr(0, 40)) + "\"");
    }
    std::visit([&](auto& each) { read(object, each); }, *message);
    return std::move(*message);
}

}  // namespace dovetail::codec
