// The JSON reading of SPEC.md, to and from values.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "dovetail/value.hpp"

namespace reading {

// Keys stay in their order.
using Json = nlohmann::ordered_json;
using dovetail::Bytes;
using dovetail::Dtype;
using dovetail::List;
using dovetail::Map;
using dovetail::Tensor;
using dovetail::Value;

inline std::string hex(const Bytes& bytes) {
    static const char* const digits = "0123456789abcdef";
    std::string out;
    for (const std::uint8_t byte : bytes) {
        out += digits[byte >> 4];
        out += digits[byte & 15];
    }
    return out;
}

inline Bytes unhex(const std::string& text) {
    Bytes out;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        out.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
    }
    return out;
}

inline Json of(double number) {
    if (std::isfinite(number)) return number;
    return {{"$float", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf"}};
}

struct Reader {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool value) const { return value; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(std::uint64_t value) const { return value; }
    Json operator()(double value) const { return of(value); }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const Bytes& value) const { return {{"$bytes", hex(value)}}; }
    Json operator()(const List& value) const {
        Json out = Json::array();
        for (const Value& each : value) out.push_back(std::visit(*this, each.held()));
        return out;
    }
    Json operator()(const Map& value) const {
        Json out = Json::object();
        for (const auto& [key, each] : value) out[key] = std::visit(*this, each.held());
        return out;
    }
    Json operator()(const Tensor& value) const {
        Json data = Json::array();
        for (std::size_t i = 0; i < value.size(); ++i) data.push_back(std::visit(*this, value.at(i).held()));
        return {{"$tensor", {{"dtype", name_of(value.dtype())}, {"shape", value.shape()}, {"data", data}}}};
    }
    Json operator()(const dovetail::Extension& value) const {
        return {{"$extension", {{"code", value.code}, {"data", hex(value.data)}}}};
    }
};

/// A value as JSON can hold it.
inline Json of(const Value& value) {
    return std::visit(Reader(), value.held());
}

Value to_value(const Json& json);

inline double number(const Json& json) {
    if (json.is_number()) return json.get<double>();
    if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
    const std::string text = json.at("$float").get<std::string>();
    return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

inline std::uint16_t half(double value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7E00;
    if (std::isinf(value)) return sign | 0x7C00;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    if (fraction == 0) return sign;
    if (exponent - 1 < -14)
        return sign | static_cast<std::uint16_t>(std::lround(std::ldexp(std::fabs(value), 24)));
    const long bits = std::lround(std::ldexp(fraction, 11)) - 1024;
    return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + bits));
}

template <class T>
Tensor tensor(const std::vector<std::size_t>& shape, const Json& data) {
    std::vector<T> elements;
    for (const Json& each : data) {
        if constexpr (std::is_floating_point_v<T>) {
            elements.push_back(static_cast<T>(number(each)));
        } else {
            elements.push_back(each.get<T>());
        }
    }
    return Tensor::of(shape, elements);
}

inline Tensor to_tensor(const Json& json) {
    Dtype dtype = Dtype::int8;
    if (!find_dtype(json.at("dtype").get<std::string>(), dtype)) throw dovetail::Error("an unknown dtype");
    const auto shape = json.at("shape").get<std::vector<std::size_t>>();
    const Json& data = json.at("data");
    switch (dtype) {
        case Dtype::int8:
            return tensor<std::int8_t>(shape, data);
        case Dtype::int16:
            return tensor<std::int16_t>(shape, data);
        case Dtype::int32:
            return tensor<std::int32_t>(shape, data);
        case Dtype::int64:
            return tensor<std::int64_t>(shape, data);
        case Dtype::uint8:
            return tensor<std::uint8_t>(shape, data);
        case Dtype::uint16:
            return tensor<std::uint16_t>(shape, data);
        case Dtype::uint32:
            return tensor<std::uint32_t>(shape, data);
        case Dtype::uint64:
            return tensor<std::uint64_t>(shape, data);
        case Dtype::float32:
            return tensor<float>(shape, data);
        case Dtype::float64:
            return tensor<double>(shape, data);
        case Dtype::boolean: {
            Bytes bytes;
            for (const Json& each : data) bytes.push_back(each.get<bool>() ? 1 : 0);
            return Tensor(dtype, shape, std::move(bytes));
        }
        case Dtype::float16:
            break;
    }
    Bytes bytes;
    for (const Json& each : data) {
        const std::uint16_t bits = half(number(each));
        bytes.push_back(static_cast<std::uint8_t>(bits & 0xFF));
        bytes.push_back(static_cast<std::uint8_t>(bits >> 8));
    }
    return Tensor(dtype, shape, std::move(bytes));
}

/// Converts a JSON reading to the value that it stands for.
inline Value to_value(const Json& json) {
    switch (json.type()) {
        case Json::value_t::boolean:
            return json.get<bool>();
        case Json::value_t::number_integer:
            return json.get<std::int64_t>();
        case Json::value_t::number_unsigned:
            return json.get<std::uint64_t>();
        case Json::value_t::number_float:
            return json.get<double>();
        case Json::value_t::string:
            return json.get<std::string>();
        case Json::value_t::array: {
            List out;
            for (const Json& each : json) out.push_back(to_value(each));
            return out;
        }
        case Json::value_t::object: {
            if (json.size() == 1) {
                const std::string& key = json.begin().key();
                const Json& inner = json.begin().value();
                if (key == "$bytes") return unhex(inner.get<std::string>());
                if (key == "$float") return number(json);
                if (key == "$tensor") return to_tensor(inner);
                if (key == "$extension") {
                    return dovetail::Extension{static_cast<std::int8_t>(inner.at("code").get<int>()),
                                               unhex(inner.at("data").get<std::string>())};
                }
            }
            Map out;
            for (const auto& [key, each] : json.items()) out.append(key, to_value(each));
            return out;
        }
        default:
            return {};
    }
}

}  // namespace reading
