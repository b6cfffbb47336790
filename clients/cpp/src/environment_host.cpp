#include <algorithm>

#include "dovetail/hosts.hpp"
#include "environment_group.hpp"
#include "hosting.hpp"

namespace dovetail {

using hosting::crash;
using hosting::refusal;

namespace {

/// The parts of a turn that watchers want.
struct Shown {
    bool text = false;
    bool scene = false;
};

/// An environment made for a match, and its episode in progress.
struct Place {
    std::string name;
    std::unique_ptr<Environment> environment;
    std::int64_t seats = 1;
    bool started = false;
    std::int64_t episode = 0;
    std::vector<std::vector<Want>> wants;
    /// Of every turn.
    Shown always;
    /// Of the next one.
    Shown next;
    /// The turn that the episode is at.
    std::int64_t turn = 0;
    /// The number of the frame that was answered last.
    std::int64_t seq = 0;
    /// True if that step was refused or failed.
    bool failed = false;
    std::vector<std::int64_t> to_act;

    /// Heeds what a start or step asks for watchers.
    template <class Message>
    void watch(const Message& message) {
        next = {always.text || message.watched, always.scene || message.scenes};
        if (!message.once) always = next;
    }
};

bool wanted(const std::vector<Want>& wants, Want want) {
    return std::find(wants.begin(), wants.end(), want) != wants.end();
}

/// Plays one entry of a line on; returns false, and says why in `error`, if it cannot be played.
bool play_on(Environment& environment, messages::Preview& position, const std::vector<Value>& actions) {
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
            const auto seat = static_cast<std::size_t>(view.seat);
            if (seat < position.rewards.size()) position.rewards[seat] += view.reward;
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
    using Common::take;

    std::vector<EnvironmentType> types;
    std::map<std::int64_t, Place> open;               // by match
    std::map<std::int64_t, std::int64_t> episodes;    // the match of each
    std::map<std::int64_t, EnvironmentGroup> groups;  // by match

    Place* playing(std::int64_t episode) {
        const auto found = episodes.find(episode);
        return found == episodes.end() ? nullptr : &open.at(found->second);
    }

    // -- episodes -----------------------------------------------------------------------------------

    void take(messages::EnvironmentStep& message) {
        Place* const place = playing(message.episode);
        if (place == nullptr || message.turn != place->turn) {
            refuse(seq(), Code::unknown,
                   "episode " + std::to_string(message.episode) + " is not at turn " +
                       std::to_string(message.turn));
            return;
        }
        place->watch(message);
        play(*place, message.turn, [&] { return place->environment->step(message.actions); });
    }

    void take(messages::EnvironmentStart& message) {
        const auto found = open.find(message.match);
        if (found == open.end()) {
            refuse(seq(), Code::unknown, "match " + std::to_string(message.match) + " is not open");
            return;
        }
        Place& place = found->second;
        if (place.started) episodes.erase(place.episode);
        episodes[message.episode] = message.match;
        place.started = true;
        place.episode = message.episode;
        place.wants = std::move(message.wants);
        place.always = {};
        place.watch(message);
        play(place, -1, [&] { return place.environment->start(message.seed); });
    }

    /// Lets an environment make the turn that follows `last`; -1 before the first.
    template <class Go>
    void play(Place& place, std::int64_t last, Go go) {
        settled(place.seq);
        place.seq = seq();
        place.failed = true;
        try {
            Turn turn = go();
            turn.episode = place.episode;
            turn.turn = last + 1;
            add_wanted(place, turn);
            respond(seq(), frame(turn));
            place.turn = last + 1;
            place.to_act = std::move(turn.to_act);
            place.failed = false;
        } catch (const IllegalAction& refused) {
            refuse(seq(), Code::illegal, utf8::line(refused.what()), refused.seat);
        } catch (...) {
            const std::string where =
                place.name + (last < 0 ? " in start" : " in turn " + std::to_string(last));
            refuse(seq(), Code::crashed, crash(where, told));
        }
    }

    static void add_wanted(const Place& place, Turn& turn) {
        Environment& environment = *place.environment;
        if (place.next.text) turn.text = environment.text(std::nullopt);
        if (place.next.scene) turn.scene = environment.scene(std::nullopt);
        for (View& view : turn.seats) {
            if (static_cast<std::size_t>(view.seat) >= place.wants.size()) continue;
            const std::vector<Want>& wants = place.wants[static_cast<std::size_t>(view.seat)];
            if (wanted(wants, Want::text)) view.text = environment.text(view.seat);
            if (wanted(wants, Want::scene)) view.scene = environment.scene(view.seat);
            if (wanted(wants, Want::afterstates) &&
                std::find(turn.to_act.begin(), turn.to_act.end(), view.seat) != turn.to_act.end()) {
                view.afterstates = environment.afterstates(view.seat);
            }
        }
    }

    // -- matches --------------------------------------------------------------------------------------

    void take(messages::Open& message) {
        try {
            const EnvironmentType& type = hosting::named(types, message.environment, "environment");
            const Map configuration =
                type.configuration.read(message.configuration, "environment " + type.name);
            if (message.slots > 0) {
                groups.erase(message.match);
                const auto made = groups.try_emplace(message.match, type, configuration, message, told);
                describe(message, made.first->second.init());
                return;
            }
            Place place;
            place.name = message.environment;
            place.environment = type.make(configuration);
            Spec spec = place.environment->init();
            place.seats = spec.seats;
            describe(message, std::move(spec));
            open.emplace(message.match, std::move(place));
        } catch (...) {
            groups.erase(message.match);
            refuse(seq(), Code::unavailable, refusal(message.environment + " in init", told));
        }
    }

    /// Answers an `open`.
    void describe(const messages::Open& message, Spec spec) {
        spec.match = message.match;
        if (spec.name.empty()) spec.name = message.environment;
        respond(seq(), frame(spec));
    }

    void take(messages::EnvironmentSteps& message) {
        const auto found = groups.find(message.match);
        if (found == groups.end()) {
            refuse(seq(), Code::unknown, "group " + std::to_string(message.match) + " is not open");
            return;
        }
        EnvironmentGroup& group = found->second;
        batch(group.before, group.name + " in a batch", [&] { return group.steps(message); });
    }

    void take(messages::Close& message) {
        close(message.match);
        close_group(message.match);
    }

    void close_group(std::int64_t match) {
        const auto found = groups.find(match);
        if (found == groups.end()) return;
        try {
            found->second.cleanup();
        } catch (...) {
            // It is gone all the same, and `close` is not answered.
        }
        groups.erase(found);
    }

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

    void forget() override {
        while (!open.empty()) close(open.begin()->first);
        while (!groups.empty()) close_group(groups.begin()->first);
    }

    // -- requests -------------------------------------------------------------------------------------

    void take(messages::EnvironmentMessage& message) {
        const auto found = open.find(message.match);
        const std::string name = found == open.end() ? "environment" : found->second.name;
        answer(message.id, name + " in message", [&] {
            if (found == open.end())
                throw dovetail::Error("match " + std::to_string(message.match) + " is not open");
            return hosting::reply(found->second.environment->message(message.body));
        });
    }

    void take(messages::EnvironmentLookahead& message) {
        const Place* const place = playing(message.episode);
        const std::string name = place == nullptr ? "environment" : place->name;
        answer(message.id, name + " in lookahead", [&] {
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
                messages::Preview position;
                position.to_act = place->to_act;
                position.rewards.assign(static_cast<std::size_t>(place->seats), 0.0);
                for (const auto& actions : line) {
                    if (!play_on(*copy, position, actions)) break;
                }
                found.push_back(codec::to_value(position));
            }
            return hosting::reply(std::move(found));
        });
    }
};

EnvironmentHost::EnvironmentHost(std::vector<EnvironmentType> types) : inside_(new Inside(failed)) {
    for (const EnvironmentType& type : types) {
        Offer offer;
        offer.name = type.name;
        offer.description = type.description;
        offer.parameters = type.configuration.schema();
        offer.seats = type.seats;
        offer.stacked = true;
        inside_->offers.push_back(std::move(offer));
    }
    inside_->types = std::move(types);
}

EnvironmentHost::~EnvironmentHost() = default;

std::vector<Offer> EnvironmentHost::offers() const {
    return inside_->offers;
}

void EnvironmentHost::handle(messages::Incoming message, std::vector<Frame>& out) {
    Inside::handle(*inside_, message, out);
}

}  // namespace dovetail
