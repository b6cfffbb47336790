#include "agent_group.hpp"
#include "dovetail/hosts.hpp"
#include "hosting.hpp"

namespace dovetail {

using hosting::crash;
using hosting::refusal;

namespace {

/// Match and seat, episode and seat, or match and instance.
using Key = std::pair<std::int64_t, std::int64_t>;

/// An agent, and the name of its type for lines about failures.
struct Made {
    std::shared_ptr<Agent> agent;
    std::string type;
    std::shared_ptr<EndFailure> failure;
};

/// A seat of a match and who holds it.
struct Holder {
    Made made;
    std::shared_ptr<const Seat> seat;
};

/// A seat's episode in progress.
struct Play {
    Holder holder;
    std::int64_t episode = 0;
    Mode mode = Mode::learn;
    std::int64_t seed = 0;
    Random random;
    std::int64_t turn = -1;
    /// True if thoughts are shown to anyone.
    bool think = false;
    /// The number of the frame that asks for the decision.
    std::int64_t seq = 0;
    /// The question that the agent waits for, if it asked one.
    std::int64_t asked = 0;
    Frame question;
    std::shared_ptr<Lookahead> lookahead;
};

std::vector<Preview> previews(const Value& body) {
    std::vector<Preview> out;
    for (const Value& each : body.as_list()) out.push_back(codec::from_value<Preview>(each));
    return out;
}

const Space& of_seat(const std::vector<Space>& spaces, std::int64_t seat, const char* what) {
    if (spaces.size() == 1) return spaces[0];
    if (seat < 0 || static_cast<std::size_t>(seat) >= spaces.size()) {
        throw Error(std::string("the environment says no ") + what + " space of seat " +
                    std::to_string(seat));
    }
    return spaces[static_cast<std::size_t>(seat)];
}

std::optional<std::vector<std::int64_t>> listed(Legal& legal) {
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&legal)) return std::move(*list);
    if (const auto* bits = std::get_if<Bytes>(&legal)) return unmask(*bits);
    return std::nullopt;
}

}  // namespace

const Space& Seat::observation_space() const {
    return of_seat(spec.observation_spaces, seat, "observation");
}

const Space& Seat::action_space() const {
    return of_seat(spec.action_spaces, seat, "action");
}

Value Decision::random_action() const {
    if (legal) {
        if (legal->empty()) throw Error("there is no legal action");
        return random.pick(*legal);
    }
    return seat.action_space().sample(random);
}

struct AgentHost::Inside : hosting::Common {
    using Common::Common;
    using Common::take;

    std::vector<AgentType> types;
    Made single;  // if the program is one agent
    std::map<std::int64_t, Made> instances;
    std::map<Key, Holder> seats;       // by match and seat
    std::map<Key, Play> playing;       // by episode and seat
    std::map<Key, AgentGroup> groups;  // by match and instance
    std::map<std::int64_t, Key> questions;
    std::int64_t asks = 0;

    // -- decisions ----------------------------------------------------------------------------------

    void take(messages::AgentStart& message) {
        const Key key{message.episode, message.seat};
        const auto seat = seats.find({message.match, message.seat});
        if (seat != seats.end()) {
            Play& play = playing[key] = Play();
            play.holder = seat->second;
            play.episode = message.episode;
            play.mode = message.mode;
            play.seed = message.seed;
            play.random = Random(message.seed);
        }
        turn(message, &Agent::start);
    }

    void take(messages::AgentStep& message) { turn(message, &Agent::step); }

    /// Has an agent answer a decision.
    template <class Message>
    void turn(Message& message, Answer (Agent::*method)(const Decision&)) {
        const auto found = playing.find({message.episode, message.seat});
        if (found == playing.end()) {
            refuse(seq(), Code::unknown,
                   "no agent here holds seat " + std::to_string(message.seat) + " of episode " +
                       std::to_string(message.episode));
            return;
        }
        Play& play = found->second;
        forget(play);
        settled(play.seq);
        play.turn = message.turn;
        play.think = message.think;
        play.seq = seq();
        std::string failed = play.holder.made.failure->take();
        if (!failed.empty()) {
            refuse(seq(), Code::crashed, std::move(failed));
            return;
        }
        Decision decision(*play.holder.seat, play.random);
        decision.seed = play.seed;
        decision.episode = message.episode;
        decision.turn = message.turn;
        decision.observation = std::move(message.observation);
        decision.legal = listed(message.legal);
        decision.reward = message.reward;
        decision.mode = play.mode;
        decision.afterstates = std::move(message.afterstates);
        decision.text = std::move(message.text);
        decision.scene = std::move(message.scene);
        decision.clock = message.clock;
        decision.think = message.think;
        decide(play, [&] { return (play.holder.made.agent.get()->*method)(decision); });
    }

