#include "dovetail/session.hpp"

#include <doctest/doctest.h>

#include "frames.hpp"

using namespace dovetail;
using frames::said;

namespace {

struct Peer {
    Session session;
    std::vector<Frame> out = {};
    double time = 0;

    std::optional<messages::Incoming> hear(Map message) {
        out.clear();
        return session.take(codec::encode(message), time, out);
    }
};

Peer peer() {
    messages::Hello hello;
    hello.role = Role::agent;
    hello.token = "secret";
    return Peer{Session(hello)};
}

const Map kWelcome{{"type", "welcome"}, {"session", "abc"}, {"name", "agent-1"}, {"heartbeat", 0.5}};

}  // namespace

TEST_CASE("hello says who it is, and asks for its session after a welcome") {
    Peer p = peer();
    const Map first = said(p.session.greet(0));
    CHECK(first.at("type") == Value("hello"));
    CHECK(first.at("token") == Value("secret"));
    CHECK(first.find("resume") == nullptr);
    CHECK(p.hear(kWelcome));
    CHECK(said(p.session.greet(1)).at("resume") == Value("abc"));
}

TEST_CASE("pings are answered at once with the highest number that has arrived") {
    Peer p = peer();
    p.session.greet(0);
    CHECK(p.hear({{"type", "ping"}, {"number", 7}}));
    REQUIRE(p.out.size() == 1);
    CHECK(said(p.out[0]) == Map{{"type", "pong"}, {"number", 7}});
    p.hear(kWelcome);
    p.hear({{"type", "leave"}, {"match", 1}, {"seq", 5}});
    p.hear({{"type", "ping"}, {"number", 8}});
    CHECK(said(p.out[0]) == Map{{"type", "pong"}, {"number", 8}, {"seen", 5}});
    CHECK(said(p.session.greet(1)).at("seen") == Value(5));
}

TEST_CASE("a bad frame gets an error, and an error gets none") {
    Peer p = peer();
    p.session.greet(0);
    CHECK_FALSE(p.session.take("\xC1", 0, p.out));
    REQUIRE(p.out.size() == 1);
    CHECK(said(p.out[0]).at("code") == Value("malformed"));
    CHECK(p.hear({{"type", "error"}, {"code", "new-one"}, {"message", "?"}}));
    CHECK(p.out.empty());
}

TEST_CASE("a decision that cannot be read is refused by what it names, and an end is heard all the same") {
    Peer p = peer();
    p.session.greet(0);
    Map bad{{"type", "start"}, {"seq", 4}, {"episode", 7}, {"match", 2}, {"seat", 1}, {"turn", 0}, {"seed", 9}};
    bad["observation"] = Extension{1, {0x80}};
    CHECK_FALSE(p.hear(bad));
    REQUIRE(p.out.size() == 1);
    const Map error = said(p.out[0]);
    CHECK(error.at("code") == Value("malformed"));
    CHECK(error.at("answers") == Value(4));
    CHECK(error.find("id") == nullptr);
    bad["type"] = "end";
    const auto end = p.hear(bad);
    REQUIRE(end);
    CHECK(p.out.empty());
    CHECK(std::get<messages::End>(*end).match == 2);
    CHECK(std::get<messages::End>(*end).observation.is_nil());
    bad["reward"] = "much";
    CHECK_FALSE(p.hear(bad));
}

TEST_CASE("hello-first is answered by one hello") {
    Peer p = peer();
    p.session.greet(0);
    p.hear(kWelcome);
    const Map error{{"type", "error"}, {"code", "hello-first"}, {"message", "?"}};
    p.hear(error);
    REQUIRE(p.out.size() == 1);
    CHECK(said(p.out[0]).at("resume") == Value("abc"));
    p.hear(error);
    CHECK(p.out.empty());
}

TEST_CASE("a refusal is final in answer to hello only") {
    const Map error{{"type", "error"}, {"code", "name-taken"}, {"message", "no"}};
    Peer p = peer();
    p.session.greet(0);
    CHECK_THROWS_WITH_AS(p.hear(error), "the broker refuses: no", Error);
    p.hear(kWelcome);
    CHECK(p.hear(error));
}

TEST_CASE("a peer whose key is revoked hears why") {
    Map error{{"type", "error"}, {"code", "access"}, {"message", "the key was revoked"}};
    Peer p = peer();
    p.session.greet(0);
    p.hear(kWelcome);
    CHECK_THROWS_WITH_AS(p.hear(error), "the broker refuses: the key was revoked", Error);
    error["id"] = 3;
    CHECK(p.hear(error));
}

TEST_CASE("silence is four heartbeats, two seconds at least") {
    Peer p = peer();
    p.session.greet(0);
    double said = 0;
    for (const double wait : {4.0, 8.0, 16.0, 16.0}) {  // for the answer to hello
        CHECK_FALSE(p.session.silent(said + wait));
        said += wait + 1;
        CHECK(p.session.silent(said));
        p.session.greet(said);
    }
    Map welcome = kWelcome;
    welcome["heartbeat"] = 1.0;
    p.time = 100;
    p.hear(welcome);
    CHECK_FALSE(p.session.silent(103.9));
    CHECK(p.session.silent(104.1));
    welcome["heartbeat"] = 0.1;
    welcome["resumed"] = true;
    p.hear(welcome);
    CHECK_FALSE(p.session.silent(101.9));
    CHECK(p.session.silent(102.1));
}

TEST_CASE("goodbye") {
    Peer p = peer();
    p.session.greet(0);
    p.hear({{"type", "bye"}});
    CHECK(p.session.departed());
    CHECK(p.out.empty());
}

TEST_CASE("what the broker reads is read too") {
    List deep{List{}};
    for (int i = 0; i < 40; ++i) deep = List{std::move(deep)};
    const Map reply{{"type", "reply"}, {"id", 1}, {"body", deep}};
    Peer p = peer();
    p.session.greet(0);
    CHECK_FALSE(p.hear(reply));
    CHECK(said(p.out.at(0)).at("code") == Value("limit"));
    Map welcome = kWelcome;
    welcome["limits"] = Map{{"depth", 50}, {"frame", 100}};
    p.hear(welcome);
    CHECK(p.hear(reply));
}
