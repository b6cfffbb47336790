#include <type_traits>

#include "dovetail/hosts.hpp"
#include "hosting.hpp"

namespace dovetail {

using hosting::crash;
using hosting::refusal;

namespace {

using Out = std::vector<Frame>;

/// Match and seat, or episode and seat.
using Key = std::pair<std::int64_t, std::int64_t>;

/// An agent, and the name of its type for lines about failures.
struct Made {
    std::shared_ptr<Agent> agent;
    std::string type;
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
    /// What was answered to the decision of `turn`; empty while there is no answer.
    Frame answer;
    /// The question that the agent waits for, if it asked one.
    std::int64_t asked = 0;
    Frame question;
    std::shared_ptr<Lookahead> lookahead;
};

Offer offer(const AgentType& type) {
    Offer out;
    out.name = type.name;
    out.description = type.description;
    out.parameters = type.parameters.schema();
    out.wants = type.wants;
    out.capacity = type.capacity;
    out.instance = type.instance;
    return out;
}

Frame play_failed(const char* code, const Play& play, std::string text) {
    return codec::encode_message(
        messages::Error{code, std::move(text), {}, play.episode, play.holder.seat->seat});
}

std::vector<Position> positions(const Value& body) {
    std::vector<Position> out;
    for (const Value& each : body.as_list()) out.push_back(codec::from_value<Position>(each));
    return out;
}

}  // namespace

Value Decision::random_action() const {
    if (legal) {
        if (legal->empty()) throw Error("there is no legal action");
        return random.pick(*legal);
    }
    return seat.spec.action_space(seat.seat).sample(random);
}

struct AgentHost::Inside : hosting::Common {
    using Common::Common;

    std::vector<AgentType> types;
    Made single;  // if the program is one agent
    std::map<std::int64_t, Made> instances;
    std::map<Key, Holder> seats;  // by match and seat
    std::map<Key, Play> playing;  // by episode and seat
    hosting::Recent<Key, bool> ended{4096};
    std::map<std::int64_t, Key> questions;
    std::int64_t asks = 0;

    // What an agent does not hear of.
    template <class T>
    void take(const T&, Out&) {}

    // -- decisions ----------------------------------------------------------------------------------

    void take(messages::Decision& message, Out& out) {
        const Key key{message.episode, message.seat};
        auto found = playing.find(key);
        if (found == playing.end()) {
            if (!message.first || ended.find(key) != nullptr) return;
            const auto seat = seats.find({message.match, message.seat});
            if (seat == seats.end()) return;
            Play play;
            play.holder = seat->second;
            play.episode = message.episode;
            play.mode = message.mode;
            play.seed = message.seed;
            play.random = Random(message.seed);
            found = playing.emplace(key, std::move(play)).first;
        }
        Play& play = found->second;
        if (message.turn <= play.turn) {
            if (message.turn != play.turn) return;
            if (!play.answer.empty()) out.push_back(play.answer);
            if (play.lookahead) out.push_back(play.question);
            return;
        }
        forget(play);
        play.turn = message.turn;
        play.answer.clear();
        if (!message.unreadable.empty()) {
            settle(play,
                   play_failed("malformed", play,
                               "turn " + std::to_string(play.turn) +
                                   " cannot be read: " + utf8::line(message.unreadable)),
                   out);
            return;
        }
        Decision decision{*play.holder.seat,
                          message.episode,
                          message.turn,
                          std::move(message.observation),
                          std::nullopt,
                          message.reward,
                          play.mode,
                          play.random,
                          std::move(message.afterstates),
                          std::move(message.text),
                          std::move(message.scene),
                          message.clock,
                          play.seed};
        if (auto* list = std::get_if<std::vector<std::int64_t>>(&message.legal)) {
            decision.legal = std::move(*list);
        } else if (const auto* bits = std::get_if<Bytes>(&message.legal)) {
            decision.legal = unmask(*bits);
        }
        Agent& agent = *play.holder.made.agent;
        const bool first = message.first;
        decide(play, out, [&] { return first ? agent.start(decision) : agent.step(decision); });
    }

