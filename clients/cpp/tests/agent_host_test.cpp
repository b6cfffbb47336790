#include <doctest/doctest.h>

#include "dovetail/hosts.hpp"
#include "frames.hpp"

using namespace dovetail;
using frames::said;
using frames::type;

namespace {

/// The calls that all agents of a test received.
struct Heard {
    int decisions = 0;
    int messages = 0;
    int cleanups = 0;
    std::vector<Reason> ends;
};

class Tester : public Agent {
public:
    explicit Tester(Heard& heard) : heard_(heard) {}
    Answer step(const Decision& decision) override {
        ++heard_.decisions;
        if (decision.observation == Value("crash")) throw std::runtime_error("told\nto crash");
        if (decision.observation == Value("bad")) return std::string("\xFF");
        if (decision.observation == Value("large")) return std::string(1000, 'x');
        if (decision.observation == Value("ask")) {
            Lookahead question;
            question.lines = {{{Value(0)}}, {{Value(1)}}};
            question.then = [](const std::vector<Preview>& positions) -> Answer {
                return positions.at(1).rewards.at(0) > positions.at(0).rewards.at(0) ? 1 : 0;
            };
            return question;
        }
        return decision.random_action();
    }
    void end(const End& end) override {
        heard_.ends.push_back(end.reason);
        if (end.observation == Value("crash")) throw std::runtime_error("told to crash");
    }
    Value message(const Value&) override { return ++heard_.messages; }
    Bytes save() override { return Bytes(1000); }
    void load(const Bytes&) override {}
    void cleanup() override { ++heard_.cleanups; }

private:
    Heard& heard_;
};

struct Fixture {
    Heard heard;
    AgentHost host{{make()}};
    frames::Talk<AgentHost> say{host};

    AgentType make() {
        AgentType type;
        type.name = "tester";
        type.make = [this](const Map&, std::int64_t) { return std::make_unique<Tester>(heard); };
        return type;
    }
    /// Numbers a frame; the last number again if `again`.
    Map numbered(Map message, bool again = false) {
        message["seq"] = again ? seq : ++seq;
        return message;
    }
    std::int64_t seq = 0;

