#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <variant>

#include "columns.hpp"
#include "dovetail/spaces.hpp"
#include "environment_group.hpp"

namespace dovetail {

namespace {

/// An environment, and what its last start or step led to.
struct Copy {
    std::unique_ptr<Environment> environment;
    std::variant<Turn, Fault> turn;
    /// The number of the last turn; -1 before the first.
    std::int64_t number = -1;
};

class Copies : public VectorEnvironment {
public:
    Copies(const EnvironmentType& type, const Map& configuration, std::size_t slots,
           const hosting::Told& told)
        : name_(type.name), told_(told) {
        for (std::size_t i = 0; i < slots; ++i) {
            copies_.emplace_back().environment = type.make(configuration);
        }
    }

    Spec init() override {
        for (Copy& each : copies_) spec_ = each.environment->init();
        return spec_;
    }

    void start(const std::vector<std::int32_t>& slots, const std::vector<std::uint64_t>& seeds) override {
        for (std::size_t i = 0; i < slots.size(); ++i) {
            copy(slots[i]).number = -1;
            play(slots[i],
                 [&](Environment& game) { return game.start(static_cast<std::int64_t>(seeds[i])); });
        }
    }

    void step(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& seats,
              const std::vector<std::int64_t>& actions) override {
        for (std::size_t i = 0; i < slots.size();) {
            const std::int32_t slot = slots[i];
            Actions joint;
            for (; i < slots.size() && slots[i] == slot; ++i) joint.emplace_back(seats[i], actions[i]);
            play(slot, [&](Environment& game) { return game.step(joint); });
        }
    }

    Transitions transitions(const std::vector<std::int32_t>& slots, bool afterstates) override {
        const auto seats = static_cast<std::size_t>(spec_.seats);
        Transitions found;
        found.rewards.assign(slots.size() * seats, 0.0);
        found.over.assign(slots.size(), Over::continues);
        bool differ = false;
        List seen, finals;
        std::vector<Legal> legal;
        List after;
        for (std::size_t at = 0; at < slots.size(); ++at) {
            Copy& each = copy(slots[at]);
            if (std::holds_alternative<Turn>(each.turn)) {
                try {
                    add_rows(slots[at], each, afterstates, found, seen, legal, after);
                } catch (...) {
                    each.turn = fault(slots[at], each.number - 1);
                }
            }
            if (auto* const failed = std::get_if<Fault>(&each.turn)) {
                found.over[at] = Over::failed;
                found.faults.push_back(*failed);
                continue;
            }
            const Turn& turn = std::get<Turn>(each.turn);
            for (const View& view : turn.seats) {
                found.rewards[at * seats + static_cast<std::size_t>(view.seat)] = view.reward;
            }
            if (!turn.to_act.empty()) continue;
            found.over[at] = turn.terminated ? Over::terminated : Over::truncated;
            List last(seats);
            for (const View& view : turn.seats) last[static_cast<std::size_t>(view.seat)] = view.observation;
            finals.insert(finals.end(), last.begin(), last.end());
            std::vector<double> scores(seats, std::numeric_limits<double>::quiet_NaN());
            if (turn.outcome) scores = *turn.outcome;
            found.outcomes.insert(found.outcomes.end(), scores.begin(), scores.end());
            std::vector<std::uint8_t> cut(seats, turn.terminated ? 0 : 1);
            for (const View& view : turn.seats) {
                if (!view.truncated) continue;
                cut[static_cast<std::size_t>(view.seat)] = *view.truncated ? 1 : 0;
                differ = true;
            }
            found.truncated.insert(found.truncated.end(), cut.begin(), cut.end());
        }
        found.observations = columns::stacked(std::move(seen));
        found.legal = masks(legal);
        found.finals = by_episode(columns::stacked(std::move(finals)), seats);
        found.afterstates = columns::joined(after);
        if (!differ) found.truncated.clear();
        settle(found);
        return found;
    }

    void cleanup() override {
        for (Copy& each : copies_) each.environment->cleanup();
    }

private:
    Copy& copy(std::int32_t slot) { return copies_[static_cast<std::size_t>(slot)]; }

    template <class Go>
    void play(std::int32_t slot, Go go) {
        Copy& each = copy(slot);
        try {
            Turn turn = go(*each.environment);
            check(turn);
            each.turn = std::move(turn);
            ++each.number;
        } catch (const IllegalAction& refused) {
            Fault fault;
            fault.slot = slot;
            fault.code = name_of(Code::illegal);
            fault.message = utf8::line(refused.what());
            fault.seat = refused.seat;
            each.turn = std::move(fault);
        } catch (...) {
            each.turn = fault(slot, each.number);
        }
    }

    /// The fault of a slot from the exception being handled; `number` is that of the turn that was played.
    Fault fault(std::int32_t slot, std::int64_t number) const {
        Fault fault;
        fault.slot = slot;
        fault.code = name_of(Code::crashed);
        fault.message =
            hosting::crash(name_ + (number < 0 ? " in start" : " in turn " + std::to_string(number)), told_);
        return fault;
    }

