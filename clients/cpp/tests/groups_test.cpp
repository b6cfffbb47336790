#include <doctest/doctest.h>

#include <cmath>

#include "dovetail/hosts.hpp"
#include "dovetail/names.hpp"
#include "frames.hpp"

using namespace dovetail;
using frames::said;

namespace {

template <class T>
Value column(std::vector<T> values) {
    return Tensor::of<T>({values.size()}, values);
}
Value i4(std::vector<std::int32_t> values) {
    return column(std::move(values));
}
Value i8(std::vector<std::int64_t> values) {
    return column(std::move(values));
}
Value u8(std::vector<std::uint64_t> values) {
    return column(std::move(values));
}
Value masks(std::vector<std::uint8_t> values) {
    return Tensor::of<std::uint8_t>({values.size(), 1}, values);
}

/// Two seats add up to three; seat 1 may do anything. Action 0 is refused, and action 1 breaks the rules.
class Adding : public Environment {
public:
    Spec init() override {
        Spec spec;
        spec.seats = 2;
        spec.action_spaces = spec.observation_spaces = {spaces::Discrete{5}};
        return spec;
    }
    Turn start(std::int64_t seed) override {
        if (seed == 13) throw std::runtime_error("thirteen");
        sum_ = seed;
        turns_ = 0;
        return turn();
    }
    Turn step(const Actions& actions) override {
        const std::int64_t action = actions.at(0).second.as_int();
        if (action == 0) throw IllegalAction("zero is not legal", turns_ % 2);
        if (action == 1) throw std::runtime_error("one");
        sum_ += action;
        ++turns_;
        return turn();
    }
    Value afterstates(std::int64_t seat) override {
        std::vector<std::int64_t> sums;
        for (std::int64_t action = seat == 0 ? 1 : 0; action < 5; ++action) sums.push_back(sum_ + action);
        return column(sums);
    }

private:
    Turn turn() const {
        Turn turn;
        if (turns_ == 3) {
            turn.seats.resize(2);
            turn.seats[1].seat = 1;
            turn.seats[0].observation = sum_;
            turn.seats[1].reward = 0.5;
            turn.truncated = sum_ % 2 == 1;
            turn.terminated = !turn.truncated;
            if (turn.terminated) turn.outcome = {1.0, 0.0};
            return turn;
        }
        turn.to_act = {turns_ % 2};
        turn.seats.resize(1);
        turn.seats[0].seat = turns_ % 2;
        turn.seats[0].observation = Tensor::of<std::int64_t>({2}, {sum_, turns_});
        if (turns_ % 2 == 0) turn.seats[0].legal = std::vector<std::int64_t>{1, 2, 3, 4};
        return turn;
    }
    std::int64_t sum_ = 0;
    std::int64_t turns_ = 0;
};

struct Played {
    std::vector<std::string> failures;
    EnvironmentHost host{{environment<Adding>("adding")}};
    frames::Talk<EnvironmentHost> say{host};
    std::int64_t seq = 0;

    Played() {
        host.failed = [this](const std::string& line) { failures.push_back(line); };
    }
    Map open(bool afterstates = false) {
        const Map message{{"type", "open"},          {"match", 3}, {"seq", ++seq},
                          {"environment", "adding"}, {"slots", 3}, {"afterstates", afterstates}};
        return said(say.one(message));
    }
    Map steps(std::int64_t batch, Map columns) {
        Map message{{"type", "steps"}, {"match", 3}, {"seq", ++seq}, {"batch", batch}};
        for (const auto& [name, value] : columns) message[name] = value;
        return said(say.one(message));
    }
    Map begin(std::vector<std::uint64_t> seeds) {
        std::vector<std::int32_t> slots;
        std::vector<std::int64_t> episodes;
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            slots.push_back(static_cast<std::int32_t>(i));
            episodes.push_back(100 + static_cast<std::int64_t>(i));
        }
        return steps(0, {{"restarts", i4(slots)}, {"episodes", i8(episodes)}, {"seeds", u8(seeds)}});
    }
    Map act(std::int64_t batch, std::vector<std::int32_t> slots, std::int32_t seat,
            std::vector<std::int64_t> actions) {
        const std::vector<std::int32_t> seats(slots.size(), seat);
        return steps(batch, {{"slots", i4(slots)}, {"seats", i4(seats)}, {"actions", i8(actions)}});
    }
};

}  // namespace