    void welcome(bool resumed) {
        if (!resumed) seq = 0;
        say({{"type", "welcome"}, {"session", "s"}, {"name", "n"}, {"resumed", resumed}});
    }
    Fixture() {
        welcome(false);
        say.one(numbered({{"type", "create"}, {"id", 1}, {"instance", 5}, {"agent", "tester"}}));
        init();
    }
    void init() {
        const List spaces{Map{{"space", "Discrete"}, {"n", 3}}};
        CHECK(say(numbered({{"type", "init"},
                            {"match", 2},
                            {"seat", 0},
                            {"instance", 5},
                            {"spec", Map{{"observation_spaces", spaces}, {"action_spaces", spaces}}}}))
                  .empty());
    }
    Map start(std::int64_t episode, Value observation = 0) {
        return numbered({{"type", "start"},     {"episode", episode},
                {"match", 2},          {"seat", 0},
                {"turn", 0},           {"seed", 9},
                {"legal", List{1, 2}}, {"observation", std::move(observation)}});
    }
    Map step(std::int64_t episode, std::int64_t turn, Value observation = 0) {
        return numbered({{"type", "step"},
                         {"episode", episode},
                         {"seat", 0},
                         {"turn", turn},
                         {"observation", std::move(observation)}});
    }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a repeated decision gets the same action and is not decided again") {
    const Map decision = start(7);
    const Frame first = say.one(decision);
    CHECK(type(first) == "action");
    CHECK(say.one(decision) == first);
    CHECK(heard.decisions == 1);
    const Map later = step(7, 3);
    const Frame second = say.one(later);
    CHECK(say.one(later) == second);
    CHECK(say(decision).empty());
    CHECK(heard.decisions == 2);
}

TEST_CASE_FIXTURE(Fixture, "an answer is kept until the broker says that it has arrived") {
    const Map decision = start(7);
    const Frame first = say.one(decision);
    say({{"type", "ping"}, {"number", 1}, {"settled", seq - 1}});
    CHECK(say.one(decision) == first);
    say({{"type", "ping"}, {"number", 2}, {"settled", seq}});
    CHECK(say(decision).empty());
}

TEST_CASE_FIXTURE(Fixture, "a decision for a seat that is not held is refused") {
    const Map told = said(say.one(step(8, 1)));
    CHECK(told.at("code") == Value("unknown"));
    CHECK(told.at("answers") == Value(seq));
    CHECK(heard.decisions == 0);
}

TEST_CASE_FIXTURE(Fixture, "the end of an episode is heard once") {
    say.one(start(7));
    const Map end = numbered({{"type", "end"}, {"episode", 7}, {"seat", 0}, {"match", 2}});
    CHECK(say(end).empty());
    CHECK(say(end).empty());
    CHECK(heard.ends.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "an end at which the agent fails is told to its person, and by the next answer") {
    std::vector<std::string> printed;
    host.failed = [&](const std::string& line) { printed.push_back(line); };
    say.one(start(7));
    CHECK(say(numbered({{"type", "end"}, {"episode", 7}, {"seat", 0}, {"match", 2}, {"observation", "crash"}}))
              .empty());
    const std::string line = "tester at the end of an episode threw std::runtime_error: told to crash";
    CHECK(printed == std::vector<std::string>{line});
    const auto tells = [&](const Map& frame) {
        const Map told = said(say.one(frame));
        CHECK(told.at("code") == Value("crashed"));
        CHECK(told.at("message") == Value(line));
        CHECK(said(say.one(frame)) == told);
    };
    tells(start(8));
    CHECK(heard.decisions == 1);
    CHECK(printed.size() == 1);
    CHECK(type(say.one(step(8, 1))) == "action");
    const std::vector<Map> requests{{{"type", "save"}, {"instance", 5}},
                                    {{"type", "load"}, {"instance", 5}, {"state", Bytes{}}},
                                    {{"type", "message"}, {"instance", 5}, {"body", 1}},
                                    {{"type", "cleanup"}, {"instance", 5}}};
    for (Map request : requests) {
        request["id"] = 3;
        say(numbered(
            {{"type", "end"}, {"episode", 9}, {"seat", 0}, {"match", 2}, {"observation", "crash"}}));
        tells(numbered(request));
        const bool gone = request.at("type") == Value("cleanup");
        CHECK((type(say.one(numbered(request))) == "error") == gone);
    }
    CHECK(heard.cleanups == 1);
    CHECK(heard.messages == 1);
}

TEST_CASE_FIXTURE(Fixture, "repeated requests get the same answer") {
    const Map message = numbered({{"type", "message"}, {"id", 2}, {"instance", 5}, {"body", "x"}});
    const Frame first = say.one(message);
    CHECK(say.one(message) == first);
    CHECK(heard.messages == 1);
    const Map cleanup = numbered({{"type", "cleanup"}, {"id", 3}, {"instance", 5}});
    CHECK(type(say.one(cleanup)) == "reply");
    CHECK(type(say.one(cleanup)) == "reply");
    CHECK(heard.cleanups == 1);
    CHECK(type(say.one(numbered({{"type", "save"}, {"id", 4}, {"instance", 5}}))) == "error");
}

TEST_CASE_FIXTURE(Fixture, "what is larger than the broker reads is not sent, but told") {
    CHECK(type(say.one(numbered({{"type", "save"}, {"id", 2}, {"instance", 5}}))) == "saved");
    say({{"type", "welcome"},
         {"session", "s"},
         {"name", "n"},
         {"resumed", true},
         {"limits", Map{{"frame", 500}}}});
    const Map told = said(say.one(numbered({{"type", "save"}, {"id", 3}, {"instance", 5}})));
    CHECK(told.at("code") == Value("crashed"));
    CHECK(told.at("message").as_text().find("the broker reads at most 500") != std::string::npos);
    CHECK(type(say.one(start(7, "large"))) == "error");
    CHECK(type(say.one(start(8))) == "action");
}

TEST_CASE_FIXTURE(Fixture, "a crash is told in one line, and told again for a repeat") {
    std::vector<std::string> printed;
    host.failed = [&](const std::string& line) { printed.push_back(line); };
    const Map decision = start(7, "crash");
    const Frame crash = say.one(decision);
    const Map told = said(crash);
    CHECK(told.at("code") == Value("crashed"));
    CHECK(told.at("answers") == Value(seq));
    CHECK(told.at("message") == Value("tester in turn 0 threw std::runtime_error: told to crash"));
    CHECK(say.one(decision) == crash);
    CHECK(heard.decisions == 1);
    CHECK(printed == std::vector<std::string>{told.at("message").as_text()});
    CHECK(said(say.one(start(8, "bad"))).at("code") == Value("crashed"));
    CHECK(type(say.one(start(9))) == "action");
}

TEST_CASE_FIXTURE(Fixture, "a lost session ends the episodes and releases everything") {
    say.one(start(7));
    welcome(true);
    CHECK(heard.ends.empty());
    welcome(false);
    CHECK(heard.ends == std::vector<Reason>{Reason::disconnected});
    CHECK(heard.cleanups == 1);
    CHECK(type(say.one(start(8))) == "error");
    CHECK(type(say.one(numbered({{"type", "create"}, {"id", 1}, {"instance", 5}, {"agent", "tester"}}))) == "reply");
    init();
    CHECK(type(say.one(start(7))) == "action");
}

TEST_CASE_FIXTURE(Fixture, "an agent may ask what would follow") {
    const Map decision = start(7, "ask");
    const Frame asked = say.one(decision);
    CHECK(type(asked) == "lookahead");
    CHECK(say(decision).empty());
    CHECK(say.one({{"type", "welcome"}, {"session", "s"}, {"name", "n"}, {"resumed", true}}) == asked);
    CHECK(heard.decisions == 1);
    const Map reply{{"type", "reply"},
                    {"id", said(asked).at("id")},
                    {"body", List{Map{{"rewards", List{0.0}}}, Map{{"rewards", List{1.0}}}}}};
    const Frame action = say.one(reply);
    CHECK(said(action).at("action") == Value(1));
    CHECK(say(reply).empty());
    CHECK(say.one(decision) == action);

    const Map again = said(say.one(step(7, 1, "ask")));
    CHECK(
        said(say.one({{"type", "error"}, {"code", "unavailable"}, {"message", "no"}, {"id", again.at("id")}}))
            .at("code") == Value("crashed"));
}

TEST_CASE("a program that is one agent") {
    Heard heard;
    AgentType type;
    type.name = "only";
    type.instance = true;
    type.make = [&](const Map&, std::int64_t) { return std::make_unique<Tester>(heard); };
    AgentHost host({type});
    CHECK(host.offers().at(0).instance);
    frames::Talk<AgentHost> say{host};
    CHECK(say({{"type", "init"}, {"match", 2}, {"seat", 0}, {"instance", 44}, {"spec", Map()}}).empty());
    CHECK(frames::type(say.one({{"type", "start"},
                                {"episode", 1},
                                {"match", 2},
                                {"seat", 0},
                                {"turn", 0},
                                {"seed", 1},
                                {"legal", Bytes{2}}})) == "action");
}
