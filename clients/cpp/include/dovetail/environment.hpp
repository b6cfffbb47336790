/// \file
/// `Environment`: what a game implements. It knows no agent, socket or broker.
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
    /// One row per legal action, in their order: what `seat` would observe.
    virtual Value afterstates(std::int64_t) { throw Error("this environment has no afterstates"); }
    /// The position for a person: what `seat` may know, or what everybody may if there is none.
    virtual std::string text(std::optional<std::int64_t>) { return {}; }
    /// The position to be drawn (SPEC.md, Scenes), under the rule of `text`; nil if it cannot be.
    virtual Value scene(std::optional<std::int64_t>) { return {}; }
    /// A copy of the episode as `seat` knows it, to be played on by itself; what the seat cannot know, and
    /// chance to come, is drawn again from `seed`. Needed for lookahead only.
    virtual std::unique_ptr<Environment> fork(std::int64_t, std::int64_t) {
        throw Error("this environment cannot be asked what would follow");
    }
    /// Answers a message of the experiment.
    virtual Value message(const Value&) { return {}; }
    /// The match is over.
    virtual void cleanup() {}
};

/// An environment on offer.
struct EnvironmentType {
    /// How a run names it.
    std::string name;
    /// Makes one for a match of a configuration, completed by its defaults.
    std::function<std::unique_ptr<Environment>(const Map& configuration)> make;
    /// One sentence for a person.
    std::string description = {};
    Options configuration = {};
    /// The numbers of seats it can have, if that is known.
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