TEST_CASE_FIXTURE(Played, "a group plays a copy in each slot") {
    CHECK(open().at("type") == Value("spec"));
    Map turns = begin({10, 20, 30});
    CHECK(turns.at("slots") == i4({0, 1, 2}));
    CHECK(turns.at("rows") == i4({0, 1, 2}));
    CHECK(turns.at("seats") == i4({0, 0, 0}));
    CHECK(turns.at("legal") == masks({30, 30, 30}));
    CHECK(turns.at("observations") == Value(Tensor::of<std::int64_t>({3, 2}, {10, 0, 20, 0, 30, 0})));
    CHECK(turns.find("over") == nullptr);
    CHECK(turns.find("rewards") == nullptr);
    turns = act(1, {0, 2}, 0, {2, 3});
    CHECK(turns.at("slots") == i4({0, 2}));
    CHECK(turns.at("seats") == i4({1, 1}));
    CHECK(turns.find("legal") == nullptr);
    act(2, {0, 2}, 1, {2, 2});
    turns = act(3, {0, 2}, 0, {2, 2});
    CHECK(turns.at("over") == column<std::uint8_t>({1, 2}));
    CHECK(turns.find("rows") == nullptr);
    CHECK(turns.at("rewards") == Value(Tensor::of<double>({2, 2}, {0, 0.5, 0, 0.5})));
    CHECK(turns.at("finals") == Value(List{List{16, nullptr}, List{37, nullptr}}));
    const Tensor& outcomes = turns.at("outcomes").as_tensor();
    CHECK(outcomes.shape() == std::vector<std::size_t>{2, 2});
    CHECK(outcomes.number(0) == 1.0);
    CHECK(std::isnan(outcomes.number(2)));
    CHECK(failures.empty());
}

TEST_CASE_FIXTURE(Played, "what fails in a slot ends it alone, in the words of single matches") {
    open();
    Map turns = begin({10, 13, 30});
    CHECK(turns.at("over") == column<std::uint8_t>({0, 3, 0}));
    CHECK(turns.at("rows") == i4({0, 2}));
    const auto fault = [&](std::size_t i) { return turns.at("faults").as_list().at(i).as_map(); };
    CHECK(fault(0).at("slot") == Value(1));
    CHECK(fault(0).at("message") == Value("adding in start threw std::runtime_error: thirteen"));
    turns = act(1, {0, 2}, 0, {0, 1});
    CHECK(fault(0).at("code") == Value("illegal"));
    CHECK(fault(0).at("message") == Value("zero is not legal"));
    CHECK(fault(0).at("seat") == Value(0));
    CHECK(fault(1).at("code") == Value("crashed"));
    CHECK(fault(1).at("message") == Value("adding in turn 0 threw std::runtime_error: one"));
    CHECK(failures.size() == 2);
}

TEST_CASE_FIXTURE(Played, "afterstates come row by row, and masks have all bits where others are limited") {
    open(true);
    begin({0, 100});
    act(1, {1}, 0, {4});
    const Map turns = steps(2, {{"slots", i4({1})},
                                {"seats", i4({1})},
                                {"actions", i8({2})},
                                {"restarts", i4({0, 2})},
                                {"episodes", i8({200, 201})},
                                {"seeds", u8({0, 7})}});
    CHECK(turns.at("seats") == i4({0, 0, 0}));
    CHECK(turns.at("afterstates") == i8({1, 2, 3, 4, 107, 108, 109, 110, 8, 9, 10, 11}));
    const Map mixed = steps(3, {{"slots", i4({0})},
                                {"seats", i4({0})},
                                {"actions", i8({2})},
                                {"restarts", i4({1})},
                                {"episodes", i8({300})},
                                {"seeds", u8({1})}});
    CHECK(mixed.at("legal") == masks({31, 30}));
}

TEST_CASE_FIXTURE(Played,
                  "a batch that contradicts itself is refused, and one that comes again is not played") {
    open();
    CHECK(begin({1, 2, 3, 4}).at("code") == Value("invalid"));
    begin({10, 20, 30});
    const auto refused = [&](Map columns) {
        return steps(1, std::move(columns)).at("code") == Value("invalid");
    };
    CHECK(refused({{"slots", i4({0})}, {"seats", i4({0, 0})}, {"actions", i8({2})}}));
    CHECK(refused({{"slots", i8({0})}, {"seats", i4({0})}, {"actions", i8({2})}}));
    CHECK(refused({{"slots", "0"}, {"seats", i4({0})}, {"actions", i8({2})}}));
    CHECK(refused({{"slots", i4({0})},
                   {"seats", i4({0})},
                   {"actions", i8({2})},
                   {"restarts", i4({0})},
                   {"episodes", i8({5})},
                   {"seeds", u8({5})}}));
    const Map first = act(1, {0}, 0, {2});
    --seq;
    CHECK(act(1, {0}, 0, {2}) == first);
    CHECK(act(2, {0}, 1, {2}).at("observations") == Value(Tensor::of<std::int64_t>({1, 2}, {14, 2})));
    Map message{{"type", "steps"}, {"match", 77}, {"seq", ++seq}, {"batch", 0}};
    CHECK(said(say.one(message)).at("code") == Value("unknown"));
    CHECK(say({{"type", "close"}, {"match", 3}, {"seq", ++seq}}).empty());
    CHECK(act(3, {0}, 0, {2}).at("code") == Value("unknown"));
}

