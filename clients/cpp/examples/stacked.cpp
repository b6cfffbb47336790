// Hundreds of games of Connect Four at once: an environment and an agent that take and return arrays.
#include <cstdio>
#include <dovetail/dovetail.hpp>
#include <string>

using namespace dovetail;

namespace {

constexpr int kRows = 6, kColumns = 7;
constexpr std::size_t kSquares = kRows * kColumns;
using Bits = std::uint64_t;

/// A position. Square (column c, row r), row 0 at the bottom, is bit `c * (kRows + 1) + r`; the spare bit on
/// top of each column keeps lines from wrapping around.
struct Position {
    Bits discs[2] = {0, 0};
    int moves = 0;

    int mover() const { return moves % 2; }
    static Bits square(int column, int row) { return Bits{1} << (column * (kRows + 1) + row); }
    bool free(int column) const { return ((discs[0] | discs[1]) & square(column, kRows - 1)) == 0; }
    void drop(int column) {
        const Bits full = square(column + 1, 0) - square(column, 0);
        discs[mover()] |= ((discs[0] | discs[1]) + square(column, 0)) & full & ~(discs[0] | discs[1]);
        ++moves;
    }
    /// True if the player who moved last has four in a row.
    bool won() const {
        const Bits mine = discs[1 - mover()];
        for (const int by : {1, kRows, kRows + 1, kRows + 2}) {
            const Bits pairs = mine & mine >> by;
            if ((pairs & pairs >> 2 * by) != 0) return true;
        }
        return false;
    }
    bool over() const { return won() || moves == static_cast<int>(kSquares); }
    double reward(int seat) const { return !won() ? 0.0 : seat != mover() ? 1.0 : -1.0; }
    double score(int seat) const { return (reward(seat) + 1) / 2; }
    std::uint8_t legal() const {
        unsigned mask = 0;
        for (int i = 0; i < kColumns; ++i) mask |= static_cast<unsigned>(free(i)) << i;
        return static_cast<std::uint8_t>(mask);
    }
    /// Writes what a seat observes, [2, rows, columns]: its discs, then the opponent's.
    void draw(int seat, std::uint8_t* out) const {
        for (const Bits plane : {discs[seat], discs[1 - seat]}) {
            for (int row = 0; row < kRows; ++row) {
                for (int column = 0; column < kColumns; ++column) *out++ = (plane & square(column, row)) != 0;
            }
        }
    }
};

/// The spec of `dovetail env connect_four` on its board of 6 rows and 7 columns.
Spec spec() {
    Spec spec;
    spec.name = "connect_four";
    spec.seats = 2;
    spaces::Box planes;
    planes.shape = {2, kRows, kColumns};
    planes.low = 0;
    planes.high = 1;
    planes.dtype = "uint8";
    spec.observation_spaces = {planes};
    spec.action_spaces = {spaces::Discrete{kColumns}};
    spec.reward_range = {-1.0, 1.0};
    spec.forfeit = {-1.0, 1.0};
    spec.max_turns = static_cast<std::int64_t>(kSquares);
    return spec;
}

/// One game at a time, for single matches.
class Game : public Environment {
    Spec init() override { return spec(); }
    Turn start(std::int64_t) override {
        position_ = {};
        return turn();
    }
    Turn step(const Actions& actions) override {
        const std::int64_t column = actions.at(0).second.as_int();
        if (column < 0 || column >= kColumns || !position_.free(static_cast<int>(column))) {
            throw IllegalAction("column " + std::to_string(column) + " is not free", position_.mover());
        }
        position_.drop(static_cast<int>(column));
        return turn();
    }

    Turn turn() const {
        Turn turn;
        turn.terminated = position_.over();
        if (turn.terminated) {
            turn.seats = {view(0), view(1)};
            turn.outcome = {position_.score(0), position_.score(1)};
            return turn;
        }
        turn.to_act = {position_.mover()};
        turn.seats = {view(position_.mover())};
        turn.seats[0].legal = Bytes{position_.legal()};
        return turn;
    }
    View view(int seat) const {
        Tensor planes = Tensor::zeros(Dtype::uint8, {2, kRows, kColumns});
        position_.draw(seat, planes.elements<std::uint8_t>());
        View view;
        view.seat = seat;
        view.observation = std::move(planes);
        if (position_.over()) view.reward = position_.reward(seat);
        return view;
    }

