/// \file
/// The messages of the contract that a peer hears or says, with the names of SPEC.md, section 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dovetail/spaces.hpp"
#include "dovetail/value.hpp"

namespace dovetail {

/// The version of the protocol.
inline constexpr std::int64_t kVersion = 1;

enum class Role { environment, agent, experiment, observer };
enum class Mode { learn, evaluate };
/// What an agent asks the environment to add to its decisions.
enum class Want { afterstates, text, scene };
/// Why an episode is over.
enum class Reason {
    terminated,
    truncated,
    illegal_action,
    timeout,
    stalled,
    disconnected,
    crashed,
    cancelled,
    environment_failed
};
/// Why a run is over.
enum class Finish { finished, drained, cancelled, failed };

// The contract's words for them, such as `illegal-action`.
const char* name_of(Role value);
const char* name_of(Mode value);
const char* name_of(Want value);
const char* name_of(Reason value);
const char* name_of(Finish value);

/// Action numbers in rising order, or a bit mask, or nothing: whatever the action space contains.
using Legal = std::variant<std::monostate, std::vector<std::int64_t>, Bytes>;

/// The mask of some of the actions 0 .. `n - 1`.
Bytes mask(const std::vector<std::int64_t>& actions, std::size_t n);
/// The actions of a mask, in rising order.
std::vector<std::int64_t> unmask(const Bytes& mask);

/// An environment or agent type that a peer can make.
struct Offer {
    std::string name;
    std::string description;
    Map parameters;
    std::vector<Want> wants;
    std::uint64_t capacity = 1;
    bool instance = false;
    std::optional<std::vector<std::int64_t>> seats;
};

/// The largest frame that a receiver reads.
struct Limits {
    std::uint64_t frame = 16 * 1024 * 1024;
    std::uint64_t depth = 32;
    std::uint64_t elements = 100'000;
    bool operator==(const Limits& other) const {
        return frame == other.frame && depth == other.depth && elements == other.elements;
    }
};

/// A way to turn or mirror the game that changes nothing about it.
struct Symmetry {
    std::vector<std::int64_t> observation;
    std::vector<std::int64_t> actions;
};

/// What a seat can expect of an environment.
struct Spec {
    static constexpr const char* type = "spec";
    /// Filled in by the library.
    std::int64_t match = 0;
    std::string name;
    std::uint64_t seats = 1;
    /// One per seat, or one for all.
    std::vector<Space> observation_spaces;
    /// One per seat, or one for all.
    std::vector<Space> action_spaces;
    std::optional<std::pair<double, double>> reward_range;
    double discount = 1.0;
    bool perfect_information = true;
    bool afterstates = false;
    std::optional<std::pair<double, double>> forfeit;
    std::optional<std::uint64_t> max_turns;
    std::vector<Symmetry> symmetries;

