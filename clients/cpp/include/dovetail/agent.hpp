/// \file
/// `Agent`: the base of a player or learner. It knows nothing of games, sockets or brokers.
#pragma once

#include <any>
#include <functional>
#include <map>
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

using messages::Preview;
using messages::Thoughts;

/// A seat of a match, as its agent sees it.
struct Seat {
    std::int64_t match = 0;
    std::int64_t seat = 0;
    Spec spec;
    /// True if the run allows `Lookahead`.
    bool lookahead = false;
    /// The name of the offer that the agent was made from.
    std::string agent = {};

    /// The seat's observation space. Throws Error if the spec has none.
    const Space& observation_space() const;
    /// The seat's action space. Throws Error if the spec has none.
    const Space& action_space() const;
};

/// One decision of one seat. It lives until `start` or `step` returns.
struct Decision {
    Decision(const Seat& seat_, Random& random_) : seat(seat_), random(random_) {}

    const Seat& seat;
    /// The generator for this seat's random choices in this episode, which makes them repeatable.
    Random& random;
    /// The seed of `random`, for agents that bring their own generator.
    std::int64_t seed = 0;
    std::int64_t episode = 0;
    /// The number of this decision point within the episode, from 0.
    std::int64_t turn = 0;
    Value observation = {};
    /// Action numbers in rising order, even if sent as a mask; nothing if every action of the space is legal.
    std::optional<std::vector<std::int64_t>> legal = {};
    /// The sum of the seat's rewards since its last decision.
    double reward = 0.0;
    /// In `evaluate` an agent must not change.
    Mode mode = Mode::learn;
    /// One row per legal action: the observation after it (if `wants` asks).
    Value afterstates = {};
    /// The position as text (if `wants` asks).
    std::optional<std::string> text = {};
    /// The position as a scene to draw (if `wants` asks).
    Value scene = {};
    std::optional<Clock> clock = {};
    /// True if a watcher may see `Answer::thoughts`; it must not change the action.
    bool think = false;

    /// A legal action, drawn with `random`. Throws Error if the action space cannot be sampled.
    Value random_action() const;
};

/// The end of an episode for one seat; it comes exactly once, whatever happened.
struct End {
    explicit End(const Seat& seat_) : seat(seat_) {}

    const Seat& seat;
    std::int64_t episode = 0;
    /// The sum of the seat's rewards since its last decision.
    double reward = 0.0;
    /// The last position; nil if the environment gave none, or if it cannot be read.
    Value observation = {};
    /// A score per seat: 1 won, 0 lost, shared when drawn; nothing if the game is not scored.
    std::optional<std::vector<double>> outcome = {};
    Reason reason = Reason::terminated;
    /// The seat at fault, if any.
    std::optional<std::int64_t> blame = {};
    /// The return: all rewards of the seat in this episode.
    double total = 0.0;
    std::int64_t decisions = 0;
    Mode mode = Mode::learn;
    std::optional<std::string> text = {};
    Value scene = {};
};

/// The seats that an instance holds in each slot of a group, by number.
using Seats = std::map<std::int64_t, std::shared_ptr<const Seat>>;

class Answer;

/// A question to the environment: which positions do these lines of actions lead to? An agent returns it
/// instead of an action, if the run allows it (`Seat::lookahead`).
struct Lookahead {
    /// Sequences of entries, each with one action for each seat to act, in the order of the seats.
    std::vector<std::vector<std::vector<Value>>> lines;
    /// Called with a position for each line; it returns the action, or asks again. The `Decision` is gone by
    /// then.
    std::function<Answer(const std::vector<Preview>&)> then;
    /// The seed of hidden information and chance; all lines share one sample.
    std::int64_t seed = 0;
    /// Called with the reason if the question is refused; without it the decision fails as `crashed`.
    std::function<Answer(const std::string&)> refused = {};
};

/// Gives up the episode: the seat loses.
struct Resign {};

