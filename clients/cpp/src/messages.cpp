#include "dovetail/messages.hpp"

#include "names.hpp"

namespace dovetail {

const char* name_of(Role value) {
    return names::find(value);
}

const char* name_of(Mode value) {
    return names::find(value);
}

const char* name_of(Want value) {
    return names::find(value);
}

const char* name_of(Reason value) {
    return names::find(value);
}

const char* name_of(Finish value) {
    return names::find(value);
}

Bytes mask(const std::vector<std::int64_t>& actions, std::size_t n) {
    Bytes out((n + 7) / 8);
    for (const std::int64_t action : actions) {
        if (action < 0 || static_cast<std::size_t>(action) >= n) {
            throw Error("action " + std::to_string(action) + " does not fit a mask of " + std::to_string(n));
        }
        out[static_cast<std::size_t>(action / 8)] |= static_cast<std::uint8_t>(1 << (action % 8));
    }
    return out;
}

std::vector<std::int64_t> unmask(const Bytes& mask) {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
            if ((mask[i] >> bit & 1) != 0) out.push_back(static_cast<std::int64_t>(8 * i + bit));
        }
    }
    return out;
}

namespace {

const Space& of_seat(const std::vector<Space>& spaces, std::int64_t seat, const char* what) {
    if (spaces.size() == 1) return spaces[0];
    if (seat < 0 || static_cast<std::size_t>(seat) >= spaces.size()) {
        throw Error(std::string("the environment says no ") + what + " space of seat " +
                    std::to_string(seat));
    }
    return spaces[static_cast<std::size_t>(seat)];
}

}  // namespace

const Space& Spec::observation_space(std::int64_t seat) const {
    return of_seat(observation_spaces, seat, "observation");
}

const Space& Spec::action_space(std::int64_t seat) const {
    return of_seat(action_spaces, seat, "action");
}

}  // namespace dovetail
