#include "columns.hpp"

#include <algorithm>
#include <cstring>

#include "dovetail/vector.hpp"

namespace dovetail::columns {

namespace {

[[noreturn]] void invalid(const char* name, const std::string& text) {
    throw ProtocolError(Code::invalid, std::string("`") + name + "` " + text);
}

std::string shape_of(const Tensor& tensor) {
    std::string text = name_of(tensor.dtype());
    text += " [";
    for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(tensor.shape()[i]);
    }
    return text + "]";
}

/// The number of rows; nothing if a value is not a column.
std::optional<std::size_t> length(const Value& column) {
    if (column.is_list()) return column.as_list().size();
    if (column.is_tensor() && !column.as_tensor().shape().empty()) return column.as_tensor().shape()[0];
    return std::nullopt;
}

/// Some rows of a tensor; `shape` is that of the part.
Tensor slice(const Tensor& tensor, std::size_t first, std::size_t rows, std::vector<std::size_t> shape) {
    const std::size_t each = tensor.data().size() / std::max<std::size_t>(1, tensor.shape()[0]);
    const std::uint8_t* const from = tensor.data().data() + first * each;
    return Tensor(tensor.dtype(), std::move(shape), Bytes(from, from + rows * each));
}

}  // namespace

const Tensor& checked(const char* name, const Value& value, Dtype dtype, std::size_t dimensions,
                      std::optional<std::size_t> rows) {
    std::string wanted = std::string("not a tensor ") + name_of(dtype) + " [" +
                         (rows ? std::to_string(*rows) : "n") + (dimensions == 1 ? "]" : ", n]");
    if (!value.is_tensor()) invalid(name, std::string("is ") + value.kind() + ", " + wanted);
    const Tensor& found = value.as_tensor();
    if (found.dtype() != dtype || found.shape().size() != dimensions || (rows && found.shape()[0] != *rows)) {
        invalid(name, "is a tensor " + shape_of(found) + ", " + wanted);
    }
    return found;
}

void check_rows(const char* name, const Value& value, std::size_t rows) {
    if (value.is_nil()) return;
    const std::optional<std::size_t> found = length(value);
    if (!found) invalid(name, std::string("is ") + value.kind() + ", not a column");
    if (*found != rows) {
        invalid(name, "has " + std::to_string(*found) + " rows; it must have " + std::to_string(rows));
    }
}

Value row(const Value& column, std::size_t number) {
    if (column.is_nil()) return {};
    if (column.is_list()) return column.as_list().at(number);
    const Tensor& tensor = column.as_tensor();
    if (tensor.shape().size() == 1) return tensor.at(number);
    return slice(tensor, number, 1, {tensor.shape().begin() + 1, tensor.shape().end()});
}

Value part(const Value& column, std::size_t first, std::size_t rows) {
    if (column.is_nil()) return {};
    if (first + rows > length(column).value_or(0)) throw Error("a column has fewer rows than it must");
    if (column.is_list()) {
        const auto from = column.as_list().begin() + static_cast<std::ptrdiff_t>(first);
        return List(from, from + static_cast<std::ptrdiff_t>(rows));
    }
    std::vector<std::size_t> shape = column.as_tensor().shape();
    shape[0] = rows;
    return slice(column.as_tensor(), first, rows, std::move(shape));
}

namespace {

/// The bytes of tensors, one after the other.
Bytes bytes_of(const List& tensors) {
    Bytes data;
    for (const Value& each : tensors) {
        const Bytes& more = each.as_tensor().data();
        data.insert(data.end(), more.begin(), more.end());
    }
    return data;
}

/// True if values are tensors of one dtype, and of one shape from dimension `from` on.
bool alike(const List& values, std::ptrdiff_t from) {
    const auto tail = [&](const Value& each) {
        const std::vector<std::size_t>& shape = each.as_tensor().shape();
        return std::vector<std::size_t>(shape.begin() + from, shape.end());
    };
    return std::all_of(values.begin(), values.end(), [&](const Value& each) {
        return each.is_tensor() && each.as_tensor().shape().size() == values[0].as_tensor().shape().size() &&
               each.as_tensor().dtype() == values[0].as_tensor().dtype() && tail(each) == tail(values[0]);
    });
}

}  // namespace

Value joined(const List& parts) {
    if (parts.empty()) return {};
    std::size_t rows = 0;
    for (const Value& each : parts) {
        const std::optional<std::size_t> found = length(each);
        if (!found) throw Error(std::string("expected a tensor or a list of rows, got ") + each.kind());
        rows += *found;
    }
    if (alike(parts, 1)) {
        std::vector<std::size_t> shape = parts[0].as_tensor().shape();
        shape[0] = rows;
        return Tensor(parts[0].as_tensor().dtype(), std::move(shape), bytes_of(parts));
    }
    List out;
    for (const Value& each : parts) {
        for (std::size_t i = 0; i < *length(each); ++i) out.push_back(row(each, i));
    }
    return out;
}

Value stacked(List rows) {
    if (std::all_of(rows.begin(), rows.end(), [](const Value& each) { return each.is_nil(); })) return {};
    if (!alike(rows, 0)) return rows;
    std::vector<std::size_t> shape = rows[0].as_tensor().shape();
    shape.insert(shape.begin(), rows.size());
    return Tensor(rows[0].as_tensor().dtype(), std::move(shape), bytes_of(rows));
}

Tensor split(const Tensor& tensor, std::size_t a, std::size_t b) {
    std::vector<std::size_t> shape{a, b};
    shape.insert(shape.end(), tensor.shape().begin() + 1, tensor.shape().end());
    return Tensor(tensor.dtype(), std::move(shape), tensor.data());
}

}  // namespace dovetail::columns

namespace dovetail {

std::vector<std::int64_t> Masks::actions(std::size_t row) const {
    const auto from = bits.begin() + static_cast<std::ptrdiff_t>(row * width);
    return unmask(Bytes(from, from + static_cast<std::ptrdiff_t>(width)));
}

}  // namespace dovetail
