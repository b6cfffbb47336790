#include <doctest/doctest.h>

#include "agent.hpp"
#include "search.hpp"

using namespace connect_four;

namespace {

const std::vector<int> kAll{0, 1, 2, 3, 4, 5, 6};

/// The position after moves in these columns.
Position after(const Board& board, const std::vector<int>& moves) {
    Bits discs[2] = {0, 0};
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const Bits taken = discs[0] | discs[1];
        discs[i % 2] |= (taken + board.bottom()) & board.column(moves[i]);
    }
    return {discs[moves.size() % 2], discs[0] | discs[1]};
}

/// True if somebody has four in a row; square by square, for comparison.
bool won(const Board& board, Bits discs) {
    for (int c = 0; c < board.columns(); ++c) {
        for (int r = 0; r < board.rows(); ++r) {
            for (const auto& [dc, dr] : {std::pair{1, 0}, {0, 1}, {1, 1}, {1, -1}}) {
                int length = 0;
                for (int i = 0; i < 4; ++i) {
                    const int column = c + i * dc, row = r + i * dr;
                    if (column >= board.columns() || row < 0 || row >= board.rows()) break;
                    if ((discs & board.square(column, row)) == 0) break;
                    ++length;
                }
                if (length == 4) return true;
            }
        }
    }
    return false;
}

}  // namespace

TEST_CASE("winning squares are those that make four in a row") {
    dovetail::Random random(3);
    for (const auto& [rows, columns] : {std::pair{6, 7}, {7, 7}, {4, 5}, {14, 4}}) {
        const Board board(rows, columns);
        for (int game = 0; game < 50; ++game) {
            // By moves, so that discs lie on discs.
            Position position;
            while (position.taken != board.all()) {
                const Bits open = (position.taken + board.bottom()) & board.all();
                for (Bits left = open; left != 0; left &= left - 1) {
                    const Bits square = left & ~(left - 1);
                    const bool wins = (board.winning(position.mine, position.taken) & square) != 0;
                    CHECK(wins == won(board, position.mine | square));
                }
                Bits square = 0;
                while (square == 0) square = open & board.column(static_cast<int>(random.below(columns)));
                if (won(board, position.mine | square)) break;
                position = {position.taken ^ position.mine, position.taken | square};
            }
        }
    }
}

TEST_CASE("it takes a win, and prevents one") {
    const Board board(6, 7);
    Search search(board);
    CHECK(search.best(after(board, {0, 6, 1, 6, 2, 5}), kAll, 1).column == 3);
    CHECK(search.best(after(board, {0, 6, 1, 6, 2}), kAll, 2).column == 3);
    CHECK(search.best(after(board, {3, 3, 4, 4}), kAll, 6).score >= kDecided);
}

TEST_CASE("the score does not depend on the order of the columns") {
    const Board board(4, 5);
    Search search(board);
    // Full depth: the end of the game is proven from any order of the columns.
    const Position position = after(board, {2, 2, 1, 3, 0, 4});
    const int forward = search.best(position, {0, 1, 2, 3, 4}, 20).score;
    const int backward = search.best(position, {4, 3, 2, 1, 0}, 20).score;
    CHECK(forward == backward);
}

TEST_CASE("it stops when it is told to, with a legal answer") {
    const Board board(6, 7);
    Search search(board);
    int asked = 0;
    const Found found = search.best(Position{}, {2, 5}, 42, [&] { return ++asked == 3; });
    CHECK((found.column == 2 || found.column == 5));
    CHECK(found.depth >= 1);
    CHECK(asked == 3);
}

TEST_CASE("the agent reads tensors and nested arrays, and refuses other games") {
    const dovetail::AgentType type = player();
    const auto agent = type.make(type.parameters.read({}, "it"), 0);
    dovetail::Seat seat;
    seat.spec.name = "connect_four";
    seat.spec.seats = 2;
    seat.spec.observation_spaces = {dovetail::spaces::Box{{2, 6, 7}, 0, 1, "uint8"}};
    seat.spec.action_spaces = {dovetail::spaces::Discrete{7}};
    agent->init(seat);
    std::vector<std::uint8_t> squares(84);
    squares[0] = squares[1] = squares[2] = 1;                 // three of mine at the bottom
    squares[42 + 7] = squares[42 + 8] = squares[42 + 9] = 1;  // three of theirs above
    dovetail::Random random(1);
    dovetail::Decision decision(seat, random);
    decision.turn = 6;
    decision.observation = dovetail::Tensor::of<std::uint8_t>({2, 6, 7}, squares);
    decision.legal = {0, 1, 2, 3, 4, 5, 6};
    decision.mode = dovetail::Mode::evaluate;
    decision.seed = 1;
    CHECK(agent->step(decision).action == dovetail::Value(3));
    dovetail::List nested(squares.begin(), squares.end());
    decision.observation = std::move(nested);
    CHECK(agent->step(decision).action == dovetail::Value(3));
    seat.spec.name = "nim";
    CHECK_THROWS_AS(agent->init(seat), dovetail::Error);
}
