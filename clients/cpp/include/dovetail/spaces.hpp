/// \file
/// Spaces of observations and actions, after Gymnasium's; legal actions, and bit masks of them.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "dovetail/seeds.hpp"
#include "dovetail/space_kinds.hpp"
#include "dovetail/value.hpp"

namespace dovetail {

/// A space of any kind; it converts from each of them.
class Space {
public:
    using Variant = std::variant<spaces::Discrete, spaces::Box, spaces::MultiDiscrete, spaces::MultiBinary,
                                 spaces::Text, spaces::Tuple, spaces::Dict, spaces::Sequence>;

    Space() = default;
    Space(spaces::Discrete space) : held_(space) {}
    Space(spaces::Box space) : held_(std::move(space)) {}
    Space(spaces::MultiDiscrete space) : held_(std::move(space)) {}
    Space(spaces::MultiBinary space) : held_(std::move(space)) {}
    Space(spaces::Text space) : held_(std::move(space)) {}
    Space(spaces::Tuple space) : held_(std::move(space)) {}
    Space(spaces::Dict space) : held_(std::move(space)) {}
    Space(spaces::Sequence space) : held_(std::move(space)) {}

    /// Reads the map that a space is on the wire. Throws Error if it is not one.
    static Space from(const Value& value);
    /// The map that the space is on the wire; fields with default values are left out.
    Value value() const;
    /// A value of the space, drawn at random; floats are within 1 of the only bound that they have, or of 0.
    /// Throws Error if the space contains nothing, or its values are too large for a message.
    Value sample(Random& random) const;
    /// True if the space contains a value as sent on the wire (SPEC.md, S8.1).
    bool contains(const Value& value) const;

    /// The space as one of its kinds, or null if it is of another: `space.as<spaces::Box>()`.
    template <class Kind>
    const Kind* as() const {
        return std::get_if<Kind>(&held_);
    }
    const Variant& held() const { return held_; }
    Variant& held() { return held_; }

private:
    Variant held_;
};

/// Action numbers in rising order, or a bit mask, or nothing: whatever the action space contains.
using Legal = std::variant<std::monostate, std::vector<std::int64_t>, Bytes>;

/// The mask of some of the actions 0 .. `n - 1`.
Bytes mask(const std::vector<std::int64_t>& actions, std::size_t n);
/// The actions of a mask, in rising order.
std::vector<std::int64_t> unmask(const Bytes& mask);

}  // namespace dovetail
