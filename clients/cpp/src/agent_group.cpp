#include "agent_group.hpp"

#include <cmath>
#include <limits>

#include "columns.hpp"

namespace dovetail {

namespace {

/// In a column of actions: an answer that is not an action number, and so not legal.
constexpr std::int64_t kNoNumber = std::numeric_limits<std::int64_t>::min();

std::int64_t number(const Answer& answer) {
    if (answer.question) throw Error("an agent that asks with Lookahead cannot play in a group");
    const auto* const found = std::get_if<std::int64_t>(&answer.action.held());
    return found == nullptr ? kNoNumber : *found;
}

Map map_of(const std::vector<std::pair<std::string, double>>& measures) {
    Map map;
    for (const auto& [name, value] : measures) map[name] = value;
    return map;
}

}  // namespace

bool AgentGroup::takes_columns() {
    if (!opened_) {
        opened_ = true;
        memory_ = agent->open_group(seats, slots_);
    }
    return memory_.has_value();
}

Rows AgentGroup::read(messages::AgentSteps& message) const {
    Rows rows;
    rows.slots = columns::read<std::int32_t>("slots", message.slots);
    const std::size_t count = rows.slots.size();
    rows.seats = columns::read<std::int32_t>("seats", message.seats, count);
    rows.turns = columns::read<std::int32_t>("turns", message.turns, count);
    columns::check_rows("observations", message.observations, count);
    rows.observations = std::move(message.observations);
    std::tie(rows.legal.bits, rows.legal.width) =
        columns::read_wide<std::uint8_t>("legal", message.legal, count);
    rows.rewards.assign(count, 0.0);
    if (!message.rewards.is_nil()) rows.rewards = columns::read<double>("rewards", message.rewards, count);
    rows.starts = columns::read<std::int32_t>("starts", message.starts);
    rows.episodes = columns::read<std::int64_t>("episodes", message.episodes, rows.starts.size());
    rows.seeds = columns::read<std::uint64_t>("seeds", message.seeds, rows.starts.size());
    rows.mode = message.mode;
    rows.clock = message.clock;
    rows.afterstates = std::move(message.afterstates);
    for (const std::int32_t row : rows.starts) {
        if (row < 0 || static_cast<std::size_t>(row) >= count) {
            throw ProtocolError(Code::invalid,
                                "`starts` names row " + std::to_string(row) + " of " + std::to_string(count));
        }
    }
    for (const std::int32_t seat : rows.seats) {
        if (seats.count(seat) == 0) {
            throw ProtocolError(
                Code::invalid, "`seats` has " + std::to_string(seat) + ", which this instance does not hold");
        }
    }
    return rows;
}

messages::Actions AgentGroup::steps(messages::AgentSteps& message) {
    const std::string failed = failure_->take();
    if (!failed.empty()) throw ProtocolError(Code::crashed, failed);
    Rows rows = read(message);
    messages::Actions answer;
    answer.match = message.match;
    answer.instance = message.instance;
    answer.batch = message.batch;
    answer.slots = columns::of(rows.slots);
    answer.seats = columns::of(rows.seats);
    if (!takes_columns()) {
        decide(rows, answer);
        return answer;
    }
    const std::vector<std::int64_t> actions = agent->step_rows(rows, memory_);
    if (actions.size() != rows.slots.size()) {
        throw Error(std::to_string(actions.size()) + " actions for " + std::to_string(rows.slots.size()) +
                    " decisions");
    }
    answer.actions = columns::of(actions);
    return answer;
}

/// Has the agent answer one decision after the other.
void AgentGroup::decide(Rows& rows, messages::Actions& answer) {
    std::vector<bool> first(rows.slots.size());
    for (std::size_t i = 0; i < rows.starts.size(); ++i) {
        const auto row = static_cast<std::size_t>(rows.starts[i]);
        const auto seed = static_cast<std::int64_t>(rows.seeds[i]);
        first[row] = true;
        plays_.insert_or_assign({rows.slots[row], rows.seats[row]},
                                Play{rows.episodes[i], seed, rows.mode, Random(seed)});
    }
    std::vector<std::int64_t> actions(rows.slots.size(), kNoNumber);
    List measures;
    std::size_t after = 0;
    for (std::size_t row = 0; row < rows.slots.size(); ++row) {
        const auto found = plays_.find({rows.slots[row], rows.seats[row]});
        if (found == plays_.end()) {
            throw ProtocolError(Code::invalid, "no episode has begun in slot " +
                                                   std::to_string(rows.slots[row]) + ", seat " +
                                                   std::to_string(rows.seats[row]));
        }
        Play& play = found->second;
        Decision decision(*seats.at(rows.seats[row]), play.random);
        decision.seed = play.seed;
        decision.episode = play.episode;
        decision.turn = rows.turns[row];
        decision.observation = columns::row(rows.observations, row);
        if (!rows.legal.empty()) decision.legal = rows.legal.actions(row);
        decision.reward = rows.rewards[row];
        decision.mode = play.mode;
        decision.clock = rows.clock;
        if (!rows.afterstates.is_nil() && decision.legal) {
            decision.afterstates = columns::part(rows.afterstates, after, decision.legal->size());
            after += decision.legal->size();
        }
        try {
            const Answer given = first[row] ? agent->start(decision) : agent->step(decision);
            actions[row] = number(given);
            if (given.resign) answer.resigns.push_back(static_cast<std::int64_t>(row));
            if (!given.measures.empty()) {
                measures.resize(row, Map());
                measures.push_back(map_of(given.measures));
            }
        } catch (...) {
            messages::Fault fault;
            fault.slot = rows.slots[row];
            fault.seat = rows.seats[row];
            fault.code = name_of(Code::crashed);
            fault.message = hosting::crash(type + " in turn " + std::to_string(rows.turns[row]), told_);
            answer.faults.push_back(std::move(fault));
        }
    }
    answer.actions = columns::of(actions);
    if (measures.empty()) return;
    measures.resize(actions.size(), Map());
    answer.measures = std::move(measures);
}

Ends AgentGroup::read(messages::Ends& message) const {
    Ends ends;
    ends.slots = columns::read<std::int32_t>("slots", message.slots);
    const std::size_t count = ends.slots.size();
    ends.seats = columns::read<std::int32_t>("seats", message.seats, count);
    ends.episodes = columns::read<std::int64_t>("episodes", message.episodes, count);
    ends.rewards = columns::read<double>("rewards", message.rewards, count);
    ends.totals = columns::read<double>("totals", message.totals, count);
    ends.decisions = columns::read<std::int32_t>("decisions", message.decisions, count);
    if (message.reasons.size() != count) throw ProtocolError(Code::invalid, "`reasons` has another length");
    ends.reasons = std::move(message.reasons);
    ends.outcomes = columns::read_wide<double>("outcomes", message.outcomes, count).first;
    if (!message.blames.is_nil()) ends.blames = columns::read<std::int32_t>("blames", message.blames, count);
    columns::check_rows("observations", message.observations, count);
    ends.observations = std::move(message.observations);
    ends.mode = message.mode;
    return ends;
}

void AgentGroup::ends(messages::Ends& message) {
    const Ends found = read(message);
    if (takes_columns()) {
        tell([&] { agent->end_rows(found, memory_); });
        return;
    }
    for (std::size_t row = 0; row < found.slots.size(); ++row) end(found, row);
}

void AgentGroup::end(const Ends& ends, std::size_t row) {
    const Place place{ends.slots[row], ends.seats[row]};
    plays_.erase(place);
    const auto seat = seats.find(place.second);
    if (seat == seats.end()) return;
    End end(*seat->second);
    end.episode = ends.episodes[row];
    end.reward = ends.rewards[row];
    end.observation = columns::row(ends.observations, row);
    const std::size_t width = ends.outcomes.size() / ends.slots.size();
    const auto from = ends.outcomes.begin() + static_cast<std::ptrdiff_t>(row * width);
    std::vector<double> outcome(from, from + static_cast<std::ptrdiff_t>(width));
    if (width != 0 && !std::isnan(outcome[0])) end.outcome = std::move(outcome);
    end.reason = ends.reasons[row];
    if (!ends.blames.empty() && ends.blames[row] >= 0) end.blame = ends.blames[row];
    end.total = ends.totals[row];
    end.decisions = ends.decisions[row];
    end.mode = ends.mode;
    tell([&] { agent->end(end); });
}

template <class Tell>
void AgentGroup::tell(Tell tell) {
    try {
        tell();
    } catch (...) {
        failure_->keep(hosting::crash(type + " at the end of an episode", told_));
    }
}

void AgentGroup::close() {
    const std::map<Place, Play> plays = std::move(plays_);
    for (const auto& [place, play] : plays) {
        const auto seat = seats.find(place.second);
        if (seat == seats.end()) continue;
        End end(*seat->second);
        end.episode = play.episode;
        end.reason = Reason::disconnected;
        end.mode = play.mode;
        tell([&] { agent->end(end); });
    }
    plays_.clear();
}

}  // namespace dovetail
