#include <dovetail/dovetail.hpp>

class RandomAgent : public dovetail::Agent {
    dovetail::Answer step(const dovetail::Decision& decision) override { return decision.random_action(); }
};

int main() {
    dovetail::AgentType type = dovetail::agent<RandomAgent>("random-cpp", "Plays any legal action.");
    type.capacity = 0;  // it remembers nothing, so it may play any number of episodes at once
    return dovetail::serve_main(type);
}
