#include "agent.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "search.hpp"

namespace connect_four {

namespace {

using dovetail::Decision;
using dovetail::Error;
using dovetail::Map;
using dovetail::Value;

/// The numbers of an observation, a tensor or nested arrays, in C order.
void flatten(const Value& value, std::vector<double>& out) {
    if (value.is_tensor()) {
        for (std::size_t i = 0; i < value.as_tensor().size(); ++i) out.push_back(value.as_tensor().number(i));
    } else if (value.is_list()) {
        for (const Value& each : value.as_list()) flatten(each, out);
    } else {
        out.push_back(value.as_number());
    }
}

/// Plane 0 has the discs of who looks, plane 1 the others; row 0 is at the bottom.
Position read(const Board& board, const Value& observation) {
    std::vector<double> squares;
    flatten(observation, squares);
    const auto size = static_cast<std::size_t>(board.rows() * board.columns());
    if (squares.size() != 2 * size) throw Error("an observation that is not a position of this board");
    Position position;
    for (std::size_t i = 0; i < size; ++i) {
        const int row = static_cast<int>(i) / board.columns();
        const Bits square = board.square(static_cast<int>(i) % board.columns(), row);
        if (squares[i] != 0) position.mine |= square;
        if (squares[i] != 0 || squares[i + size] != 0) position.taken |= square;
    }
    return position;
}

/// Seconds that a decision may take, if a clock runs: a good part of what it allows, and a share of what is
/// left.
std::optional<double> budget(const std::optional<dovetail::Clock>& clock) {
    if (!clock) return std::nullopt;
    std::optional<double> most;
    if (clock->decision) most = *clock->decision * 0.6;
    if (clock->left) most = std::min(most.value_or(1e9), std::max(*clock->left, 0.0) / 12);
    return most;
}

class AlphaBeta : public dovetail::Agent {
public:
    AlphaBeta(const Map& parameters, std::int64_t)
        : depth_(static_cast<int>(parameters.at("depth").as_int())), seed_(parameters.at("seed").as_int()) {}

    void init(const dovetail::Seat& seat) override { board_of(seat); }

    dovetail::Answer step(const Decision& decision) override {
        const Board board = board_of(decision.seat);
        if (!search_ || rows_ != board.rows() || columns_ != board.columns()) {
            search_.emplace(board);
            rows_ = board.rows();
            columns_ = board.columns();
        }
        const Position position = read(board, decision.observation);
        std::vector<int> columns;
        for (int i = 0; i < board.columns(); ++i) {
            const bool legal =
                !decision.legal || std::count(decision.legal->begin(), decision.legal->end(), i) != 0;
            if (legal && (position.taken & board.column(i)) != board.column(i)) columns.push_back(i);
        }
        if (columns.empty()) throw Error("no column is free");
        // Equally good columns: the first in an order that the seeds draw, not always the leftmost.
        dovetail::Random random(
            dovetail::derive(seed_, {std::to_string(decision.seed), std::to_string(decision.turn)}));
        for (std::size_t i = columns.size(); i > 1; --i) std::swap(columns[i - 1], columns[random.below(i)]);
        using Steady = std::chrono::steady_clock;
        std::function<bool()> stop;
        if (const auto seconds = budget(decision.clock)) {
            const auto end = Steady::now() + std::chrono::duration<double>(*seconds);
            stop = [end] { return Steady::now() > end; };
        }
        return search_->best(position, columns, depth_, stop).column;
    }

private:
    static Board board_of(const dovetail::Seat& seat) {
        const auto* seen = seat.observation_space().as<dovetail::spaces::Box>();
        const auto* actions = seat.action_space().as<dovetail::spaces::Discrete>();
        if (seat.spec.seats != 2 || seen == nullptr || actions == nullptr || seen->shape.size() != 3 ||
            seen->shape[0] != 2 || actions->start != 0 || seen->shape[2] != actions->n ||
            (seat.spec.name != "connect_four" && seat.spec.name != "connect-four")) {
            throw Error("alpha-beta-cpp plays Connect Four, not " + seat.spec.name);
        }
        if (seen->shape[1] > 14 || seen->shape[2] > 31 ||
            !Board::fits(static_cast<int>(seen->shape[1]), static_cast<int>(seen->shape[2]))) {
            throw Error("alpha-beta-cpp plays on boards of up to 63 squares, a spare row counted");
        }
        return Board(static_cast<int>(seen->shape[1]), static_cast<int>(seen->shape[2]));
    }

    int depth_;
    std::int64_t seed_;
    std::optional<Search> search_;
    int rows_ = 0;
    int columns_ = 0;
};

}  // namespace

dovetail::AgentType player() {
    dovetail::AgentType type = dovetail::agent<AlphaBeta>(
        "alpha-beta-cpp", "Alpha-beta search for Connect Four, four in a row, on bitboards.");
    type.parameters = {{"depth", 8, "moves that it looks ahead", 1, 42},
                       {"seed", 0, "for the choice between columns that are equally good"}};
    type.capacity = 0;  // nothing is remembered between decisions
    return type;
}

}  // namespace connect_four
