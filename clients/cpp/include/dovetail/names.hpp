/// \file
/// The contract's words for the members of its enumerations.
#pragma once

#include <string_view>

#include "dovetail/enumerations.hpp"

namespace dovetail {

namespace detail {
struct Ignore {
    template <class... T>
    constexpr void operator()(T...) const {}
};
}  // namespace detail

/// The contract's word for a member of an enumeration, such as `illegal-action`.
template <class E, class = decltype(words(E(), detail::Ignore()))>
constexpr const char* name_of(E value) {
    const char* found = "";
    words(value, [&](E member, const char* word) {
        if (member == value) found = word;
    });
    return found;
}

/// Puts the member that a word means into `value`; returns whether there is one.
template <class E, class = decltype(words(E(), detail::Ignore()))>
constexpr bool find_name(std::string_view name, E& value) {
    bool found = false;
    words(E(), [&](E member, const char* word) {
        if (name != word) return;
        value = member;
        found = true;
    });
    return found;
}

}  // namespace dovetail