/// An agent's answer to a decision: an action, which may be anything that converts to a `Value`, `Resign`,
/// or a question.
class Answer {
public:
    template <class T,
              std::enable_if_t<
                  std::is_constructible_v<Value, T&&> && !std::is_same_v<std::decay_t<T>, Answer>, int> = 0>
    Answer(T&& action_) : action(std::forward<T>(action_)) {}
    Answer(Resign) : resign(true) {}
    Answer(Lookahead question_) : question(std::make_shared<Lookahead>(std::move(question_))) {}

    Value action;
    std::shared_ptr<Lookahead> question;
    /// The agent's thoughts, for watchers; sent only if the decision has `think`.
    std::optional<Thoughts> thoughts = {};
    /// Measurements since the last answer, such as a loss; their means are in the result of the
    /// episode.
    std::vector<std::pair<std::string, double>> measures = {};
    bool resign = false;
};

/// A player. Derive from it, answer `step`, and `serve` it. One instance may hold several seats at once, of
/// one episode or of `AgentType::capacity` many. Whatever a method throws is told to the broker and costs
/// nothing more.
class Agent {
public:
    Agent() = default;
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;
    virtual ~Agent() = default;

    /// Takes a seat of a match. Throw Error if this agent cannot play this game.
    virtual void init(const Seat&) {}
    /// Answers the first decision of an episode.
    virtual Answer start(const Decision& decision) { return step(decision); }
    /// Answers a decision.
    virtual Answer step(const Decision& decision) = 0;
    /// Handles the end of an episode. A seat that never had to decide gets one, too.
    virtual void end(const End&) {}

    /// Returns the agent's memory for a group of this many slots (SPEC.md, Stacked turns). The group's
    /// decisions then come to `step_rows` and its ends to `end_rows`, as columns. Without a value they come
    /// one by one to `start`, `step` and `end`, as in single matches; an agent must act the same in both.
    virtual std::any open_group(const Seats&, std::size_t) { return {}; }
    /// The action number of each row.
    virtual std::vector<std::int64_t> step_rows(const Rows&, std::any&) {
        throw Error("this agent does not take columns");
    }
    /// Handles the ends of episodes of a group.
    virtual void end_rows(const Ends&, std::any&) {}

    /// Answers a message of the experiment.
    virtual Value message(const Value&) { return {}; }
    /// Returns the agent's complete state, from which `load` continues exactly.
    virtual Bytes save() { return {}; }
    /// Continues from the bytes that `save` returned. Throw Error if they are not a state of this agent.
    virtual void load(const Bytes&) {}
    /// Called when the instance is no longer needed.
    virtual void cleanup() {}
};

/// An agent type on offer.
struct AgentType {
    /// Its name in runs and in `create`.
    std::string name;
    /// Makes an instance of parameters, completed by their defaults, and a seed for its own random choices.
    std::function<std::unique_ptr<Agent>(const Map& parameters, std::int64_t seed)> make;
    /// One sentence for a person.
    std::string description = {};
    Options parameters = {};
    std::vector<Want> wants = {};
    /// Episodes that one instance plays at once; 0 means any number.
    std::int64_t capacity = 1;
    /// True if the program is this single agent, which experiments seat by name and do not create.
    bool instance = false;
};

/// The type of a class of agents, made with `Kind(parameters, seed)` if there is such a constructor, else
/// `Kind()`.
template <class Kind>
AgentType agent(std::string name, std::string description = {}) {
    AgentType type;
    type.name = std::move(name);
    type.description = std::move(description);
    type.make = [](const Map& parameters, std::int64_t seed) -> std::unique_ptr<Agent> {
        if constexpr (std::is_constructible_v<Kind, const Map&, std::int64_t>) {
            return std::make_unique<Kind>(parameters, seed);
        } else {
            static_cast<void>(parameters), static_cast<void>(seed);
            return std::make_unique<Kind>();
        }
    };
    return type;
}

}  // namespace dovetail