namespace {

/// The calls that an agent received.
struct Heard {
    std::vector<std::string> lines;
    int batches = 0;
};

/// Plays at random; with `columns` it takes all rows at once.
class Player : public Agent {
public:
    Player(Heard& heard, bool columns) : heard_(heard), columns_(columns) {}

    Answer step(const Decision& decision) override {
        if (decision.observation == Value(99)) throw std::runtime_error("told to crash");
        if (decision.observation == Value(98)) return "no number";
        heard_.lines.push_back(std::to_string(decision.episode) + "/" + std::to_string(decision.turn) + " " +
                               std::to_string(decision.reward));
        return decision.random_action();
    }
    void end(const End& end) override {
        heard_.lines.push_back(std::to_string(end.episode) + " " + name_of(end.reason) + " " +
                               (end.outcome ? std::to_string(end.outcome->at(0)) : "-") + " " +
                               std::to_string(end.blame.value_or(-1)));
        if (end.observation == Value(99)) throw std::runtime_error("told to crash");
    }
    void load(const Bytes&) override {}

    std::any open_group(const Seats& seats, std::size_t slots) override {
        CHECK(seats.size() == 1);
        if (!columns_) return {};
        return std::vector<Random>(slots);
    }
    std::vector<std::int64_t> step_rows(const Rows& rows, std::any& memory) override {
        ++heard_.batches;
        auto& random = std::any_cast<std::vector<Random>&>(memory);
        for (std::size_t i = 0; i < rows.starts.size(); ++i) {
            const std::int32_t slot = rows.slots[static_cast<std::size_t>(rows.starts[i])];
            random[static_cast<std::size_t>(slot)] = Random(static_cast<std::int64_t>(rows.seeds[i]));
        }
        std::vector<std::int64_t> actions;
        for (std::size_t row = 0; row < rows.slots.size(); ++row) {
            actions.push_back(
                random[static_cast<std::size_t>(rows.slots[row])].pick(rows.legal.actions(row)));
        }
        return actions;
    }
    void end_rows(const Ends& ends, std::any&) override {
        heard_.batches += 10 * static_cast<int>(ends.slots.size());
        if (!ends.observations.is_nil()) throw std::runtime_error("told to crash");
    }

private:
    Heard& heard_;
    bool columns_;
};

struct Seated {
    Heard heard;
    AgentHost host{{make("rows", false), make("columns", true)}};
    frames::Talk<AgentHost> say{host};
    std::int64_t seq = 0;

    AgentType make(const std::string& name, bool columns) {
        AgentType type;
        type.name = name;
        type.make = [this, columns](const Map&, std::int64_t) {
            return std::make_unique<Player>(heard, columns);
        };
        return type;
    }
    void sit(const char* name) {
        say.one({{"type", "create"}, {"seq", ++seq}, {"id", 1}, {"instance", 5}, {"agent", name}});
        const List spaces{Map{{"space", "Discrete"}, {"n", 7}}};
        const Map spec{{"seats", 2}, {"observation_spaces", spaces}, {"action_spaces", spaces}};
        CHECK(say({{"type", "init"},
                   {"seq", ++seq},
                   {"match", 2},
                   {"seat", 1},
                   {"instance", 5},
                   {"slots", 3},
                   {"spec", spec}})
                  .empty());
    }
    Map steps(std::int64_t batch, std::vector<std::int32_t> slots, Map more = {}) {
        const std::vector<std::int32_t> seats(slots.size(), 1);
        const std::vector<std::int32_t> turns(slots.size(), static_cast<std::int32_t>(batch));
        Map message{{"type", "steps"},
                    {"seq", ++seq},
                    {"match", 2},
                    {"instance", 5},
                    {"batch", batch},
                    {"slots", i4(slots)},
                    {"seats", i4(seats)},
                    {"turns", i4(turns)},
                    {"legal", masks(std::vector<std::uint8_t>(slots.size(), 0x7f))}};
        for (const auto& [name, value] : more) message[name] = value;
        return said(say.one(message));
    }
    Map begin(Value observations = {}) {
        return steps(0, {0, 2},
                     {{"starts", i4({0, 1})},
                      {"episodes", i8({40, 41})},
                      {"seeds", u8({9, 10})},
                      {"observations", std::move(observations)}});
    }
    Map ends() {
        return {{"type", "ends"},
                {"seq", ++seq},
                {"match", 2},
                {"instance", 5},
                {"slots", i4({0, 1})},
                {"seats", i4({1, 1})},
                {"episodes", i8({40, 60})},
                {"rewards", column<double>({0, 1})},
                {"totals", column<double>({0.5, 1})},
                {"decisions", i4({2, 0})},
                {"reasons", List{"terminated", "truncated"}},
                {"outcomes", Tensor::of<double>({2, 2}, {0.5, 0.5, NAN, NAN})},
                {"blames", i4({-1, 0})}};
    }
};

/// The actions of a player of single matches with the seeds of `begin`.
Value drawn(int before) {
    std::vector<std::int64_t> actions;
    for (const std::int64_t seed : {9, 10}) {
        Random random(seed);
        for (int i = 0; i < before; ++i) random.below(7);
        actions.push_back(static_cast<std::int64_t>(random.below(7)));
    }
    return i8(actions);
}

}  // namespace

