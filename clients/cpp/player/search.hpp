// Connect Four by alpha-beta search on bitboards, with a transposition table and iterative deepening.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace connect_four {

/// Square (column c, row r), row 0 at the bottom, is bit `c * (rows + 1) + r`; the spare bit on top of each
/// column keeps lines from wrapping around.
using Bits = std::uint64_t;

/// The size of a board, and what follows from it.
class Board {
public:
    Board(int rows, int columns);
    /// True if such a board fits the bits.
    static bool fits(int rows, int columns);

    int rows() const { return rows_; }
    int columns() const { return columns_; }
    /// One bit for each square.
    Bits all() const { return all_; }
    /// The lowest square of each column.
    Bits bottom() const { return bottom_; }
    Bits column(int column) const { return ((Bits{1} << rows_) - 1) << column * (rows_ + 1); }
    Bits square(int column, int row) const { return Bits{1} << (column * (rows_ + 1) + row); }
    int column_of(Bits square) const { return __builtin_ctzll(square) / (rows_ + 1); }
    /// The empty squares that would complete four in a row of `discs`; `taken` has the discs of both.
    Bits winning(Bits discs, Bits taken) const;

private:
    int rows_;
    int columns_;
    Bits all_ = 0;
    Bits bottom_ = 0;
};

/// A position of two players' discs, seen by whom is to move.
struct Position {
    Bits mine = 0;
    Bits taken = 0;
};

/// Scores at least this far from 0 are proven wins and losses.
inline constexpr int kDecided = 5'000;

/// The result of a search.
struct Found {
    int column = 0;
    /// From the mover's view: the sooner a win, the higher.
    int score = 0;
    /// How deep the last search went that came to its end.
    int depth = 0;
    std::uint64_t nodes = 0;
};

class Search {
public:
    explicit Search(Board board);

    /// The best of `columns`, of equally good ones the first. Searches up to `depth` moves deep, and stops
    /// deepening when `stop` says so. Nothing is remembered from one search to the next, so that the same
    /// call finds the same.
    Found best(const Position& position, const std::vector<int>& columns, int depth,
               const std::function<bool()>& stop = {});

private:
    struct Entry {
        Bits key = 0;
        std::uint32_t age = 0;
        std::int16_t score = 0;
        std::int8_t depth = 0;
        std::uint8_t bound_and_column = 0;
    };
    int score(const Position& position, int depth, int alpha, int beta);
    int judge(const Position& position, Bits my_wins, Bits their_wins) const;
    Entry& entry(Bits key);

    Board board_;
    std::vector<int> order_;  // columns from the middle
    std::vector<Bits> middle_;
    std::vector<Entry> table_;
    std::uint32_t age_ = 0;
    std::uint64_t nodes_ = 0;
    const std::function<bool()>* stop_ = nullptr;
};

}  // namespace connect_four