    /// Throws Error for a turn that cannot be put into columns.
    void check(const Turn& turn) const {
        if ((turn.terminated || turn.truncated) == !turn.to_act.empty()) {
            throw Error("`to_act` must be empty if and only if the episode is over");
        }
        std::set<std::int64_t> seats;
        for (const View& view : turn.seats) {
            if (view.seat < 0 || view.seat >= spec_.seats || !seats.insert(view.seat).second) {
                throw Error("a seat is foreign or twice in `seats`");
            }
        }
        std::set<std::int64_t> acting;
        for (const std::int64_t seat : turn.to_act) {
            if (seats.count(seat) == 0 || !acting.insert(seat).second) {
                throw Error("`to_act` names a seat twice, or one that is not in `seats`");
            }
        }
        if (turn.outcome && turn.outcome->size() != static_cast<std::size_t>(spec_.seats)) {
            throw Error("`outcome` needs a score for each of " + std::to_string(spec_.seats) + " seats");
        }
    }

    /// Adds a row for each seat to act of a slot, or nothing if one of them fails.
    void add_rows(std::int32_t slot, Copy& each, bool afterstates, Transitions& found, List& seen,
                  std::vector<Legal>& legal, List& after) {
        const Turn& turn = std::get<Turn>(each.turn);
        std::vector<const View*> views;
        for (const View& view : turn.seats) {
            if (std::find(turn.to_act.begin(), turn.to_act.end(), view.seat) != turn.to_act.end()) {
                views.push_back(&view);
            }
        }
        std::sort(views.begin(), views.end(), [](auto* a, auto* b) { return a->seat < b->seat; });
        std::vector<Legal> mine;
        List more;
        for (const View* const view : views) {
            mine.push_back(view->legal);
            if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&view->legal)) {
                mine.back() = mask(*list, end());
            }
            if (const auto* const bits = std::get_if<Bytes>(&mine.back()); bits != nullptr) {
                if (bits->size() > width()) throw Error("a mask is longer than the action space");
            }
            if (afterstates) more.push_back(columns::joined({each.environment->afterstates(view->seat)}));
        }
        for (std::size_t i = 0; i < views.size(); ++i) {
            found.rows.push_back(slot);
            found.seats.push_back(static_cast<std::int32_t>(views[i]->seat));
            seen.push_back(views[i]->observation);
            legal.push_back(std::move(mine[i]));
        }
        after.insert(after.end(), more.begin(), more.end());
    }

    const spaces::Discrete& space() const {
        const auto* const found =
            spec_.action_spaces.empty() ? nullptr : spec_.action_spaces[0].as<spaces::Discrete>();
        if (found == nullptr) throw Error("a group needs Discrete actions");
        return *found;
    }
    /// The number after the last action.
    std::size_t end() const {
        return static_cast<std::size_t>(std::max<std::int64_t>(0, space().start + space().n));
    }
    std::size_t width() const { return (end() + 7) / 8; }

    /// Masks of equal length; all bits for a seat that may do anything, unless all may.
    Masks masks(const std::vector<Legal>& legal) const {
        const auto free = [](const Legal& each) { return std::holds_alternative<std::monostate>(each); };
        if (std::all_of(legal.begin(), legal.end(), free)) return {};
        std::vector<std::int64_t> all;
        for (auto i = std::max<std::int64_t>(0, space().start); i < static_cast<std::int64_t>(end()); ++i) {
            all.push_back(i);
        }
        const Bytes every = mask(all, end());
        Masks found;
        found.width = width();
        for (const Legal& each : legal) {
            const Bytes& bits = free(each) ? every : std::get<Bytes>(each);
            found.bits.insert(found.bits.end(), bits.begin(), bits.end());
            found.bits.resize(found.bits.size() + found.width - bits.size());
        }
        return found;
    }

    /// The final observations, which come seat by seat, for each episode.
    static Value by_episode(Value flat, std::size_t seats) {
        if (flat.is_tensor()) {
            return columns::split(flat.as_tensor(), flat.as_tensor().shape()[0] / seats, seats);
        }
        if (!flat.is_list()) return flat;
        List out;
        for (std::size_t first = 0; first < flat.as_list().size(); first += seats) {
            out.push_back(columns::part(flat, first, seats));
        }
        return out;
    }

    /// Drops columns that say nothing.
    static void settle(Transitions& found) {
        const auto zero = [](double each) { return each == 0.0; };
        if (std::all_of(found.rewards.begin(), found.rewards.end(), zero)) found.rewards.clear();
        const auto none = [](double each) { return std::isnan(each); };
        if (std::all_of(found.outcomes.begin(), found.outcomes.end(), none)) found.outcomes.clear();
        const auto going = [](Over each) { return each == Over::continues; };
        if (std::all_of(found.over.begin(), found.over.end(), going)) found.over.clear();
    }

    std::string name_;
    const hosting::Told& told_;
    std::vector<Copy> copies_;
    Spec spec_;
};

}  // namespace

std::unique_ptr<VectorEnvironment> copies(const EnvironmentType& type, const Map& configuration,
                                          std::size_t slots, const hosting::Told& told) {
    return std::make_unique<Copies>(type, configuration, slots, told);
}

}  // namespace dovetail
