/// \file
/// Spaces of observations and actions, after Gymnasium's.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dovetail/seeds.hpp"
#include "dovetail/value.hpp"

namespace dovetail {

class Space;

namespace spaces {

/// The integers `start` .. `start + n - 1`.
struct Discrete {
    std::int64_t n = 1;
    std::int64_t start = 0;
};

/// Arrays of a shape and dtype, with bounds for all elements or, as nested lists, one each.
struct Box {
    std::vector<std::size_t> shape;
    Value low = -std::numeric_limits<double>::infinity();
    Value high = std::numeric_limits<double>::infinity();
    std::string dtype = "float32";
};

/// Vectors of integers, element i in 0 .. `nvec[i] - 1`.
struct MultiDiscrete {
    std::vector<std::int64_t> nvec;
};

/// Arrays of zeros and ones of a shape.
struct MultiBinary {
    std::vector<std::size_t> shape;
};

/// Strings by length in characters, of the characters of `charset` if it is given.
struct Text {
    std::uint64_t max_length = 0;
    std::uint64_t min_length = 0;
    std::optional<std::string> charset;
};

/// Sequences with one value of each space.
struct Tuple {
    std::vector<Space> spaces;
};

/// Maps with one value of each space by its key.
struct Dict {
    std::vector<std::pair<std::string, Space>> spaces;
};

}  // namespace spaces

/// A space of any kind; it converts from each of them.
class Space {
public:
    using Variant = std::variant<spaces::Discrete, spaces::Box, spaces::MultiDiscrete, spaces::MultiBinary,
                                 spaces::Text, spaces::Tuple, spaces::Dict>;

    Space() = default;
    Space(spaces::Discrete space) : held_(space) {}
    Space(spaces::Box space) : held_(std::move(space)) {}
    Space(spaces::MultiDiscrete space) : held_(std::move(space)) {}
    Space(spaces::MultiBinary space) : held_(std::move(space)) {}
    Space(spaces::Text space) : held_(std::move(space)) {}
    Space(spaces::Tuple space) : held_(std::move(space)) {}
    Space(spaces::Dict space) : held_(std::move(space)) {}

    /// Reads the map of SPEC.md, section 8. Throws Error if it is none.
    static Space from(const Value& value);
    /// The map of SPEC.md, section 8; fields with default values are left out.
    Value value() const;
    /// Whether a value is in the space; any value may be asked about.
    bool contains(const Value& value) const;
    /// A value of the space, drawn at random. Throws Error for a Box whose numbers have no bounds.
    Value sample(Random& random) const;

    /// The space as one of its kinds, or null if it is of another: `space.as<spaces::Box>()`.
    template <class Kind>
    const Kind* as() const {
        return std::get_if<Kind>(&held_);
    }
    const Variant& held() const { return held_; }

private:
    Variant held_;
};

}  // namespace dovetail
