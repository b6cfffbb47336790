// An agent and an environment that do next to nothing, for `make bench-clients`.
#include <cstdio>
#include <dovetail/dovetail.hpp>
#include <string>

using namespace dovetail;

namespace {

class First : public Agent {
    Answer step(const Decision& decision) override { return decision.legal ? decision.legal->front() : 0; }
};

class Bench : public Environment {
public:
    explicit Bench(const Map& configuration) : turns_(configuration.at("turns").as_int()) {}

    Spec init() override {
        Spec spec;
        spec.seats = 2;
        spec.observation_spaces = {spaces::Discrete{2}};
        spec.action_spaces = {spaces::Discrete{2}};
        spec.reward_range = {0.0, 0.0};
        spec.max_turns = turns_;
        return spec;
    }
    Turn start(std::int64_t) override {
        turn_ = 0;
        return turn();
    }
    Turn step(const Actions&) override {
        ++turn_;
        return turn();
    }

private:
    Turn turn() const {
        Turn turn;
        if (turn_ < turns_) {
            const std::int64_t seat = turn_ % 2;
            turn.to_act = {seat};
            turn.seats.resize(1);
            turn.seats[0].seat = seat;
            turn.seats[0].observation = 0;
            turn.seats[0].legal = std::vector<std::int64_t>{0, 1};
            return turn;
        }
        turn.seats.resize(2);
        turn.seats[0].seat = 0;
        turn.seats[1].seat = 1;
        for (View& view : turn.seats) view.observation = 0;
        turn.terminated = true;
        turn.outcome = {0.5, 0.5};
        return turn;
    }

    std::int64_t turns_;
    std::int64_t turn_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    const std::string role = count > 1 ? arguments[1] : "";
    if (role == "agent") {
        AgentType type = agent<First>("bench", "Plays the first legal action.");
        type.capacity = 0;
        return serve_main(type);
    }
    if (role == "environment") {
        EnvironmentType type = environment<Bench>("bench", "Two seats take turns; nothing happens.");
        type.configuration = {{"turns", 1000, "how many turns an episode has", 1}};
        type.seats = {{2}};
        return serve_main(type);
    }
    std::fputs("usage: bench agent|environment\n", stderr);
    return 2;
}
