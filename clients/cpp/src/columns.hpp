// Columns of stacked messages, and values put together from rows and taken apart.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dovetail/errors.hpp"
#include "dovetail/value.hpp"

namespace dovetail::columns {

/// The tensor of a column of a dtype and a number of dimensions. Throws ProtocolError if it is something
/// else.
const Tensor& checked(const char* name, const Value& value, Dtype dtype, std::size_t dimensions,
                      std::optional<std::size_t> rows);

/// A column of numbers; nil is an empty one where that is its length.
/// Throws ProtocolError if it is something else.
template <class T>
std::vector<T> read(const char* name, const Value& value, std::optional<std::size_t> rows = {}) {
    if (value.is_nil() && rows.value_or(0) == 0) return {};
    const Tensor& found = checked(name, value, detail::dtype_of<T>(), 1, rows);
    const T* const first = found.elements<T>();
    return std::vector<T>(first, first + found.size());
}

/// A column with several numbers in each row, and how many; nothing if it is nil.
/// Throws ProtocolError if it is something else.
template <class T>
std::pair<std::vector<T>, std::size_t> read_wide(const char* name, const Value& value, std::size_t rows) {
    if (value.is_nil()) return {};
    const Tensor& found = checked(name, value, detail::dtype_of<T>(), 2, rows);
    const T* const first = found.elements<T>();
    return {std::vector<T>(first, first + found.size()), found.shape()[1]};
}

/// Throws ProtocolError unless a column of any values is nil, or a tensor or list of so many rows.
void check_rows(const char* name, const Value& value, std::size_t rows);

/// A column as a tensor.
template <class T>
Value of(const std::vector<T>& column) {
    return Tensor::of<T>({column.size()}, column);
}

/// One row of a column of any values: a number of a tensor of one dimension, a smaller tensor of any other.
Value row(const Value& column, std::size_t number);

/// Some rows of a column of any values.
Value part(const Value& column, std::size_t first, std::size_t rows);

/// Columns one after the other: a tensor if they are tensors of one dtype and equal rows, nil if there are
/// none, else a list. Throws Error for what is not a column.
Value joined(const List& parts);

/// Rows as one column: a tensor if they are tensors of one dtype and shape, nil if all are nil, else a list.
Value stacked(List rows);

/// The elements of a tensor [a * b, ...] as one of the shape [a, b, ...].
Tensor split(const Tensor& tensor, std::size_t a, std::size_t b);

}  // namespace dovetail::columns