    /// Lets an agent answer a decision, with an action or a question.
    template <class Think>
    void decide(Play& play, Out& out, Think think) {
        Frame answered;
        try {
            Answer answer = think();
            if (answer.question) {
                ask(play, std::move(answer.question), out);
                return;
            }
            messages::Action action;
            action.episode = play.episode;
            action.turn = play.turn;
            action.seat = play.holder.seat->seat;
            action.action = std::move(answer.action);
            answered = frame(action);
        } catch (...) {
            const std::string where = play.holder.made.type + " in turn " + std::to_string(play.turn);
            answered = play_failed("crashed", play, crash(where, told));
        }
        settle(play, std::move(answered), out);
    }

    static void settle(Play& play, Frame frame, Out& out) {
        play.answer = std::move(frame);
        out.push_back(play.answer);
    }

    // -- lookahead ------------------------------------------------------------------------------------

    void ask(Play& play, std::shared_ptr<Lookahead> lookahead, Out& out) {
        messages::EnvironmentLookahead question;
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
        out.push_back(play.question);
    }

    void forget(Play& play) {
        if (!play.lookahead) return;
        questions.erase(play.asked);
        play.lookahead.reset();
    }

    template <class Go>
    void answered(std::int64_t id, Out& out, Go go) {
        const auto question = questions.find(id);
        if (question == questions.end()) return;
        const auto play = playing.find(question->second);
        questions.erase(question);
        if (play == playing.end()) return;
        const std::shared_ptr<Lookahead> lookahead = std::move(play->second.lookahead);
        play->second.lookahead.reset();
        decide(play->second, out, [&] { return go(*lookahead); });
    }

    void take(messages::Reply& message, Out& out) {
        answered(message.id, out,
                 [&](const Lookahead& lookahead) { return lookahead.then(positions(message.body)); });
    }

    void take(messages::Error& message, Out& out) {
        if (!message.id) return;
        answered(*message.id, out, [&](const Lookahead& lookahead) -> Answer {
            if (!lookahead.refused) throw dovetail::Error(message.message);
            return lookahead.refused(message.message);
        });
    }

    // -- the rest of an episode -------------------------------------------------------------------------

    void take(messages::End& message, Out& out) {
        const Key key{message.episode, message.seat};
        if (ended.find(key) != nullptr) return;
        ended.keep(key, true);
        Holder holder;
        const auto play = playing.find(key);
        if (play != playing.end()) {
            forget(play->second);
            holder = std::move(play->second.holder);
            playing.erase(play);
        } else {  // the episode ended before this seat had to decide
            const auto seat = seats.find({message.match, message.seat});
            if (seat == seats.end()) return;
            holder = seat->second;
        }
        if (!message.unreadable.empty()) message.observation = message.scene = Value();
        try {
            holder.made.agent->end(End{*holder.seat, message.episode, message.reward,
                                       std::move(message.observation), std::move(message.outcome),
                                       message.reason, message.blame, message.total, message.decisions,
                                       message.mode, std::move(message.text), std::move(message.scene)});
        } catch (...) {
            const std::string why = crash(holder.made.type + " at the end of an episode", told);
            out.push_back(
                codec::encode_message(messages::Error{"crashed", why, {}, message.episode, message.seat}));
        }
    }

    void take(messages::Init& message, Out& out) {
        const auto refuse = [&](const char* code, std::string text) {
            out.push_back(codec::encode_message(
                messages::Error{code, std::move(text), {}, {}, message.seat, message.match}));
        };
        const Made made = find(message.instance);
        if (!made.agent) {
            refuse("unknown", "there is no agent " + std::to_string(message.instance));
            return;
        }
        Holder& holder = seats[{message.match, message.seat}];
        if (holder.made.agent == made.agent) return;
        holder.made = made;
        holder.seat = std::make_shared<const Seat>(
            Seat{message.match, message.seat, std::move(message.spec), message.lookahead});
        try {
            made.agent->init(*holder.seat);
        } catch (...) {
            refuse("unavailable", refusal(made.type + " taking a seat", told));
        }
    }

