/// \file
/// Many episodes of one game at once, arrays in and arrays out: the columns of SPEC.md, Stacked turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dovetail/messages.hpp"

namespace dovetail {

using messages::Clock;
using messages::Fault;
using messages::Spec;

/// The state of a slot, in `Transitions::over`.
enum class Over : std::uint8_t { continues, terminated, truncated, failed };

/// A bit mask of legal actions in each row.
struct Masks {
    /// Bytes of a row.
    std::size_t width = 0;
    /// Row by row: action `a` is bit `a % 8` of byte `a / 8`. Without any, every action of the space is
    /// legal.
    Bytes bits = {};

    bool empty() const { return bits.empty(); }
    /// The legal actions of a row, in rising order.
    std::vector<std::int64_t> actions(std::size_t row) const;
};

/// The result of the last transition of some slots.
struct Transitions {
    /// The slot of each seat that must act, rising.
    std::vector<std::int32_t> rows = {};
    /// The seat of each row; seats of one slot are adjacent and rising.
    std::vector<std::int32_t> seats = {};
    /// A tensor [rows, ...], or a list of one value per row: the observations.
    Value observations = {};
    Masks legal = {};
    /// [slots, seats]: each seat's reward; empty if all are 0.
    std::vector<double> rewards = {};
    /// [slots]; empty if all continue.
    std::vector<Over> over = {};
    /// A tensor [ended, seats, ...], or a list of lists: the last observations of terminated and truncated
    /// slots.
    Value finals = {};
    /// [ended, seats]: their scores, NaN for none; empty if there are none.
    std::vector<double> outcomes = {};
    /// [ended, seats]: 1 if a limit cut the seat short, 0 if the rules ended it; empty is as `over` says.
    std::vector<std::uint8_t> truncated = {};
    /// If asked for: one row for each legal action, row by row.
    Value afterstates = {};
    /// The errors of the failed slots, in slot order.
    std::vector<Fault> faults = {};
};

/// Episodes of one game in numbered slots. `start` and `step` change slots, `transitions` then says what it
/// led to; both calls together name each slot once at most. A game must play here exactly as its
/// `Environment` does.
class VectorEnvironment {
public:
    VectorEnvironment() = default;
    VectorEnvironment(const VectorEnvironment&) = delete;
    VectorEnvironment& operator=(const VectorEnvironment&) = delete;
    virtual ~VectorEnvironment() = default;

    /// Returns the spec of the game; called once, before anything else.
    virtual Spec init() = 0;
    /// Begins an episode in each of some slots, which are rising, dropping those in progress there.
    virtual void start(const std::vector<std::int32_t>& slots, const std::vector<std::uint64_t>& seeds) = 0;
    /// Applies the actions of all seats that had to act in some slots, row by row; they are legal by the
    /// masks.
    virtual void step(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>& seats,
                      const std::vector<std::int64_t>& actions) = 0;
    /// Returns the result of the last `start` or `step` of some slots, in rising order.
    virtual Transitions transitions(const std::vector<std::int32_t>& slots, bool afterstates) = 0;
    /// Called when the group is over.
    virtual void cleanup() {}
};

/// Decisions of a group, one in each row.
struct Rows {
    /// Rising.
    std::vector<std::int32_t> slots = {};
    std::vector<std::int32_t> seats = {};
    std::vector<std::int32_t> turns = {};
    /// A tensor [rows, ...], or a list of one value per row.
    Value observations = {};
    Masks legal = {};
    /// Each seat's reward since its last decision.
    std::vector<double> rewards = {};
    /// Which rows are the first of their seat in an episode.
    std::vector<std::int32_t> starts = {};
    /// The numbers of these episodes.
    std::vector<std::int64_t> episodes = {};
    /// The seeds of random choices in each of these episodes.
    std::vector<std::uint64_t> seeds = {};
    /// In `evaluate` an agent must not change.
    Mode mode = Mode::learn;
    std::optional<Clock> clock = {};
    /// One row for each legal action, row by row (if `wants` asks).
    Value afterstates = {};
};

/// Ends of episodes, one of a seat in each row.
struct Ends {
    std::vector<std::int32_t> slots = {};
    std::vector<std::int32_t> seats = {};
    std::vector<std::int64_t> episodes = {};
    /// Each seat's reward since its last decision.
    std::vector<double> rewards = {};
    /// The returns.
    std::vector<double> totals = {};
    std::vector<std::int32_t> decisions = {};
    std::vector<Reason> reasons = {};
    /// [ended, seats]: the scores, NaN for none; empty if there are none.
    std::vector<double> outcomes = {};
    /// The seat at fault, -1 for none; empty if none is anywhere.
    std::vector<std::int32_t> blames = {};
    /// A tensor [ended, ...], or a list of one value each; nil if there are none.
    Value observations = {};
    Mode mode = Mode::learn;
};

}  // namespace dovetail