    Position position_;
};

/// The same in numbered slots.
class Games : public VectorEnvironment {
public:
    explicit Games(std::size_t slots) : positions_(slots) {}

    Spec init() override { return spec(); }

    void start(const std::vector<std::int32_t>& slots, const std::vector<std::uint64_t>&) override {
        for (const std::int32_t slot : slots) at(slot) = {};
    }

    void step(const std::vector<std::int32_t>& slots, const std::vector<std::int32_t>&,
              const std::vector<std::int64_t>& actions) override {
        for (std::size_t i = 0; i < slots.size(); ++i) at(slots[i]).drop(static_cast<int>(actions[i]));
    }

    Transitions transitions(const std::vector<std::int32_t>& slots, bool) override {
        Transitions found;
        std::vector<std::int32_t> ended;
        found.rewards.reserve(2 * slots.size());
        for (const std::int32_t slot : slots) {
            const Position& position = at(slot);
            const bool over = position.over();
            found.over.push_back(over ? Over::terminated : Over::continues);
            for (const int seat : {0, 1}) found.rewards.push_back(over ? position.reward(seat) : 0.0);
            if (over) {
                ended.push_back(slot);
                for (const int seat : {0, 1}) found.outcomes.push_back(position.score(seat));
                continue;
            }
            found.rows.push_back(slot);
            found.seats.push_back(position.mover());
            found.legal.bits.push_back(position.legal());
        }
        found.legal.width = 1;
        Tensor seen = Tensor::zeros(Dtype::uint8, {found.rows.size(), 2, kRows, kColumns});
        auto* out = seen.elements<std::uint8_t>();
        for (const std::int32_t slot : found.rows) {
            at(slot).draw(at(slot).mover(), out);
            out += 2 * kSquares;
        }
        found.observations = std::move(seen);
        if (ended.empty()) return found;
        Tensor last = Tensor::zeros(Dtype::uint8, {ended.size(), 2, 2, kRows, kColumns});
        out = last.elements<std::uint8_t>();
        for (const std::int32_t slot : ended) {
            for (const int seat : {0, 1}) {
                at(slot).draw(seat, out);
                out += 2 * kSquares;
            }
        }
        found.finals = std::move(last);
        return found;
    }

private:
    Position& at(std::int32_t slot) { return positions_[static_cast<std::size_t>(slot)]; }

    std::vector<Position> positions_;
};

/// Any legal action; in a group, of all rows with one call.
class RandomRows : public Agent {
    Answer step(const Decision& decision) override { return decision.random_action(); }

    /// Generators of random numbers, one for each seat of each slot.
    struct Memory {
        std::size_t seats;
        std::vector<Random> random;
    };

    std::any open_group(const Seats& seats, std::size_t slots) override {
        const auto number = static_cast<std::size_t>(seats.begin()->second->spec.seats);
        return Memory{number, std::vector<Random>(slots * number)};
    }

    std::vector<std::int64_t> step_rows(const Rows& rows, std::any& memory) override {
        auto& [seats, random] = std::any_cast<Memory&>(memory);
        const auto place = [&](std::size_t row) {
            return static_cast<std::size_t>(rows.slots[row]) * seats +
                   static_cast<std::size_t>(rows.seats[row]);
        };
        for (std::size_t i = 0; i < rows.starts.size(); ++i) {
            random[place(static_cast<std::size_t>(rows.starts[i]))] =
                Random(static_cast<std::int64_t>(rows.seeds[i]));
        }
        if (rows.legal.empty()) throw Error("this example needs legal actions");
        std::vector<std::int64_t> actions;
        for (std::size_t row = 0; row < rows.slots.size(); ++row) {
            actions.push_back(random[place(row)].pick(rows.legal.actions(row)));
        }
        return actions;
    }
};

}  // namespace

int main(int count, char** arguments) {
    const std::string role = count > 1 ? arguments[1] : "";
    if (role == "agent") {
        AgentType type =
            agent<RandomRows>("random-rows-cpp", "Plays any legal action, of many games with one call.");
        type.capacity = 0;
        return serve_main(type);
    }
    if (role == "environment") {
        EnvironmentType type =
            environment<Game>("connect-four-cpp", "Connect Four, of many games with one call.");
        type.seats = {{2}};
        type.vector = [](const Map&, std::size_t slots) { return std::make_unique<Games>(slots); };
        return serve_main(type);
    }
    std::fputs("usage: stacked agent|environment\n", stderr);
    return 2;
}
