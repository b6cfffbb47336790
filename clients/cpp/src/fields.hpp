// The fields of every message and part, once for reading and writing.
//
// A visitor has `required(name, member)`, `optional(name, member)` for members whose default is zero, empty
// or nil, `optional(name, member, default)`, `ranged(name, member, default, least, most)`, and
// `payload(name, member, unreadable)` for values that may turn out unreadable without costing the message.
#pragma once

#include <limits>

#include "dovetail/messages.hpp"

namespace dovetail::fields {

inline constexpr std::uint64_t kMost = UINT64_MAX;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
struct Of {};

template <class V, class M>
void visit(V& v, M& m, Of<Offer>) {
    v.required("name", m.name);
    v.optional("description", m.description);
    v.optional("parameters", m.parameters);
    v.optional("wants", m.wants);
    v.optional("capacity", m.capacity, std::uint64_t{1});
    v.optional("instance", m.instance);
    v.optional("seats", m.seats);
}

template <class V, class M>
void visit(V& v, M& m, Of<Limits>) {
    const Limits standard;
    v.ranged("frame", m.frame, standard.frame, std::uint64_t{1}, kMost);
    v.ranged("depth", m.depth, standard.depth, std::uint64_t{1}, kMost);
    v.ranged("elements", m.elements, standard.elements, std::uint64_t{1}, kMost);
}

template <class V, class M>
void visit(V& v, M& m, Of<Symmetry>) {
    v.required("observation", m.observation);
    v.optional("actions", m.actions);
}

template <class V, class M>
void visit(V& v, M& m, Of<Spec>) {
    v.optional("match", m.match);
    v.optional("name", m.name);
    v.ranged("seats", m.seats, std::uint64_t{1}, std::uint64_t{1}, kMost);
    v.optional("observation_spaces", m.observation_spaces);
    v.optional("action_spaces", m.action_spaces);
    v.optional("reward_range", m.reward_range);
    v.ranged("discount", m.discount, 1.0, 0.0, 1.0);
    v.optional("perfect_information", m.perfect_information, true);
    v.optional("afterstates", m.afterstates);
    v.optional("forfeit", m.forfeit);
    v.optional("max_turns", m.max_turns);
    v.optional("symmetries", m.symmetries);
}

template <class V, class M>
void visit(V& v, M& m, Of<View>) {
    v.required("seat", m.seat);
    v.optional("observation", m.observation);
    v.optional("legal", m.legal);
    v.optional("reward", m.reward);
    v.optional("afterstates", m.afterstates);
    v.optional("text", m.text);
    v.optional("scene", m.scene);
}

template <class V, class M>
void visit(V& v, M& m, Of<Turn>) {
    v.optional("episode", m.episode);
    v.optional("turn", m.turn);
    v.optional("to_act", m.to_act);
    v.optional("seats", m.seats);
    v.optional("terminated", m.terminated);
    v.optional("truncated", m.truncated);
    v.optional("outcome", m.outcome);
    v.optional("text", m.text);
    v.optional("info", m.info);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Position>) {
    v.optional("to_act", m.to_act);
    v.optional("seats", m.seats);
    v.optional("rewards", m.rewards);
    v.optional("terminated", m.terminated);
    v.optional("truncated", m.truncated);
    v.optional("outcome", m.outcome);
    v.optional("applied", m.applied);
    v.optional("error", m.error);
}

template <class V, class M>
void visit(V& v, M& m, Of<Clock>) {
    v.optional("decision", m.decision);
    v.optional("left", m.left);
    v.optional("last", m.last);
}

template <class V, class M>
void visit(V& v, M& m, Of<SeatResult>) {
    v.required("agent", m.agent);
    v.required("instance", m.instance);
    v.optional("total", m.total);
    v.optional("decisions", m.decisions);
    v.optional("seconds", m.seconds);
    v.optional("breaches", m.breaches);
    v.optional("ignored", m.ignored);
}

template <class V, class M>
void visit(V& v, M& m, Of<Episode>) {
    v.required("run", m.run);
    v.required("index", m.index);
    v.required("episode", m.episode);
    v.required("seed", m.seed);
    v.required("reason", m.reason);
    v.required("seats", m.seats);
    v.optional("outcome", m.outcome);
    v.optional("blame", m.blame);
    v.optional("turns", m.turns);
    v.optional("scored", m.scored, true);
    v.optional("again", m.again);
    v.optional("message", m.message);
}

template <class V, class M>
void visit(V& v, M& m, Of<Progress>) {
    v.required("run", m.run);
    v.required("finished", m.finished);
    v.required("running", m.running);
    v.required("total", m.total);
}

template <class V, class M>
void visit(V& v, M& m, Of<Done>) {
    v.required("run", m.run);
    v.required("finished", m.finished);
    v.optional("reason", m.reason);
    v.optional("message", m.message);
}

template <class V, class M>
void visit(V& v, M& m, Of<WatchedTurn>) {
    v.required("run", m.run);
    v.required("match", m.match);
    v.required("index", m.index);
    v.required("episode", m.episode);
    v.required("turn", m.turn);
    v.optional("to_act", m.to_act);
    v.optional("actions", m.actions);
    v.optional("rewards", m.rewards);
    v.optional("observations", m.observations);
    v.optional("agents", m.agents);
    v.optional("terminated", m.terminated);
    v.optional("truncated", m.truncated);
    v.optional("outcome", m.outcome);
    v.optional("reason", m.reason);
    v.optional("text", m.text);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Hello>) {
    v.required("version", m.version);
    v.required("role", m.role);
    v.optional("name", m.name);
    v.optional("offers", m.offers);
    v.optional("token", m.token);
    v.optional("resume", m.resume);
    v.optional("software", m.software);
    v.optional("features", m.features);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Welcome>) {
    v.required("session", m.session);
    v.required("name", m.name);
    v.optional("resumed", m.resumed);
    v.optional("version", m.version, std::int64_t{1});
    v.ranged("heartbeat", m.heartbeat, 1.0, 0.0, kInfinity);
    v.ranged("patience", m.patience, 30.0, 0.0, kInfinity);
    v.optional("limits", m.limits, Limits{});
    v.optional("features", m.features);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Ping>) {
    v.optional("number", m.number);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Pong>) {
    v.optional("number", m.number);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Error>) {
    v.required("code", m.code);
    v.required("message", m.message);
    v.optional("id", m.id);
    v.optional("episode", m.episode);
    v.optional("seat", m.seat);
    v.optional("match", m.match);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Bye>) {
    v.optional("reason", m.reason);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Reply>) {
    v.required("id", m.id);
    v.optional("body", m.body);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Open>) {
    v.required("match", m.match);
    v.required("environment", m.environment);
    v.optional("configuration", m.configuration);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::EnvironmentStart>) {
    v.required("match", m.match);
    v.required("episode", m.episode);
    v.required("seed", m.seed);
    v.optional("wants", m.wants);
    v.optional("watched", m.watched);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::EnvironmentStep>) {
    v.required("episode", m.episode);
    v.required("turn", m.turn);
    v.required("actions", m.actions);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::EnvironmentLookahead>) {
    v.required("id", m.id);
    v.required("episode", m.episode);
    v.required("seat", m.seat);
    v.required("turn", m.turn);
    v.required("lines", m.lines);
    v.optional("seed", m.seed);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::EnvironmentMessage>) {
    v.required("id", m.id);
    v.required("match", m.match);
    v.optional("body", m.body);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Close>) {
    v.required("match", m.match);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Create>) {
    v.required("id", m.id);
    v.required("instance", m.instance);
    v.required("agent", m.agent);
    v.optional("parameters", m.parameters);
    v.optional("seed", m.seed);
    v.optional("state", m.state);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Init>) {
    v.required("match", m.match);
    v.required("seat", m.seat);
    v.required("instance", m.instance);
    v.required("spec", m.spec);
    v.optional("lookahead", m.lookahead);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Decision>) {
    v.required("episode", m.episode);
    v.required("seat", m.seat);
    v.required("turn", m.turn);
    if (m.first) {
        v.required("match", m.match);
        v.required("seed", m.seed);
        v.optional("mode", m.mode);
    }
    v.optional("reward", m.reward);
    v.payload("observation", m.observation, m.unreadable);
    v.optional("legal", m.legal);
    v.payload("afterstates", m.afterstates, m.unreadable);
    v.optional("text", m.text);
    v.payload("scene", m.scene, m.unreadable);
    v.optional("clock", m.clock);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Action>) {
    v.required("episode", m.episode);
    v.required("turn", m.turn);
    v.required("seat", m.seat);
    v.optional("action", m.action);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::End>) {
    v.required("episode", m.episode);
    v.required("seat", m.seat);
    v.optional("match", m.match);
    v.optional("reward", m.reward);
    v.payload("observation", m.observation, m.unreadable);
    v.optional("outcome", m.outcome);
    v.optional("reason", m.reason);
    v.optional("blame", m.blame);
    v.optional("total", m.total);
    v.optional("decisions", m.decisions);
    v.optional("text", m.text);
    v.payload("scene", m.scene, m.unreadable);
    v.optional("mode", m.mode);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Save>) {
    v.required("id", m.id);
    v.required("instance", m.instance);
    v.optional("keep", m.keep);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Saved>) {
    v.required("id", m.id);
    v.required("state", m.state);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Load>) {
    v.required("id", m.id);
    v.required("instance", m.instance);
    v.optional("state", m.state);
    v.optional("kept", m.kept);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::AgentMessage>) {
    v.required("id", m.id);
    v.required("instance", m.instance);
    v.optional("body", m.body);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Leave>) {
    v.required("match", m.match);
}

template <class V, class M>
void visit(V& v, M& m, Of<messages::Cleanup>) {
    v.required("id", m.id);
    v.required("instance", m.instance);
}

}  // namespace dovetail::fields
