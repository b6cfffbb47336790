// The conformer of docs/reference/conformer.md.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <dovetail/dovetail.hpp>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "dovetail/codec.hpp"
#include "reading.hpp"

using namespace dovetail;

namespace {

/// Counts what it hears.
class Counter : public Agent {
public:
    Counter(const Map& parameters, std::int64_t) : refuse_(parameters.at("refuse").as_bool()) {}

    void init(const Seat& seat) override {
        if (refuse_) throw Error("the conformer was told to refuse");
        spec_ = seat.spec;
    }

    Answer step(const Decision& decision) override {
        if (decision.observation == Value("crash")) throw std::runtime_error("told to crash");
        if (decision.mode == Mode::learn) {
            ++decisions_;
            reward_ += decision.reward;
        }
        last_ = {{"clock", Value()},
                 {"text", Value()},
                 {"mode", name_of(decision.mode)},
                 {"seed", decision.seed},
                 {"afterstates", decision.afterstates},
                 {"scene", decision.scene}};
        if (decision.text) last_["text"] = *decision.text;
        if (const auto& clock = decision.clock) {
            last_["clock"] = Map{{"decision", number(clock->decision)},
                                 {"left", number(clock->left)},
                                 {"last", number(clock->last)}};
        }
        if (decision.observation == Value("resign")) {
            Answer answer = Resign();
            answer.measures.emplace_back("regret", 0.5);
            return answer;
        }
        if (decision.legal) {
            Answer answer = *std::max_element(decision.legal->begin(), decision.legal->end());
            answer.thoughts.emplace();  // sent only if they are asked for
            answer.thoughts->values.assign(decision.legal->begin(), decision.legal->end());
            answer.thoughts->text = "turn " + std::to_string(decision.turn);
            return answer;
        }
        if (decision.observation.is_map()) {
            if (const Value* lines = decision.observation.as_map().find("look")) return look(*lines);
        }
        return decision.observation;
    }

    void end(const End& end) override {
        if (end.mode != Mode::learn) return;
        ++ends_;
        reward_ += end.reward;
    }

    Value message(const Value& body) override {
        if (body == Value("crash")) throw std::runtime_error("told to crash");
        if (body == Value("counters")) {
            return Map{{"decisions", decisions_}, {"ends", ends_}, {"reward", reward_}};
        }
        if (body == Value("last")) return last_;
        if (body == Value("spec")) {
            List observation, action;
            for (const Space& space : spec_.observation_spaces) observation.push_back(space.value());
            for (const Space& space : spec_.action_spaces) action.push_back(space.value());
            return Map{{"observation_spaces", std::move(observation)}, {"action_spaces", std::move(action)}};
        }
        return body;
    }

    Bytes save() override {
        std::ostringstream out;
        out.precision(17);
        out << decisions_ << ' ' << ends_ << ' ' << reward_;
        const std::string text = out.str();
        return Bytes(text.begin(), text.end());
    }

    void load(const Bytes& state) override {
        std::istringstream in(std::string(state.begin(), state.end()));
        std::int64_t decisions = 0, ends = 0;
        double reward = 0;
        std::string rest;
        if (!(in >> decisions >> ends >> reward) || in >> rest) {
            throw Error("these bytes are not a saved conformer");
        }
        decisions_ = decisions;
        ends_ = ends;
        reward_ = reward;
    }

private:
    static Answer look(const Value& lines) {
        Lookahead question;
        for (const Value& line : lines.as_list()) {
            auto& entries = question.lines.emplace_back();
            for (const Value& entry : line.as_list()) entries.push_back(entry.as_list());
        }
        question.then = [](const std::vector<Preview>& previews) -> Answer {
            List rewards;
            for (const Preview& each : previews) {
                rewards.emplace_back(List(each.rewards.begin(), each.rewards.end()));
            }
            return rewards;
        };
        question.refused = [](const std::string&) -> Answer { return "refused"; };
        return question;
    }

    static Value number(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

    bool refuse_;
    std::int64_t decisions_ = 0;
    std::int64_t ends_ = 0;
    double reward_ = 0;
    Spec spec_;
    Map last_;
};

/// Counts turns.
class Game : public Environment {
public:
    explicit Game(const Map& given)
        : seats_(given.at("seats").as_int()),
          turns_(given.at("turns").as_int()),
          simultaneous_(given.at("simultaneous").as_bool()),
          mask_(given.at("mask").as_bool()),
          space_(Space::from(given.at("space"))),
          observation_(given.at("observation")),
          truncate_(given.at("truncate").as_bool()),
          fail_(given.at("fail").as_text()) {}

    Spec init() override {
        fail("open");
        Spec spec;
        spec.seats = seats_;
        spec.observation_spaces = {space_};
        spec.action_spaces = {space_};
        spec.reward_range = {0.0, 1.0};
        spec.max_turns = turns_;
        spec.afterstates = true;
        return spec;
    }

    Turn start(std::int64_t seed) override {
        fail("start");
        turn_ = 0;
        const Value seen = observation_ == Value("seed") ? Value(seed) : observation_;
        Turn turn;
        turn.to_act = to_act();
        for (const std::int64_t seat : turn.to_act) turn.seats.push_back(view(seat, seen));
        return turn;
    }