    /// Lets an agent answer a decision, with an action or a question.
    template <class Think>
    void decide(Play& play, Think think) {
        try {
            Answer answer = think();
            if (answer.question) {
                ask(play, std::move(answer.question));
                return;
            }
            messages::Action action;
            action.episode = play.episode;
            action.turn = play.turn;
            action.seat = play.holder.seat->seat;
            action.action = std::move(answer.action);
            action.resign = answer.resign;
            action.measures = std::move(answer.measures);
            if (play.think) action.thoughts = std::move(answer.thoughts);
            respond(play.seq, frame(action));
        } catch (...) {
            const std::string where = play.holder.made.type + " in turn " + std::to_string(play.turn);
            refuse(play.seq, Code::crashed, crash(where, told));
        }
    }

    // -- lookahead ------------------------------------------------------------------------------------

    void ask(Play& play, std::shared_ptr<Lookahead> lookahead) {
        messages::AgentLookahead question;
        question.id = ++asks;
        question.episode = play.episode;
        question.seat = play.holder.seat->seat;
        question.turn = play.turn;
        question.lines = lookahead->lines;
        question.seed = lookahead->seed;
        play.question = frame(question);
        play.asked = question.id;
        play.lookahead = std::move(lookahead);
        questions[question.id] = {play.episode, play.holder.seat->seat};
        send(play.question);
    }

    void forget(Play& play) {
        if (!play.lookahead) return;
        questions.erase(play.asked);
        play.lookahead.reset();
    }

    template <class Go>
    void answered(std::int64_t id, Go go) {
        const auto question = questions.find(id);
        if (question == questions.end()) return;
        const auto play = playing.find(question->second);
        questions.erase(question);
        if (play == playing.end()) return;
        const std::shared_ptr<Lookahead> lookahead = std::move(play->second.lookahead);
        play->second.lookahead.reset();
        decide(play->second, [&] { return go(*lookahead); });
    }

    void take(messages::Reply& message) {
        answered(message.id,
                 [&](const Lookahead& lookahead) { return lookahead.then(previews(message.body)); });
    }

    void take(messages::Error& message) {
        if (!message.id) return;
        answered(*message.id, [&](const Lookahead& lookahead) -> Answer {
            if (!lookahead.refused) throw dovetail::Error(message.message);
            return lookahead.refused(message.message);
        });
    }

    // -- the rest of an episode -------------------------------------------------------------------------

    void take(messages::End& message) {
        end(message);
    }

    /// Tells an agent of the end.  It is not answered [S6.7]: a failure is told to the person who runs the
    /// program, and by the answer to the agent's next decision or request [S6.8].
    void end(messages::End& message) {
        const Key key{message.episode, message.seat};
        Play play;
        play.episode = message.episode;
        const auto found = playing.find(key);
        if (found != playing.end()) {
            forget(found->second);
            settled(found->second.seq);
            play = std::move(found->second);
            playing.erase(found);
        } else {  // the episode ended before this seat had to decide
            const auto seat = seats.find({message.match, message.seat});
            if (seat == seats.end()) return;
            play.holder = seat->second;
        }
        End end(*play.holder.seat);
        end.episode = message.episode;
        end.reward = message.reward;
        end.observation = std::move(message.observation);
        end.outcome = std::move(message.outcome);
        end.reason = message.reason;
        end.blame = message.blame;
        end.total = message.total;
        end.decisions = message.decisions;
        end.mode = message.mode;
        end.text = std::move(message.text);
        end.scene = std::move(message.scene);
        try {
            play.holder.made.agent->end(end);
        } catch (...) {
            play.holder.made.failure->keep(crash(play.holder.made.type + " at the end of an episode", told));
        }
    }

    void take(messages::Init& message) {
        const Made made = find(message.instance);
        if (!made.agent) {
            refuse(seq(), Code::unknown, "there is no agent " + std::to_string(message.instance));
            return;
        }
        const std::shared_ptr<const Seat> seat = seat_of(message);
        if (message.slots > 0) {
            const Key key{message.match, message.instance};
            AgentGroup& group =
                groups.try_emplace(key, made.agent, made.type, made.failure, message.slots, told)
                    .first->second;
            if (!group.seats.emplace(message.seat, seat).second) return;
        } else {
            Holder& holder = seats[{message.match, message.seat}];
            if (holder.made.agent == made.agent) return;
            holder = {made, seat};
        }
        try {
            made.agent->init(*seat);
        } catch (...) {
            refuse(seq(), Code::unavailable, refusal(made.type + " taking a seat", told));
        }
    }

    static std::shared_ptr<const Seat> seat_of(messages::Init& message) {
        Seat seat;
        seat.match = message.match;
        seat.seat = message.seat;
        seat.spec = std::move(message.spec);
        seat.lookahead = message.lookahead;
        seat.agent = std::move(message.agent);
        return std::make_shared<const Seat>(std::move(seat));
    }

    void take(messages::Leave& message) {
        groups.erase(groups.lower_bound({message.match, INT64_MIN}),
                     groups.upper_bound({message.match, INT64_MAX}));
        seats.erase(seats.lower_bound({message.match, INT64_MIN}),
                    seats.upper_bound({message.match, INT64_MAX}));
    }

