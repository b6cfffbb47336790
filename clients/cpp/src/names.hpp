// The words of the contract for enumerations, in the order of their values.
#pragma once

#include <array>
#include <string_view>

#include "dovetail/messages.hpp"

namespace dovetail::names {

template <class E>
struct Of;

template <>
struct Of<Role> {
    static constexpr std::array<const char*, 4> all{"environment", "agent", "experiment", "observer"};
};

template <>
struct Of<Mode> {
    static constexpr std::array<const char*, 2> all{"learn", "evaluate"};
};

template <>
struct Of<Want> {
    static constexpr std::array<const char*, 3> all{"afterstates", "text", "scene"};
};

template <>
struct Of<Reason> {
    static constexpr std::array<const char*, 9> all{"terminated", "truncated", "illegal-action",
                                                    "timeout",    "stalled",   "disconnected",
                                                    "crashed",    "cancelled", "environment-failed"};
};

template <>
struct Of<Finish> {
    static constexpr std::array<const char*, 4> all{"finished", "drained", "cancelled", "failed"};
};

template <class E>
const char* find(E value) {
    return Of<E>::all[static_cast<std::size_t>(value)];
}

template <class E>
bool find(std::string_view name, E& value) {
    for (std::size_t i = 0; i < Of<E>::all.size(); ++i) {
        if (name == Of<E>::all[i]) {
            value = static_cast<E>(i);
            return true;
        }
    }
    return false;
}

}  // namespace dovetail::names
