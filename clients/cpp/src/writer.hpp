// Values and messages to MessagePack.
#pragma once

#include <cstring>
#include <msgpack/pack.hpp>
#include <string>
#include <utility>

#include "dovetail/codec.hpp"
#include "dovetail/names.hpp"
#include "fields.hpp"
#include "utf8.hpp"

namespace dovetail::codec {

/// The output buffer of msgpack-cxx.
class Buffer {
public:
    explicit Buffer(Frame& frame) : frame_(frame) {}
    void write(const char* data, std::size_t size) { frame_.append(data, size); }

private:
    Frame& frame_;
};

class Writer {
public:
    explicit Writer(Frame& frame) : frame_(frame), buffer_(frame), packer_(buffer_) {}

    void write(bool value) { value ? packer_.pack_true() : packer_.pack_false(); }
    void write(std::int64_t value) { packer_.pack_int64(value); }
    void write(std::uint64_t value) { packer_.pack_uint64(value); }
    void write(double value) {
        // Not with `pack_double`, which makes integers of whole numbers: 3.0 would become another value.
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        char bytes[9];
        bytes[0] = static_cast<char>(0xCB);
        for (int i = 1; i < 9; ++i) bytes[i] = static_cast<char>(bits >> (64 - 8 * i) & 0xFF);
        frame_.append(bytes, sizeof bytes);
    }
    void write(std::string_view value) {
        if (!utf8::valid(value)) throw dovetail::Error("a text that is not UTF-8 cannot travel");
        word(value);
    }
    void write(const std::string& value) { write(std::string_view(value)); }
    void write(const Bytes& value) {
        packer_.pack_bin(static_cast<std::uint32_t>(value.size()));
        packer_.pack_bin_body(static_cast<const char*>(static_cast<const void*>(value.data())),
                              static_cast<std::uint32_t>(value.size()));
    }
    void write(const Map& value) {
        packer_.pack_map(static_cast<std::uint32_t>(value.size()));
        for (const auto& [key, each] : value) {
            write(key);
            write(each);
        }
    }
    void write(const Tensor& value) {
        scratch_.clear();
        Writer inner(scratch_);
        inner.packer_.pack_array(3);
        inner.word(name_of(value.dtype()));
        inner.packer_.pack_array(static_cast<std::uint32_t>(value.shape().size()));
        for (const std::size_t length : value.shape()) inner.packer_.pack_uint64(length);
        inner.write(value.data());
        packer_.pack_ext(scratch_.size(), 1);
        frame_.append(scratch_);
    }
    void write(const Extension& value) {
        packer_.pack_ext(value.data.size(), value.code);
        packer_.pack_ext_body(static_cast<const char*>(static_cast<const void*>(value.data.data())),
                              static_cast<std::uint32_t>(value.data.size()));
    }
    void write(std::monostate) { packer_.pack_nil(); }
    void write(const Value& value) {
        std::visit([this](const auto& held) { write(held); }, value.held());
    }
    template <class T>
    void write(const Boxed<T>& value) {
        write(*value);
    }
    void write(const Space& value) {
        std::visit([this](const auto& held) { write(held); }, value.held());
    }
    template <class... T>
    void write(const std::variant<T...>& value) {
        std::visit([this](const auto& held) { write(held); }, value);
    }
    template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
    void write(E value) {
        word(name_of(value));
    }
    template <class T>
    void write(const std::optional<T>& value) {
        value ? write(*value) : static_cast<void>(packer_.pack_nil());
    }
    template <class T>
    void write(const std::vector<T>& value) {
        packer_.pack_array(static_cast<std::uint32_t>(value.size()));
        for (const T& each : value) write(each);
    }
    template <class A, class B>
    void write(const std::pair<A, B>& value) {
        packer_.pack_array(2);
        write(value.first);
        write(value.second);
    }
    /// A map whose values are of one type.
    template <class T>
    void write(const std::vector<std::pair<std::string, T>>& value) {
        packer_.pack_map(static_cast<std::uint32_t>(value.size()));
        for (const auto& [key, each] : value) {
            write(key);
            write(each);
        }
    }
    /// A message, part or space: a map of the fields that differ from their defaults.
    template <class T>
    auto write(const T& value) -> decltype(fields::visit(*this, value, fields::Of<T>())) {
        // Patched below: how many fields differ is known once they are written.
        const std::size_t header = frame_.size();
        frame_.append("\xDE\0\0", 3);
        const unsigned outside = std::exchange(fields_, 0);
        introduce(value, 0);
        fields::visit(*this, value, fields::Of<T>());
        last_ = std::exchange(fields_, outside);
        frame_[header + 2] = static_cast<char>(last_);
    }

    // -- as a visitor of fields -------------------------------------------------------------------

    template <class T>
    void required(const char* name, const T& value) {
        ++fields_;
        word(name);
        write(value);
    }
    template <class T>
    void optional(const char* name, const T& value) {
        if constexpr (is_part<T>(0)) {
            const std::size_t before = frame_.size();
            required(name, value);
            if (last_ != 0) return;
            frame_.resize(before);  // nothing but defaults
            --fields_;
        } else if (!empty(value)) {
            required(name, value);
        }
    }
    template <class T, class Standard>
    void optional(const char* name, const T& value, const Standard& standard) {
        if (!(value == standard)) required(name, value);
    }
    void bound(const char* name, const Value& value, double standard) { optional(name, value, standard); }
    // The receiver checks ranges.
    template <class T>
    void at_least(const char*, const T&, double) {}
    template <class T>
    void above(const char*, const T&, double) {}
    template <class T>
    void at_most(const char*, const T&, double) {}

private:
    static bool empty(bool value) { return !value; }
    static bool empty(std::int64_t value) { return value == 0; }
    static bool empty(std::uint64_t value) { return value == 0; }
    static bool empty(double value) { return value == 0; }
    static bool empty(const Value& value) { return value.is_nil(); }
    static bool empty(const Legal& value) { return value.index() == 0; }
    template <class E, std::enable_if_t<std::is_enum_v<E>, int> = 0>
    static bool empty(E value) {
        return value == E{};
    }
    template <class T>
    static bool empty(const std::optional<T>& value) {
        return !value.has_value();
    }
    template <class T>
    static auto empty(const T& value) -> decltype(value.empty()) {
        return value.empty();
    }

    template <class T>
    static constexpr auto is_part(int)
        -> decltype(fields::visit(std::declval<Writer&>(), std::declval<const T&>(), fields::Of<T>()), true) {
        return true;
    }
    template <class T>
    static constexpr bool is_part(long) {
        return false;
    }

    template <class T>
    auto introduce(const T&, int) -> decltype(T::type, void()) {
        required("type", std::string_view(T::type));
    }
    template <class T>
    auto introduce(const T&, int) -> decltype(T::kind, void()) {
        required("space", std::string_view(T::kind));
    }
    template <class T>
    void introduce(const T&, long) {}  // a part is known by where it is

    /// A text that is known to be UTF-8.
    void word(std::string_view value) {
        packer_.pack_str(static_cast<std::uint32_t>(value.size()));
        packer_.pack_str_body(value.data(), static_cast<std::uint32_t>(value.size()));
    }

    Frame& frame_;
    Buffer buffer_;
    msgpack::packer<Buffer> packer_;
    unsigned fields_ = 0;  // of the map that is being written; never more than 255
    unsigned last_ = 0;    // of the map that was written last
    Frame scratch_;
};

}  // namespace dovetail::codec