    // -- groups -------------------------------------------------------------------------------------------

    void take(messages::AgentSteps& message) {
        const auto found = groups.find({message.match, message.instance});
        if (found == groups.end()) {
            refuse(seq(), Code::unknown,
                   "instance " + std::to_string(message.instance) + " has no seat in group " +
                       std::to_string(message.match));
            return;
        }
        AgentGroup& group = found->second;
        batch(group.before, group.type + " in a batch", [&] { return group.steps(message); });
    }

    void take(messages::Ends& message) {
        const auto found = groups.find({message.match, message.instance});
        if (found == groups.end()) return;
        try {
            found->second.ends(message);
        } catch (const ProtocolError& error) {
            refuse(seq(), error.code, error.what());
        }
    }

    // -- requests -----------------------------------------------------------------------------------------

    /// Without an agent if there is no such instance.
    Made find(std::int64_t instance) const {
        const auto found = instances.find(instance);
        return found == instances.end() ? single : found->second;
    }

    /// Has an agent answer a request.
    template <class Request, class Do>
    void request(const Request& message, const char* what, Do act) {
        const Made made = find(message.instance);
        answer(message.id, made.type + " in " + what, [&] {
            if (!made.agent) throw dovetail::Error("there is no agent " + std::to_string(message.instance));
            const std::string failed = made.failure->take();
            if (!failed.empty()) {
                if constexpr (std::is_same_v<Request, messages::Cleanup>) act(*made.agent);
                throw dovetail::Error(failed);
            }
            return act(*made.agent);
        });
    }

    void take(messages::Create& message) {
        answer(message.id, message.agent + " in create", [&] {
            instances[message.instance] = {make(message), message.agent, std::make_shared<EndFailure>()};
            return hosting::reply();
        });
    }

    std::shared_ptr<Agent> make(const messages::Create& message) const {
        const AgentType& type = hosting::named(types, message.agent, "agent");
        std::shared_ptr<Agent> agent =
            type.make(type.parameters.read(message.parameters, "agent " + type.name), message.seed);
        if (message.state) agent->load(*message.state);
        return agent;
    }

    void take(messages::Save& message) {
        request(message, "save", [](Agent& agent) {
            messages::Saved saved;
            saved.state = agent.save();
            return saved;
        });
    }

    void take(messages::Load& message) {
        request(message, "load", [&](Agent& agent) {
            agent.load(message.state);
            for (auto& each : groups) {
                if (each.second.agent.get() == &agent) each.second.reopen();
            }
            return hosting::reply();
        });
    }

    void take(messages::AgentMessage& message) {
        request(message, "message",
                [&](Agent& agent) { return hosting::reply(agent.message(message.body)); });
    }

    void take(messages::Cleanup& message) {
        request(message, "cleanup", [&](Agent& agent) {
            instances.erase(message.instance);
            agent.cleanup();
            return hosting::reply();
        });
    }

    // -- a session that is lost -----------------------------------------------------------------------------

    void resume() override {
        for (const auto& each : playing) {
            if (each.second.lookahead) send(each.second.question);
        }
    }

    void forget() override {
        std::vector<messages::End> ends;
        for (const auto& [key, play] : playing) {
            messages::End end;
            end.episode = key.first;
            end.seat = key.second;
            end.reason = Reason::disconnected;
            end.mode = play.mode;
            ends.push_back(std::move(end));
        }
        for (messages::End& each : ends) end(each);
        for (auto& each : groups) each.second.close();
        groups.clear();
        seats.clear();
        questions.clear();
        for (const auto& instance : instances) {
            try {
                instance.second.agent->cleanup();
            } catch (...) {
                // It is gone all the same.
            }
        }
        instances.clear();
        if (single.failure) single.failure->take();
    }
};

AgentHost::AgentHost(std::vector<AgentType> types) : inside_(new Inside(failed)) {
    for (AgentType& type : types) {
        Offer offer;
        offer.name = type.name;
        offer.description = type.description;
        offer.parameters = type.parameters.schema();
        offer.wants = type.wants;
        offer.capacity = type.capacity;
        offer.instance = type.instance;
        offer.stacked = true;
        inside_->offers.push_back(std::move(offer));
        if (!type.instance) {
            inside_->types.push_back(std::move(type));
            continue;
        }
        if (types.size() != 1) throw Error("a program that is one agent can offer no other");
        inside_->single = {type.make(type.parameters.read({}, "agent " + type.name), 0), type.name,
                           std::make_shared<EndFailure>()};
    }
}

AgentHost::~AgentHost() = default;

std::vector<Offer> AgentHost::offers() const {
    return inside_->offers;
}

void AgentHost::handle(messages::Incoming message, std::vector<Frame>& out) {
    Inside::handle(*inside_, message, out);
}

}  // namespace dovetail
