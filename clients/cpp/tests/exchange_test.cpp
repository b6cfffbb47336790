#include "exchange.hpp"

#include <doctest/doctest.h>

#include "frames.hpp"

using namespace dovetail;
using frames::said;

namespace {

struct Fixture {
    Exchange exchange;
    std::vector<Frame> out = {};

    void hear(Map message) {
        out.clear();
        exchange.take(frames::incoming(Role::experiment, std::move(message)), out);
    }
    void welcome(bool resumed) {
        hear({{"type", "welcome"}, {"session", "s"}, {"name", "n"}, {"resumed", resumed}});
    }
    void episode(std::int64_t number) {
        hear({{"type", "episode"},
              {"seq", number},
              {"run", 5},
              {"index", 0},
              {"episode", number},
              {"seed", 1},
              {"reason", "terminated"},
              {"seats", List()}});
    }
    std::int64_t ask(Map request) {
        out.clear();
        return exchange.ask(std::move(request), out);
    }
    Fixture() { welcome(false); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a run that waits is told once") {
    std::vector<std::string> told;
    exchange.warn = [&](const std::string& line) { told.push_back(line); };
    exchange.follow(5, 1);
    for (const char* waits : {"", "agent 3 is busy", "agent 3 is busy", ""})
        hear({{"type", "progress"}, {"run", 5}, {"finished", 0}, {"running", 0}, {"total", 1}, {"waiting", waits}});
    CHECK(told == std::vector<std::string>{"run 5 waits: agent 3 is busy"});
}

TEST_CASE_FIXTURE(Fixture, "answers are known by their id") {
    const std::int64_t id = ask({{"type", "catalogue"}});
    CHECK(said(out.at(0)).at("id") == Value(id));
    hear({{"type", "reply"}, {"id", id + 1}, {"body", 1}});
    CHECK_FALSE(exchange.answer(id));
    hear({{"type", "reply"}, {"id", id}, {"body", 2}});
    CHECK(exchange.answer(id) == Value(2));
    const std::int64_t next = ask({{"type", "catalogue"}});
    CHECK(next != id);
    hear({{"type", "error"}, {"id", next}, {"code", "unknown"}, {"message", "no"}});
    CHECK_THROWS_AS(exchange.answer(next), Refused);
}

TEST_CASE_FIXTURE(Fixture, "a request larger than the broker reads is not sent") {
    hear({{"type", "welcome"}, {"session", "s"}, {"name", "n"}, {"limits", Map{{"frame", 500}}}});
    CHECK_THROWS_AS(ask({{"type", "load"}, {"instance", 1}, {"state", Bytes(1000)}}), Error);
    CHECK(out.empty());
    ask({{"type", "load"}, {"instance", 1}, {"state", Bytes(100)}});
    CHECK(out.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "unanswered requests are sent again after a resumption") {
    const std::int64_t first = ask({{"type", "catalogue"}});
    ask({{"type", "watch"}});
    const Frame open = out.at(0);
    hear({{"type", "reply"}, {"id", first}});
    welcome(true);
    CHECK(out == std::vector<Frame>{open});
    CHECK_FALSE(exchange.was_lost());
    welcome(false);
    CHECK(out.empty());
    CHECK(exchange.was_lost());
}

TEST_CASE_FIXTURE(Fixture, "results count once, also those that come before the run has a number") {
    int told = 0;
    Exchange::RunState run;
    exchange.listener = [&](const Event&) {
        ++told;
        // Whoever is told of a result finds it in the run.
        if (run && !run->done) CHECK(static_cast<int>(run->results.size()) == told);
    };
    const std::int64_t id = ask({{"type", "run"}});
    episode(8);
    hear({{"type", "reply"}, {"id", id}, {"body", Map{{"run", 5}}}});
    episode(8);
    episode(9);
    REQUIRE(exchange.answer(id));
    run = exchange.follow(5, 2);
    CHECK(run->results.size() == 2);
    episode(9);
    hear({{"type", "done"}, {"run", 5}, {"finished", 2}});
    CHECK(run->done);
    CHECK(told == 3);
}