    void take(messages::Leave& message, Out&) {
        seats.erase(seats.lower_bound({message.match, INT64_MIN}),
                    seats.upper_bound({message.match, INT64_MAX}));
    }

    // -- requests -----------------------------------------------------------------------------------------

    /// Nobody if there is no such instance.
    Made find(std::int64_t instance) const {
        const auto found = instances.find(instance);
        return found == instances.end() ? single : found->second;
    }

    /// Has an agent answer a request.
    template <class Request, class Do>
    void request(const Request& message, const char* what, Out& out, Do act) {
        const Made made = find(message.instance);
        answer(message.id, made.type + " in " + what, out, [&] {
            if (!made.agent) throw dovetail::Error("there is no agent " + std::to_string(message.instance));
            return act(*made.agent);
        });
    }

    void take(messages::Create& message, Out& out) {
        answer(message.id, message.agent + " in create", out, [&] {
            if (instances.count(message.instance) == 0) {
                instances[message.instance] = {make(message), message.agent};
            }
            return messages::Reply{message.id};
        });
    }

    std::shared_ptr<Agent> make(const messages::Create& message) const {
        for (const AgentType& type : types) {
            if (type.name != message.agent || type.instance) continue;
            std::shared_ptr<Agent> agent =
                type.make(type.parameters.read(message.parameters, "agent " + type.name), message.seed);
            if (message.state) agent->load(*message.state);
            return agent;
        }
        throw dovetail::Error("this program makes no agent '" + utf8::line(message.agent.substr(0, 40)) +
                              "'");
    }

    void take(messages::Save& message, Out& out) {
        request(message, "save", out, [&](Agent& agent) {
            return messages::Saved{message.id, agent.save()};
        });
    }

    void take(messages::Load& message, Out& out) {
        request(message, "load", out, [&](Agent& agent) {
            agent.load(message.state);
            return messages::Reply{message.id};
        });
    }

    void take(messages::AgentMessage& message, Out& out) {
        request(message, "message", out, [&](Agent& agent) {
            return messages::Reply{message.id, agent.message(message.body)};
        });
    }

    void take(messages::Cleanup& message, Out& out) {
        request(message, "cleanup", out, [&](Agent& agent) {
            instances.erase(message.instance);
            agent.cleanup();
            return messages::Reply{message.id};
        });
    }

    // -- a session that is lost -----------------------------------------------------------------------------

    void take(messages::Welcome& message, Out&) {
        limits = message.limits;
        if (message.resumed) return;
        Out nobody;  // the new session knows nothing of what fails here
        std::vector<messages::End> ends;
        for (const auto& [key, play] : playing) {
            messages::End end;
            end.episode = key.first;
            end.seat = key.second;
            end.match = play.holder.seat->match;
            end.reason = Reason::disconnected;
            end.mode = play.mode;
            ends.push_back(std::move(end));
        }
        for (messages::End& end : ends) take(end, nobody);
        seats.clear();
        ended.clear();
        answers.clear();
        questions.clear();
        for (const auto& instance : instances) {
            try {
                instance.second.agent->cleanup();
            } catch (...) {
                // Nobody is left to be told.
            }
        }
        instances.clear();
    }
};

AgentHost::AgentHost(std::vector<AgentType> types) : inside_(new Inside(failed)) {
    for (const AgentType& type : types) {
        if (!type.instance) continue;
        if (types.size() != 1) throw Error("a program that is one agent can offer no other");
        inside_->single = {type.make(type.parameters.read({}, "agent " + type.name), 0), type.name};
    }
    inside_->types = std::move(types);
}

AgentHost::~AgentHost() = default;

std::vector<Offer> AgentHost::offers() const {
    std::vector<Offer> out;
    for (const AgentType& type : inside_->types) out.push_back(offer(type));
    return out;
}

void AgentHost::handle(messages::Incoming message, std::vector<Frame>& out) {
    std::visit([&](auto& each) { inside_->take(each, out); }, message);
}

}  // namespace dovetail