    /// The observation space of a seat. Throws Error if the spec has none.
    const Space& observation_space(std::int64_t seat) const;
    /// The action space of a seat. Throws Error if the spec has none.
    const Space& action_space(std::int64_t seat) const;
};

/// What a transition means to one seat.
struct View {
    std::uint64_t seat = 0;
    Value observation;
    Legal legal;
    double reward = 0.0;
    Value afterstates;
    std::optional<std::string> text;
    Value scene;
};

/// A transition: who must act now and what each seat learns.
struct Turn {
    static constexpr const char* type = "turn";
    /// Filled in by the library, as is `turn`.
    std::int64_t episode = 0;
    std::uint64_t turn = 0;
    /// Empty if and only if the episode is over.
    std::vector<std::int64_t> to_act;
    /// Seats in `to_act`, and any that earned a reward; at the end every seat.
    std::vector<View> seats;
    bool terminated = false;
    bool truncated = false;
    std::optional<std::vector<double>> outcome;
    std::optional<std::string> text;
    Value info;
};

/// What a seat may use, and what its last answer took, in seconds.
struct Clock {
    std::optional<double> decision;
    std::optional<double> left;
    std::optional<double> last;
};

/// What one seat got out of an episode.
struct SeatResult {
    std::string agent;
    std::int64_t instance = 0;
    double total = 0.0;
    std::int64_t decisions = 0;
    double seconds = 0.0;
    std::int64_t breaches = 0;
    std::int64_t ignored = 0;
};

/// The result of one episode.
struct Episode {
    static constexpr const char* type = "episode";
    std::int64_t run = 0;
    std::int64_t index = 0;
    std::int64_t episode = 0;
    std::int64_t seed = 0;
    Reason reason = Reason::terminated;
    std::vector<SeatResult> seats;
    std::optional<std::vector<double>> outcome;
    std::optional<std::int64_t> blame;
    std::int64_t turns = 0;
    /// False if the episode was interrupted; it counts for nobody.
    bool scored = true;
    bool again = false;
    std::string message;
};

/// How far a run is.
struct Progress {
    static constexpr const char* type = "progress";
    std::int64_t run = 0;
    std::int64_t finished = 0;
    std::int64_t running = 0;
    std::int64_t total = 0;
};

/// A run is over.
struct Done {
    static constexpr const char* type = "done";
    std::int64_t run = 0;
    std::int64_t finished = 0;
    Finish reason = Finish::finished;
    std::string message;
};

/// A turn as a watcher may see it.
struct WatchedTurn {
    static constexpr const char* type = "turn";
    std::int64_t run = 0;
    std::int64_t match = 0;
    std::int64_t index = 0;
    std::int64_t episode = 0;
    std::int64_t turn = 0;
    std::vector<std::int64_t> to_act;
    std::vector<std::pair<std::int64_t, Value>> actions;
    std::vector<double> rewards;
    std::vector<std::pair<std::int64_t, Value>> observations;
    std::vector<std::string> agents;
    bool terminated = false;
    bool truncated = false;
    std::optional<std::vector<double>> outcome;
    std::optional<Reason> reason;
    std::optional<std::string> text;
};

/// What only the library itself hears and says; who writes a shell of their own needs it.
namespace messages {

struct Hello {
    static constexpr const char* type = "hello";
    std::int64_t version = kVersion;
    Role role = Role::agent;
    std::string name;
    std::vector<Offer> offers;
    std::optional<std::string> token;
    std::optional<std::string> resume;
    std::string software;
    std::vector<std::string> features;
};

struct Welcome {
    static constexpr const char* type = "welcome";
    std::string session;
    std::string name;
    bool resumed = false;
    std::int64_t version = kVersion;
    double heartbeat = 1.0;
    double patience = 30.0;
    Limits limits;
    std::vector<std::string> features;
};

struct Ping {
    static constexpr const char* type = "ping";
    std::uint64_t number = 0;
};

struct Pong {
    static constexpr const char* type = "pong";
    std::uint64_t number = 0;
};

struct Error {
    static constexpr const char* type = "error";
    std::string code;
    std::string message;
    std::optional<std::int64_t> id = {};
    std::optional<std::int64_t> episode = {};
    std::optional<std::int64_t> seat = {};
    std::optional<std::int64_t> match = {};
};

struct Bye {
    static constexpr const char* type = "bye";
    std::string reason;
};

struct Reply {
    static constexpr const char* type = "reply";
    std::int64_t id = 0;
    Value body = {};
};

// -- to an environment --------------------------------------------------------------------------

struct Open {
    static constexpr const char* type = "open";
    std::int64_t match = 0;
    std::string environment;
    Map configuration;
};

struct EnvironmentStart {
    static constexpr const char* type = "start";
    std::int64_t match = 0;
    std::int64_t episode = 0;
    std::int64_t seed = 0;
    std::vector<std::vector<Want>> wants;
    bool watched = false;
};

struct EnvironmentStep {
    static constexpr const char* type = "step";
    std::int64_t episode = 0;
    std::int64_t turn = 0;
    std::vector<std::pair<std::int64_t, Value>> actions;
};

struct EnvironmentLookahead {
    static constexpr const char* type = "lookahead";
    std::int64_t id = 0;
    std::int64_t episode = 0;
    std::int64_t seat = 0;
    std::int64_t turn = 0;
    std::vector<std::vector<std::vector<Value>>> lines;
    std::int64_t seed = 0;
};

struct EnvironmentMessage {
    static constexpr const char* type = "message";
    std::int64_t id = 0;
    std::int64_t match = 0;
    Value body;
};

struct Close {
    static constexpr const char* type = "close";
    std::int64_t match = 0;
};

/// What a line of a lookahead leads to; it travels inside of a `reply`.
struct Position {
    std::vector<std::int64_t> to_act;
    std::vector<View> seats;
    std::vector<double> rewards;
    bool terminated = false;
    bool truncated = false;
    std::optional<std::vector<double>> outcome;
    std::int64_t applied = 0;
    std::string error;
};

// -- to and from an agent -----------------------------------------------------------------------

struct Create {
    static constexpr const char* type = "create";
    std::int64_t id = 0;
    std::int64_t instance = 0;
    std::string agent;
    Map parameters;
    std::int64_t seed = 0;
    std::optional<Bytes> state;
};

struct Init {
    static constexpr const char* type = "init";
    std::int64_t match = 0;
    std::int64_t seat = 0;
    std::int64_t instance = 0;
    Spec spec;
    bool lookahead = false;
};

/// `start` to an agent if `first`, else `step`; a step has neither match nor seed nor mode.
struct Decision {
    bool first = false;
    std::int64_t episode = 0;
    std::int64_t match = 0;
    std::int64_t seat = 0;
    std::int64_t turn = 0;
    std::int64_t seed = 0;
    Mode mode = Mode::learn;
    double reward = 0.0;
    Value observation;
    Legal legal;
    Value afterstates;
    std::optional<std::string> text;
    Value scene;
    std::optional<Clock> clock;
    /// Why observation, afterstates or scene could not be decoded, if so.
    std::string unreadable;
};

struct Action {
    static constexpr const char* type = "action";
    std::int64_t episode = 0;
    std::int64_t turn = 0;
    std::int64_t seat = 0;
    Value action;
};

struct End {
    static constexpr const char* type = "end";
    std::int64_t episode = 0;
    std::int64_t seat = 0;
    std::int64_t match = 0;
    double reward = 0.0;
    Value observation;
    std::optional<std::vector<double>> outcome;
    Reason reason = Reason::terminated;
    std::optional<std::int64_t> blame;
    double total = 0.0;
    std::int64_t decisions = 0;
    std::optional<std::string> text;
    Value scene;
    Mode mode = Mode::learn;
    std::string unreadable;
};

struct Save {
    static constexpr const char* type = "save";
    std::int64_t id = 0;
    std::int64_t instance = 0;
    std::optional<std::string> keep;
};

struct Saved {
    static constexpr const char* type = "saved";
    std::int64_t id = 0;
    Bytes state;
};

struct Load {
    static constexpr const char* type = "load";
    std::int64_t id = 0;
    std::int64_t instance = 0;
    Bytes state;
    std::optional<std::string> kept;
};

struct AgentMessage {
    static constexpr const char* type = "message";
    std::int64_t id = 0;
    std::int64_t instance = 0;
    Value body;
};

struct Leave {
    static constexpr const char* type = "leave";
    std::int64_t match = 0;
};

struct Cleanup {
    static constexpr const char* type = "cleanup";
    std::int64_t id = 0;
    std::int64_t instance = 0;
};

/// Any message of a broker.
using Incoming =
    std::variant<Welcome, Ping, Pong, Error, Bye, Reply, Decision, End, Create, Init, Save, Saved, Load,
                 AgentMessage, Leave, Cleanup, EnvironmentStep, EnvironmentStart, Open, Close,
                 EnvironmentLookahead, EnvironmentMessage, Episode, Progress, Done, WatchedTurn>;

}  // namespace messages
}  // namespace dovetail
