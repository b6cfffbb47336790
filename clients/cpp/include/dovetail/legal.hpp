/// \file
/// Legal actions, and bit masks of them.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "dovetail/value.hpp"

namespace dovetail {

/// Action numbers in rising order, or a bit mask, or nothing: whatever the action space contains.
using Legal = std::variant<std::monostate, std::vector<std::int64_t>, Bytes>;

/// The mask of some of the actions 0 .. `n - 1`.
Bytes mask(const std::vector<std::int64_t>& actions, std::size_t n);
/// The actions of a mask, in rising order.
std::vector<std::int64_t> unmask(const Bytes& mask);

}  // namespace dovetail