    Turn step(const Actions& actions) override {
        fail("step");
        List seen;
        for (const auto& [seat, action] : actions) {
            if (action == Value(-1)) throw IllegalAction("-1 is never legal", seat);
            seen.push_back(List{seat, action});
        }
        const std::vector<std::int64_t> acted = to_act();
        const bool over = ++turn_ >= turns_;
        Turn turn;
        std::vector<double> outcome;
        for (std::int64_t seat = 0; seat < seats_; ++seat) {
            const bool did = std::find(acted.begin(), acted.end(), seat) != acted.end();
            View each = view(seat, seen);
            each.reward = did ? 1.0 : 0.0;
            if (over) each.legal = std::monostate();
            turn.seats.push_back(std::move(each));
            outcome.push_back(did ? 1.0 / static_cast<double>(acted.size()) : 0.0);
        }
        turn.terminated = over && !truncate_;
        turn.truncated = over && truncate_;
        if (turn.terminated) turn.outcome = std::move(outcome);
        if (!over) turn.to_act = to_act();
        return turn;
    }

    std::string text(std::optional<std::int64_t>) override { return "turn " + std::to_string(turn_); }

    Value scene(std::optional<std::int64_t> seat) override {
        return Map{{"width", 1.0}, {"height", 1.0}, {"caption", text(seat)}};
    }

    Value afterstates(std::int64_t) override {
        const auto* discrete = space_.as<spaces::Discrete>();
        if (discrete == nullptr) return {};
        List rows;
        for (std::int64_t i = 0; i < discrete->n; ++i) {
            List row;
            row.push_back(turn_ + 1);
            row.push_back(discrete->start + i);
            rows.push_back(std::move(row));
        }
        return rows;
    }

    std::unique_ptr<Environment> fork(std::int64_t, std::int64_t) override {
        return std::make_unique<Game>(*this);
    }

    Value message(const Value& body) override {
        if (body == Value("crash")) throw std::runtime_error("told to crash");
        return body;
    }

private:
    void fail(const char* where) const {
        if (fail_ == where) throw std::runtime_error(std::string("told to fail in ") + where);
    }

    std::vector<std::int64_t> to_act() const {
        if (!simultaneous_) return {turn_ % seats_};
        std::vector<std::int64_t> all;
        for (std::int64_t seat = 0; seat < seats_; ++seat) all.push_back(seat);
        return all;
    }

    View view(std::int64_t seat, const Value& seen) const {
        View view;
        view.seat = seat;
        view.observation = seen;
        if (const auto* discrete = space_.as<spaces::Discrete>()) {
            std::vector<std::int64_t> all;
            for (std::int64_t i = 0; i < discrete->n; ++i) all.push_back(discrete->start + i);
            if (mask_) {
                view.legal = mask(all, static_cast<std::size_t>(discrete->start + discrete->n));
            } else {
                view.legal = std::move(all);
            }
        }
        return view;
    }

    std::int64_t seats_;
    std::int64_t turns_;
    bool simultaneous_;
    bool mask_;
    Space space_;
    Value observation_;
    bool truncate_;
    std::string fail_;
    std::int64_t turn_ = 0;
};

void write(const char* key, const Value& value) {
    reading::Json line = reading::Json::object();
    line[key] = reading::of(value);
    std::cout << line.dump() << std::endl;
}

std::pair<std::string, Value> told(const Event& event) {
    return std::visit(
        [](const auto& message) {
            Value value = codec::to_value(message);
            std::get<Map>(value.held()).erase("type");
            return std::make_pair(std::string(std::decay_t<decltype(message)>::type), std::move(value));
        },
        event);
}

int experiment() {
    Experiment experiment;
    std::deque<Event> events;
    experiment.listen([&](const Event& event) { events.push_back(event); });
    write("welcome", experiment.name());
    std::string line;
    while (std::getline(std::cin, line)) {
        if (line.empty()) continue;
        Map command = reading::to_value(reading::Json::parse(line)).as_map();
        const std::string type = command.at("type").as_text();
        try {
            if (type != "wait") {
                const Value body = experiment.request(command);
                write(type == "save" ? "saved" : "reply", body);
                continue;
            }
            for (std::string kind; kind != command.at("for").as_text();) {
                while (events.empty()) experiment.poll(0.5);
                const auto event = told(events.front());
                events.pop_front();
                kind = event.first;
                write(kind.c_str(), event.second);
            }
        } catch (const Refused& refused) {
            write("error", Map{{"code", refused.code}, {"message", refused.what()}});
        } catch (const Lost& lost) {
            write("lost", lost.what());
            return 1;
        }
    }
    return 0;
}

AgentType agent_type() {
    AgentType type = agent<Counter>("conformer", "Counts what it hears.");
    type.parameters = {{"refuse", false, "whether it refuses to take a seat"}};
    type.wants = {Want::afterstates, Want::text, Want::scene};
    type.capacity = 0;
    return type;
}

EnvironmentType environment_type() {
    EnvironmentType type = environment<Game>("conformer", "Counts turns.");
    Option observation{"observation", 0, "what seats observe in turn 0"};
    observation.any = true;
    type.configuration = {{"seats", 2, "how many", 1},
                          {"turns", 3, "how many turns are answered before the episode is over", 1},
                          {"simultaneous", false, "whether all seats act in each turn"},
                          {"mask", false, "whether legal actions are sent as a bit mask"},
                          {"space", Map{{"space", "Discrete"}, {"n", 3}}, "of observations and actions"},
                          observation,
                          {"truncate", false, "whether the last turn is truncated"},
                          {"fail", "", "where it fails", {}, {}, {"", "open", "start", "step"}}};
    return type;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string role = count > 1 ? arguments[1] : "";
    Serve how;
    how.quiet = true;
    if (role == "agent") return serve_main(agent_type(), how);
    if (role == "environment") return serve_main(environment_type(), how);
    if (role != "experiment") {
        std::fputs("usage: conformer agent|environment|experiment\n", stderr);
        return 2;
    }
    int status = 0;
    const int failed = run_program([&] { status = experiment(); });
    return failed != 0 ? failed : status;
}
