#include <algorithm>

#include "dovetail/hosts.hpp"
#include "hosting.hpp"

namespace dovetail {

using hosting::crash;
using hosting::refusal;

namespace {

using Out = std::vector<Frame>;

/// An environment made for a match, and its episode in progress.
struct Place {
    std::string name;
    std::unique_ptr<Environment> environment;
    Frame spec;
    std::uint64_t seats = 1;
    bool started = false;
    std::int64_t episode = 0;
    std::vector<std::vector<Want>> wants;
    bool watched = false;
    /// The turn that the episode is at.
    std::int64_t turn = 0;
    /// The number of the last `step` that was asked; -1: it was the `start`.
    std::int64_t asked = -1;
    /// Whether that step was refused or failed.
    bool failed = false;
    std::vector<std::int64_t> to_act;
    /// What was answered to it.
    Frame answer;
};

bool wanted(const std::vector<Want>& wants, Want want) {
    return std::find(wants.begin(), wants.end(), want) != wants.end();
}

/// Plays one entry of a line on; returns false, and says why in `error`, if it cannot be played.
bool play_on(Environment& environment, messages::Position& position, const std::vector<Value>& actions) {
    if (position.to_act.empty()) {
        position.error = "the episode would be over";
        return false;
    }
    if (actions.size() != position.to_act.size()) {
        position.error = std::to_string(actions.size()) + " actions for " +
                         std::to_string(position.to_act.size()) + " seats";
        return false;
    }
    Actions pairs;
    for (std::size_t i = 0; i < actions.size(); ++i) pairs.emplace_back(position.to_act[i], actions[i]);
    try {
        Turn turn = environment.step(pairs);
        for (const View& view : turn.seats) {
            if (view.seat < position.rewards.size()) position.rewards[view.seat] += view.reward;
        }
        position.to_act = std::move(turn.to_act);
        position.seats = std::move(turn.seats);
        position.terminated = turn.terminated;
        position.truncated = turn.truncated;
        position.outcome = std::move(turn.outcome);
        ++position.applied;
        return true;
    } catch (const IllegalAction& refused) {
        position.error = utf8::line(refused.what());
        return false;
    }
}

}  // namespace

struct EnvironmentHost::Inside : hosting::Common {
    using Common::Common;

    std::vector<EnvironmentType> types;
    std::map<std::int64_t, Place> open;             // by match
    std::map<std::int64_t, std::int64_t> episodes;  // the match of each

    // What an environment does not hear of.
    template <class T>
    void take(const T&, Out&) {}

    Place* playing(std::int64_t episode) {
        const auto found = episodes.find(episode);
        return found == episodes.end() ? nullptr : &open.at(found->second);
    }

    void take(messages::EnvironmentStep& message, Out& out) {
        Place* const place = playing(message.episode);
        if (place == nullptr) return;
        if (message.turn == place->asked) {
            out.push_back(place->answer);
            return;
        }
        if (message.turn != place->turn) return;
        place->asked = message.turn;
        play(*place, out, [&] { return place->environment->step(message.actions); });
    }

    void take(messages::EnvironmentStart& message, Out& out) {
        const auto found = open.find(message.match);
        if (found == open.end()) {
            out.push_back(codec::encode_message(messages::Error{
                "unknown", "match " + std::to_string(message.match) + " is not open", {}, message.episode}));
            return;
        }
        Place& place = found->second;
        if (place.started && place.episode == message.episode) {
            if (place.asked < 0) out.push_back(place.answer);
            return;
        }
        if (place.started) episodes.erase(place.episode);
        episodes[message.episode] = message.match;
        place.started = true;
        place.episode = message.episode;
        place.wants = std::move(message.wants);
        place.watched = message.watched;
        place.turn = -1;
        place.asked = -1;
        play(place, out, [&] { return place.environment->start(message.seed); });
    }

    /// Lets an environment make the turn that follows on `asked`.
    template <class Go>
    void play(Place& place, Out& out, Go go) {
        try {
            Turn turn = go();
            turn.episode = place.episode;
            turn.turn = static_cast<std::uint64_t>(place.asked + 1);
            add_wanted(place, turn);
            place.answer = frame(turn);
            place.turn = place.asked + 1;
            place.to_act = std::move(turn.to_act);
            place.failed = false;
        } catch (const IllegalAction& refused) {
            place.answer = codec::encode_message(
                messages::Error{"illegal", utf8::line(refused.what()), {}, place.episode, refused.seat});
            place.failed = true;
        } catch (...) {
            const std::string where =
                place.name + (place.asked < 0 ? " in start" : " in turn " + std::to_string(place.asked));
            place.answer =
                codec::encode_message(messages::Error{"crashed", crash(where, told), {}, place.episode});
            place.failed = true;
        }
        out.push_back(place.answer);
    }

