#include "search.hpp"

#include <algorithm>
#include <cstdlib>

namespace connect_four {

namespace {

constexpr int kWin = 10'000;
constexpr int kInfinite = 20'000;
constexpr std::size_t kEntries = std::size_t{1} << 18;
constexpr std::uint8_t kExact = 0, kAtLeast = 1, kAtMost = 2;

/// Thrown when the time is up.
struct Stopped {};

int count(Bits bits) {
    return __builtin_popcountll(bits);
}

}  // namespace

bool Board::fits(int rows, int columns) {
    return rows >= 1 && rows <= 14 && columns >= 1 && columns * (rows + 1) <= 63;
}

Board::Board(int rows, int columns) : rows_(rows), columns_(columns) {
    for (int i = 0; i < columns_; ++i) {
        all_ |= column(i);
        bottom_ |= square(i, 0);
    }
}

Bits Board::winning(Bits discs, Bits taken) const {
    Bits found = discs << 1 & discs << 2 & discs << 3;
    for (const int by : {rows_ + 1, rows_, rows_ + 2}) {
        const Bits above = discs << by & discs << 2 * by;
        const Bits below = discs >> by & discs >> 2 * by;
        found |= above & (discs << 3 * by | discs >> by);
        found |= below & (discs >> 3 * by | discs << by);
    }
    return found & all_ & ~taken;
}

Search::Search(Board board) : board_(board), table_(kEntries) {
    for (int i = 0; i < board_.columns(); ++i) order_.push_back(i);
    const auto off = [this](int column) { return std::abs(2 * column - board_.columns() + 1); };
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return off(a) < off(b); });
    for (int i = 0; i < board_.columns(); ++i) {
        if (off(i) <= 2) middle_.push_back(board_.column(i));
    }
}

Search::Entry& Search::entry(Bits key) {
    return table_[(key * 0x9E3779B97F4A7C15U) >> 46];
}

/// Evaluates a position at the horizon: squares that would win, and discs in the middle.
int Search::judge(const Position& position, Bits my_wins, Bits their_wins) const {
    int worth = 8 * (count(my_wins) - count(their_wins));
    for (const Bits column : middle_) {
        worth += count(column & position.mine) - count(column & position.taken & ~position.mine);
    }
    return worth;
}

/// The score of a position in which neither side has won, from the mover's view.
int Search::score(const Position& position, int depth, int alpha, int beta) {
    if ((++nodes_ & 4095) == 0 && *stop_ && (*stop_)()) throw Stopped();
    const Bits taken = position.taken;
    const int discs = count(taken);
    Bits open = (taken + board_.bottom()) & board_.all();
    if (open == 0) return 0;
    const Bits theirs = taken ^ position.mine;
    const Bits my_wins = board_.winning(position.mine, taken);
    if ((my_wins & open) != 0) return kWin - discs - 1;
    const Bits their_wins = board_.winning(theirs, taken);
    const Bits forced = their_wins & open;
    if (forced != 0) open = forced;
    const bool lost = (forced & (forced - 1)) != 0;
    open &= ~(their_wins >> 1);  // they would win on top of it
    if (lost || open == 0) return -(kWin - discs - 2);
    if (depth <= 0) return judge(position, my_wins, their_wins);

    const Bits key = position.mine + taken + board_.bottom();
    Entry& known = entry(key);
    int first = -1;
    if (known.age == age_ && known.key == key) {
        const std::uint8_t bound = known.bound_and_column & 3;
        first = known.bound_and_column >> 2;
        if (known.depth >= depth) {
            if (bound == kExact) return known.score;
            if (bound == kAtLeast && known.score >= beta) return known.score;
            if (bound == kAtMost && known.score <= alpha) return known.score;
        }
    }

    // The move that was best before, then those that make most squares to win on, from the middle.
    struct Move {
        Bits square;
        int worth;
    };
    Move moves[64];
    int amount = 0;
    for (const int column : order_) {
        const Bits square = open & board_.column(column);
        if (square == 0) continue;
        const int worth =
            column == first ? 1000 : count(board_.winning(position.mine | square, taken | square));
        int at = amount++;
        for (; at > 0 && moves[at - 1].worth < worth; --at) moves[at] = moves[at - 1];
        moves[at] = {square, worth};
    }
    const int before = alpha;
    int best = -kInfinite;
    Bits chosen = 0;
    for (int i = 0; i < amount && best < beta; ++i) {
        const Bits square = moves[i].square;
        const int found = -score({theirs, taken | square}, depth - 1, -beta, -alpha);
        if (found > best) {
            best = found;
            chosen = square;
        }
        alpha = std::max(alpha, best);
    }
    Entry& kept = entry(key);
    kept.key = key;
    kept.age = age_;
    kept.score = static_cast<std::int16_t>(best);
    kept.depth = static_cast<std::int8_t>(depth);
    const std::uint8_t bound = best >= beta ? kAtLeast : best <= before ? kAtMost : kExact;
    kept.bound_and_column = static_cast<std::uint8_t>(board_.column_of(chosen) << 2 | bound);
    return best;
}

Found Search::best(const Position& position, const std::vector<int>& columns, int depth,
                   const std::function<bool()>& stop) {
    ++age_;
    nodes_ = 0;
    stop_ = &stop;
    const Bits open = (position.taken + board_.bottom()) & board_.all();
    const Bits wins = board_.winning(position.mine, position.taken) & open;
    const int discs = count(position.taken);
    std::vector<int> order = columns;
    Found found;
    found.column = order.front();
    for (const int column : columns) {
        if ((wins & board_.column(column)) != 0) return {column, kWin - discs - 1, 1, 1};
    }
    depth = std::min(depth, count(board_.all()) - discs);
    try {
        for (int now = 1; now <= depth; ++now) {
            Found here;
            here.score = -kInfinite;
            here.depth = now;
            for (const int column : order) {
                const Bits square = open & board_.column(column);
                if (square == 0) continue;
                const Position next{position.taken ^ position.mine, position.taken | square};
                const int worth = -score(next, now - 1, -kInfinite, -here.score);
                if (worth > here.score) {
                    here.score = worth;
                    here.column = column;
                }
            }
            here.nodes = nodes_;
            found = here;
            if (std::abs(found.score) >= kDecided) break;
            // Try the best move so far first; leave the others in order.
            std::stable_partition(order.begin(), order.end(),
                                  [&](int column) { return column == found.column; });
        }
    } catch (const Stopped&) {
        found.nodes = nodes_;
    }
    return found;
}

}  // namespace connect_four
