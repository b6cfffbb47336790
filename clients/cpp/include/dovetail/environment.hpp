/// \file
/// `Environment`: the base of a game's rules. It knows nothing of agents, sockets or brokers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dovetail/messages.hpp"
#include "dovetail/options.hpp"
#include "dovetail/seeds.hpp"
#include "dovetail/vector.hpp"

namespace dovetail {

using messages::Spec;
using messages::Symmetry;
using messages::Turn;
using messages::View;

/// Pairs of seat and action, in the order of `Turn::to_act`.
using Actions = std::vector<std::pair<std::int64_t, Value>>;

/// The rules of a game, made for one match. `start` and `step` return a `Turn`: `to_act` and one `View` for
/// each seat in it (observation, legal actions) and for each seat that earned a reward; at the end a `View`
/// of every seat, and the `outcome`.
class Environment {
public:
    Environment() = default;
    Environment(const Environment&) = default;
    Environment& operator=(const Environment&) = delete;
    virtual ~Environment() = default;

    /// Returns the spec of the game; called once, before any episode. Throw Error if the configuration is
    /// invalid.
    virtual Spec init() = 0;
    /// Begins an episode, dropping one in progress.
    virtual Turn start(std::int64_t seed) = 0;
    /// Applies the actions of all seats that had to act. Throw IllegalAction to refuse one; the episode must
    /// be as before then.
    virtual Turn step(const Actions& actions) = 0;
    /// Returns one row per legal action, in order: the observation of `seat` after it.
    virtual Value afterstates(std::int64_t) { throw Error("this environment has no afterstates"); }
    /// Returns the position as text, as `seat` may see it; without a seat, the public position.
    virtual std::string text(std::optional<std::int64_t>) { return {}; }
    /// Returns the position as a scene to draw (SPEC.md, Scenes), visible as for `text`; nil for none.
    virtual Value scene(std::optional<std::int64_t>) { return {}; }
    /// Returns an independent copy of the episode as `seat` knows it; hidden information and future chance
    /// are drawn from `seed`. Needed for lookahead only.
    virtual std::unique_ptr<Environment> fork(std::int64_t, std::int64_t) {
        throw Error("this environment cannot be asked what would follow");
    }
    /// Answers a message of the experiment.
    virtual Value message(const Value&) { return {}; }
    /// Called when the match is over.
    virtual void cleanup() {}
};

/// An environment on offer.
struct EnvironmentType {
    /// Its name in runs.
    std::string name;
    /// Makes an environment for a match, from a configuration completed with defaults.
    std::function<std::unique_ptr<Environment>(const Map& configuration)> make;
    /// One sentence for a person.
    std::string description = {};
    Options configuration = {};
    /// The possible numbers of seats, if known.
    std::optional<std::vector<std::int64_t>> seats = {};
    /// Makes the same game for a group of so many slots; without it the group plays a copy in each slot.
    std::function<std::unique_ptr<VectorEnvironment>(const Map& configuration, std::size_t slots)> vector;
};

/// The type of a class of environments, made with `Kind(configuration)` if there is such a constructor, else
/// `Kind()`.
template <class Kind>
EnvironmentType environment(std::string name, std::string description = {}) {
    EnvironmentType type;
    type.name = std::move(name);
    type.description = std::move(description);
    type.make = [](const Map& configuration) -> std::unique_ptr<Environment> {
        if constexpr (std::is_constructible_v<Kind, const Map&>) {
            return std::make_unique<Kind>(configuration);
        } else {
            static_cast<void>(configuration);
            return std::make_unique<Kind>();
        }
    };
    return type;
}

}  // namespace dovetail
