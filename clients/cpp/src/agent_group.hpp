// The seats of an agent in a group (SPEC.md, Stacked turns).
#pragma once

#include <any>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "dovetail/agent.hpp"
#include "hosting.hpp"

namespace dovetail {

/// How an agent failed at an end, until its next decision or request is answered with that.
class EndFailure {
public:
    void keep(std::string line) {
        if (line_.empty()) line_ = std::move(line);
    }
    /// Returns the line once; empty if the agent has not failed.
    std::string take() { return std::exchange(line_, {}); }

private:
    std::string line_;
};

/// The seats of an instance in a group. An agent without columns gets its decisions one by one.
class AgentGroup {
public:
    /// `type` is the name of the agent's type, for lines about failures.
    AgentGroup(std::shared_ptr<Agent> agent_, std::string type_, std::shared_ptr<EndFailure> failure,
               std::int64_t slots, const hosting::Told& told)
        : agent(std::move(agent_)),
          type(std::move(type_)),
          failure_(std::move(failure)),
          slots_(static_cast<std::size_t>(slots)),
          told_(told) {}

    /// Answers a batch of decisions. Throws ProtocolError if its columns are not what they must be, or if the
    /// agent failed at an end.
    messages::Actions steps(messages::AgentSteps& message);
    /// Hears which seats' episodes are over. Throws ProtocolError if its columns are not what they must be.
    void ends(messages::Ends& message);
    /// The agent is another one: it has loaded a state.
    void reopen() { opened_ = false; }
    /// The session is lost: every episode in progress ends.
    void close();

    const std::shared_ptr<Agent> agent;
    const std::string type;
    Seats seats;
    /// The number of the frame that was answered last.
    std::int64_t before = 0;

private:
    /// Slot and seat.
    using Place = std::pair<std::int32_t, std::int32_t>;

    /// A seat's episode in a slot.
    struct Play {
        std::int64_t episode;
        std::int64_t seed;
        Mode mode;
        Random random;
    };

    Rows read(messages::AgentSteps& message) const;
    Ends read(messages::Ends& message) const;
    bool takes_columns();
    void decide(Rows& rows, messages::Actions& answer);
    void end(const Ends& ends, std::size_t row);
    template <class Tell>
    void tell(Tell tell);

    std::shared_ptr<EndFailure> failure_;
    std::size_t slots_;
    const hosting::Told& told_;
    std::map<Place, Play> plays_;
    /// The agent's memory, if it takes columns.
    std::any memory_;
    bool opened_ = false;
};

}  // namespace dovetail
