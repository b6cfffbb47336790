#include <doctest/doctest.h>

#include "dovetail/hosts.hpp"
#include "frames.hpp"

using namespace dovetail;
using frames::said;
using frames::type;

namespace {

/// Counts; an action 9 is illegal, and 8 breaks it.
class Counting : public Environment {
public:
    explicit Counting(int& steps) : steps_(steps) {}
    Spec init() override {
        Spec spec;
        spec.action_spaces = spec.observation_spaces = {spaces::Discrete{10}};
        return spec;
    }
    Turn start(std::int64_t seed) override {
        sum_ = seed;
        return turn();
    }
    Turn step(const Actions& actions) override {
        ++steps_;
        const std::int64_t action = actions.at(0).second.as_int();
        if (action == 9) throw IllegalAction("nine is not legal", 0);
        if (action == 7) throw IllegalAction("");
        if (action == 8) throw std::runtime_error("eight");
        sum_ += action;
        return turn();
    }
    std::string text(std::optional<std::int64_t> seat) override { return seat ? "seat" : "all"; }
    std::unique_ptr<Environment> fork(std::int64_t, std::int64_t) override {
        return std::make_unique<Counting>(*this);
    }

private:
    Turn turn() const {
        Turn turn;
        turn.to_act = {0};
        turn.seats.resize(1);
        turn.seats[0].observation = sum_;
        turn.seats[0].reward = 1;
        return turn;
    }
    int& steps_;
    std::int64_t sum_ = 0;
};

struct Fixture {
    int made = 0;
    int steps = 0;
    EnvironmentHost host{{make()}};
    frames::Talk<EnvironmentHost> say{host};

    EnvironmentType make() {
        EnvironmentType type;
        type.name = "counting";
        type.make = [this](const Map&) {
            ++made;
            return std::make_unique<Counting>(steps);
        };
        return type;
    }
    std::int64_t seq = 0;
    Map numbered(Map message) {
        message["seq"] = ++seq;
        return message;
    }
    Map open() { return numbered({{"type", "open"}, {"match", 3}, {"environment", "counting"}}); }
    Map start(std::int64_t episode) {
        return numbered(
            {{"type", "start"}, {"match", 3}, {"episode", episode}, {"seed", 100}, {"watched", true}});
    }
    Map step(std::int64_t turn, std::int64_t action) {
        return numbered({{"type", "step"}, {"episode", 4}, {"turn", turn}, {"actions", List{List{0, action}}}});
    }
};

Value seen(const Frame& turn) {
    return said(turn).at("seats").as_list().at(0).as_map().at("observation");
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a repeated frame gets the same answer") {
    const Map opening = open();
    const Frame spec = say.one(opening);
    CHECK(say.one(opening) == spec);
    CHECK(made == 1);
    const Map beginning = start(4);
    const Frame first = say.one(beginning);
    CHECK(said(first).at("text") == Value("all"));
    CHECK(say.one(beginning) == first);
    const Map going = step(0, 2);
    const Frame second = say.one(going);
    CHECK(seen(second) == Value(102));
    CHECK(say.one(going) == second);
    CHECK(steps == 1);
    CHECK(say(beginning).empty());
    CHECK(said(say.one(step(5, 1))).at("code") == Value("unknown"));
    say.one(step(1, 1));
    CHECK(say(going).empty());
    CHECK(steps == 2);
}

TEST_CASE_FIXTURE(Fixture, "an illegal action leaves the episode as before, a crash is reported") {
    say.one(open());
    say.one(start(4));
    const Map illegal = step(0, 9);
    const Frame refused = say.one(illegal);
    CHECK(said(refused).at("answers") == Value(seq));
    CHECK(said(refused).at("code") == Value("illegal"));
    CHECK(said(refused).at("seat") == Value(0));
    CHECK(say.one(illegal) == refused);
    CHECK(steps == 1);
    say.one(start(5));
    Map crash = step(0, 8);
    crash["episode"] = 5;
    CHECK(said(say.one(crash)).at("code") == Value("crashed"));
    CHECK(seen(say.one(start(6))) == Value(100));
    CHECK(said(say.one(numbered({{"type", "start"}, {"match", 77}, {"episode", 9}, {"seed", 1}}))).at("code") ==
          Value("unknown"));
}

TEST_CASE_FIXTURE(Fixture, "a lost session closes the matches") {
    const Map welcome{{"type", "welcome"}, {"session", "s"}, {"name", "n"}};
    say.one(open());
    say.one(start(4));
    Map resumed = welcome;
    resumed["resumed"] = true;
    say(resumed);
    const Map going = step(0, 1);
    CHECK(say.one(going) == say.one(going));
    say(welcome);
    seq = 0;
    CHECK(said(say.one(step(1, 1))).at("code") == Value("unknown"));
    say.one(open());
    CHECK(made == 2);
}

TEST_CASE_FIXTURE(Fixture, "lookahead plays on copies") {
    say.one(open());
    say.one(start(4));
    const auto one = [](std::int64_t action) { return List{action}; };
    const Map question{{"type", "lookahead"},
                       {"seq", ++seq},
                       {"id", 6},
                       {"episode", 4},
                       {"seat", 0},
                       {"turn", 0},
                       {"lines", List{List{one(1), one(2)}, List{one(1), one(9)}, List{one(7), one(1)}}}};
    const List found = said(say.one(question)).at("body").as_list();
    REQUIRE(found.size() == 3);
    CHECK(found[0].as_map().at("applied") == Value(2));
    CHECK(found[0].as_map().at("rewards") == Value(List{2.0}));
    CHECK(found[1].as_map().at("applied") == Value(1));
    CHECK(found[1].as_map().at("error") == Value("nine is not legal"));
    CHECK(found[2].as_map().find("applied") == nullptr);  // the line ended at its first entry
    CHECK(seen(say.one(step(0, 0))) == Value(100));
}