TEST_CASE_FIXTURE(Seated, "rows reach an agent as single decisions") {
    sit("rows");
    Map actions = begin();
    CHECK(actions.at("slots") == i4({0, 2}));
    CHECK(actions.at("seats") == i4({1, 1}));
    CHECK(actions.at("actions") == drawn(0));
    actions = steps(1, {0, 2}, {{"rewards", column<double>({0.25, 0})}});
    CHECK(actions.at("actions") == drawn(1));
    --seq;
    CHECK(steps(1, {0, 2}) == actions);
    CHECK(say(ends()).empty());
    CHECK(heard.lines == std::vector<std::string>{"40/0 0.000000", "41/0 0.000000", "40/1 0.250000",
                                                  "41/1 0.000000", "40 terminated 0.500000 -1",
                                                  "60 truncated - 0"});
    say({{"type", "welcome"}, {"session", "t"}, {"name", "n"}});
    CHECK(heard.lines.back() == "41 disconnected - -1");
}

TEST_CASE_FIXTURE(Seated, "rows reach an agent that takes columns with one call") {
    sit("columns");
    CHECK(begin().at("actions") == drawn(0));
    CHECK(steps(1, {0, 2}).at("actions") == drawn(1));
    CHECK(say(ends()).empty());
    CHECK(heard.batches == 22);
    CHECK(heard.lines.empty());
    say.one({{"type", "load"}, {"seq", ++seq}, {"id", 2}, {"instance", 5}, {"state", Bytes{}}});
    CHECK(begin().at("actions") == drawn(0));
}

TEST_CASE_FIXTURE(Seated, "the next batch tells of ends that failed") {
    for (const char* name : {"rows", "columns"}) {
        CAPTURE(name);
        say({{"type", "welcome"}, {"session", name}, {"name", "n"}});
        seq = 0;
        sit(name);
        begin();
        Map failing = ends();
        failing["observations"] = List{99, 99};
        CHECK(say(failing).empty());
        const Map told = begin();
        CHECK(told.at("code") == Value("crashed"));
        CHECK(told.at("message") ==
              Value(name + std::string(" at the end of an episode threw std::runtime_error: told to crash")));
        CHECK(begin().at("actions") == drawn(0));
    }
}

TEST_CASE_FIXTURE(Seated,
                  "a decision that fails is a fault, and an answer that is no action number is not legal") {
    sit("rows");
    const Map actions = begin(List{99, 98});
    REQUIRE(actions.at("faults").as_list().size() == 1);
    const Map fault = actions.at("faults").as_list()[0].as_map();
    CHECK(fault.at("slot") == Value(0));
    CHECK(fault.at("message") == Value("rows in turn 0 threw std::runtime_error: told to crash"));
    CHECK(actions.at("actions") == i8({INT64_MIN, INT64_MIN}));
    CHECK(steps(1, {1}).at("code") == Value("invalid"));
    CHECK(steps(1, {2}, {{"observations", List{0, 0}}}).at("code") == Value("invalid"));
    CHECK(steps(1, {2}, {{"seats", i4({0})}}).at("code") == Value("invalid"));
    CHECK(steps(1, {2}, {{"match", 8}}).at("code") == Value("unknown"));
    say({{"type", "leave"}, {"seq", ++seq}, {"match", 2}});
    CHECK(steps(1, {2}).at("code") == Value("unknown"));
}
