#include "environment_group.hpp"

#include <algorithm>

#include "columns.hpp"

namespace dovetail {

EnvironmentGroup::EnvironmentGroup(const EnvironmentType& type, const Map& configuration,
                                   const messages::Open& message, const hosting::Told& told)
    : name(type.name), slots_(static_cast<std::size_t>(message.slots)), afterstates_(message.afterstates) {
    game_ = type.vector ? type.vector(configuration, slots_) : copies(type, configuration, slots_, told);
}

Spec EnvironmentGroup::init() {
    Spec spec = game_->init();
    seats_ = static_cast<std::size_t>(spec.seats);
    return spec;
}

messages::Turns EnvironmentGroup::steps(const messages::EnvironmentSteps& message) {
    const auto slots = columns::read<std::int32_t>("slots", message.slots);
    const auto seats = columns::read<std::int32_t>("seats", message.seats, slots.size());
    const auto actions = columns::read<std::int64_t>("actions", message.actions, slots.size());
    const auto restarts = columns::read<std::int32_t>("restarts", message.restarts);
    const auto seeds = columns::read<std::uint64_t>("seeds", message.seeds, restarts.size());
    const std::vector<std::int32_t> all = named(slots, restarts);
    if (!restarts.empty()) game_->start(restarts, seeds);
    if (!slots.empty()) game_->step(slots, seats, actions);
    Transitions found = game_->transitions(all, afterstates_);

    messages::Turns turns;
    turns.match = message.match;
    turns.batch = message.batch;
    turns.slots = columns::of(all);
    if (!found.rewards.empty()) turns.rewards = Tensor::of<double>({all.size(), seats_}, found.rewards);
    if (!found.over.empty()) {
        std::vector<std::uint8_t> over;
        for (const Over each : found.over) over.push_back(static_cast<std::uint8_t>(each));
        turns.over = Tensor::of<std::uint8_t>({all.size()}, over);
    }
    if (!found.rows.empty()) {
        const std::size_t rows = found.rows.size();
        turns.rows = columns::of(found.rows);
        turns.seats = columns::of(found.seats);
        turns.observations = std::move(found.observations);
        if (!found.legal.empty()) {
            turns.legal = Tensor(Dtype::uint8, {rows, found.legal.width}, std::move(found.legal.bits));
        }
        turns.afterstates = std::move(found.afterstates);
    }
    turns.finals = std::move(found.finals);
    if (!found.outcomes.empty()) {
        const std::size_t ended = found.outcomes.size() / std::max<std::size_t>(1, seats_);
        turns.outcomes = Tensor::of<double>({ended, seats_}, found.outcomes);
    }
    if (!found.truncated.empty()) {
        const std::size_t ended = found.truncated.size() / std::max<std::size_t>(1, seats_);
        turns.truncated = Tensor::of<std::uint8_t>({ended, seats_}, found.truncated);
    }
    turns.faults = std::move(found.faults);
    return turns;
}

/// The slots of a batch, rising; none may be foreign, or act and begin at once.
std::vector<std::int32_t> EnvironmentGroup::named(const std::vector<std::int32_t>& slots,
                                                  const std::vector<std::int32_t>& restarts) const {
    enum Use : std::uint8_t { none, acts, begins };
    std::vector<Use> uses(slots_, none);
    const auto note = [&](const std::vector<std::int32_t>& column, Use use) {
        for (const std::int32_t slot : column) {
            if (slot < 0 || static_cast<std::size_t>(slot) >= slots_) {
                throw ProtocolError(Code::invalid, "a slot is not in 0 .. " + std::to_string(slots_ - 1));
            }
            Use& known = uses[static_cast<std::size_t>(slot)];
            if (known != none && (use == begins || known != use)) {
                throw ProtocolError(Code::invalid, "slot " + std::to_string(slot) + " is named twice");
            }
            known = use;
        }
    };
    note(slots, acts);
    note(restarts, begins);
    std::vector<std::int32_t> all;
    for (std::size_t slot = 0; slot < slots_; ++slot) {
        if (uses[slot] != none) all.push_back(static_cast<std::int32_t>(slot));
    }
    return all;
}

}  // namespace dovetail