    static void add_wanted(const Place& place, Turn& turn) {
        Environment& environment = *place.environment;
        if (place.watched) turn.text = environment.text(std::nullopt);
        if (place.wants.empty()) return;
        for (View& view : turn.seats) {
            if (view.seat >= place.wants.size()) continue;
            const std::vector<Want>& wants = place.wants[view.seat];
            const auto seat = static_cast<std::int64_t>(view.seat);
            if (wanted(wants, Want::text)) view.text = environment.text(seat);
            if (wanted(wants, Want::scene)) view.scene = environment.scene(seat);
            if (wanted(wants, Want::afterstates) &&
                std::find(turn.to_act.begin(), turn.to_act.end(), seat) != turn.to_act.end()) {
                view.afterstates = environment.afterstates(seat);
            }
        }
    }

    void take(messages::Open& message, Out& out) {
        const auto known = open.find(message.match);
        if (known != open.end()) {
            out.push_back(known->second.spec);
            return;
        }
        try {
            Place place;
            place.name = message.environment;
            place.environment = make(message);
            Spec spec = place.environment->init();
            spec.match = message.match;
            if (spec.name.empty()) spec.name = message.environment;
            place.spec = frame(spec);
            place.seats = spec.seats;
            out.push_back(place.spec);
            open.emplace(message.match, std::move(place));
        } catch (...) {
            const std::string why = refusal(message.environment + " in init", told);
            out.push_back(
                codec::encode_message(messages::Error{"unavailable", why, {}, {}, {}, message.match}));
        }
    }

    std::unique_ptr<Environment> make(const messages::Open& message) const {
        for (const EnvironmentType& type : types) {
            if (type.name != message.environment) continue;
            return type.make(type.configuration.read(message.configuration, "environment " + type.name));
        }
        throw dovetail::Error("this program makes no environment '" +
                              utf8::line(message.environment.substr(0, 40)) + "'");
    }

    void take(messages::Close& message, Out&) { close(message.match); }

    void close(std::int64_t match) {
        const auto found = open.find(match);
        if (found == open.end()) return;
        const Place place = std::move(found->second);
        if (place.started) episodes.erase(place.episode);
        open.erase(found);
        try {
            place.environment->cleanup();
        } catch (...) {
            // It is gone all the same, and `close` is not answered.
        }
    }

    void take(messages::EnvironmentMessage& message, Out& out) {
        const auto found = open.find(message.match);
        const std::string name = found == open.end() ? "environment" : found->second.name;
        answer(message.id, name + " in message", out, [&] {
            if (found == open.end())
                throw dovetail::Error("match " + std::to_string(message.match) + " is not open");
            return messages::Reply{message.id, found->second.environment->message(message.body)};
        });
    }

    void take(messages::EnvironmentLookahead& message, Out& out) {
        const Place* const place = playing(message.episode);
        const std::string name = place == nullptr ? "environment" : place->name;
        answer(message.id, name + " in lookahead", out, [&] {
            if (place == nullptr || place->failed) {
                throw dovetail::Error("episode " + std::to_string(message.episode) + " is not in progress");
            }
            if (place->turn != message.turn) {
                throw dovetail::Error("the episode is at turn " + std::to_string(place->turn));
            }
            List found;
            for (const auto& line : message.lines) {
                // The same seed for each line, so that what is drawn is the same for all.
                const auto copy = place->environment->fork(message.seat, message.seed);
                messages::Position position;
                position.to_act = place->to_act;
                position.rewards.assign(place->seats, 0.0);
                for (const auto& actions : line) {
                    if (!play_on(*copy, position, actions)) break;
                }
                found.push_back(codec::to_value(position));
            }
            return messages::Reply{message.id, std::move(found)};
        });
    }

    void take(messages::Welcome& message, Out&) {
        limits = message.limits;
        if (message.resumed) return;
        std::vector<std::int64_t> matches;
        for (const auto& each : open) matches.push_back(each.first);
        for (const std::int64_t match : matches) close(match);
        answers.clear();
    }
};

EnvironmentHost::EnvironmentHost(std::vector<EnvironmentType> types) : inside_(new Inside(failed)) {
    inside_->types = std::move(types);
}

EnvironmentHost::~EnvironmentHost() = default;

std::vector<Offer> EnvironmentHost::offers() const {
    std::vector<Offer> out;
    for (const EnvironmentType& type : inside_->types) {
        Offer offer;
        offer.name = type.name;
        offer.description = type.description;
        offer.parameters = type.configuration.schema();
        offer.seats = type.seats;
        out.push_back(std::move(offer));
    }
    return out;
}

void EnvironmentHost::handle(messages::Incoming message, std::vector<Frame>& out) {
    std::visit([&](auto& each) { inside_->take(each, out); }, message);
}

}  // namespace dovetail
