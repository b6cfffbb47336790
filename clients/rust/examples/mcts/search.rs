//! Monte-Carlo tree search with upper confidence bounds (UCT).

use dovetail::Random;

use crate::board::{Board, Rules};

/// A position in the tree.
struct Node {
    board: Board,
    column: u32,
    visits: u32,
    /// The sum of results for the player who moved here: 1 won, 0 lost, 0.5 drawn.
    value: f64,
    /// The result for the player who moved here, if the game is over.
    over: Option<f64>,
    children: Vec<usize>,
    untried: Vec<(u32, u128)>,
    expanded: bool,
}

impl Node {
    fn new(board: Board, column: u32, over: Option<f64>) -> Self {
        Self {
            board,
            column,
            visits: 0,
            value: 0.0,
            over,
            children: Vec::new(),
            untried: Vec::new(),
            expanded: false,
        }
    }
}

/// The column to play: the one that the search came back to most often.
///
/// The same position, options and random numbers give the same column.
pub fn best(
    rules: Rules,
    board: Board,
    simulations: u32,
    exploration: f64,
    random: &mut Random,
) -> Option<u32> {
    let mut moves = Vec::new();
    board.candidates(rules, &mut moves);
    if moves.len() < 2 {
        return moves.first().map(|(column, _)| *column);
    }
    let mut tree = vec![Node::new(board, 0, None)];
    let mut path = Vec::new();
    for _ in 0..simulations.max(1) {
        path.clear();
        path.push(0);
        let mut here = 0;
        // Down the tree to a position with a move that was not tried, or to an end.
        while tree[here].over.is_none() {
            if !tree[here].expanded {
                let mut untried = Vec::new();
                tree[here].board.candidates(rules, &mut untried);
                tree[here].untried = untried;
                tree[here].expanded = true;
            }
            let left = tree[here].untried.len() as u64;
            if left > 0 {
                let chosen = random.below(left) as usize;
                let (column, square) = tree[here].untried.swap_remove(chosen);
                let from = tree[here].board;
                let over = over(rules, from, square);
                tree.push(Node::new(from.after(square), column, over));
                let new = tree.len() - 1;
                tree[here].children.push(new);
                path.push(new);
                here = new;
                break;
            }
            here = descend(&tree, here, exploration);
            path.push(here);
        }
        let leaf = &tree[here];
        let mut result = match leaf.over {
            Some(result) => result,
            None => 1.0 - play_out(rules, leaf.board, random, &mut moves),
        };
        for node in path.iter().rev() {
            tree[*node].visits += 1;
            tree[*node].value += result;
            result = 1.0 - result;
        }
    }
    let most = tree[0].children.iter().map(|child| &tree[*child]);
    most.max_by_key(|child| (child.visits, u32::MAX - child.column))
        .map(|child| child.column)
}

/// The child with the highest upper confidence bound.
fn descend(tree: &[Node], here: usize, exploration: f64) -> usize {
    let log = f64::from(tree[here].visits).ln();
    let bound = |child: &usize| {
        let child = &tree[*child];
        let visits = f64::from(child.visits);
        child.value / visits + exploration * (log / visits).sqrt()
    };
    let mut best = (f64::NEG_INFINITY, here);
    for child in &tree[here].children {
        let bound = bound(child);
        if bound > best.0 {
            best = (bound, *child);
        }
    }
    best.1
}

/// The result for the player who plays on this square, if that ends the game.
fn over(rules: Rules, board: Board, square: u128) -> Option<f64> {
    if rules.wins(board.mine | square) {
        return Some(1.0);
    }
    let after = board.after(square);
    let full = (0..rules.columns).all(|column| after.square(rules, column).is_none());
    full.then_some(0.5)
}

/// Plays on at random; returns the result for the player to move.
fn play_out(
    rules: Rules,
    mut board: Board,
    random: &mut Random,
    moves: &mut Vec<(u32, u128)>,
) -> f64 {
    let mut result = 1.0;
    loop {
        if board.candidates(rules, moves) {
            return result;
        }
        let Some((_, square)) = random.choose(moves) else {
            return 0.5;
        };
        board = board.after(*square);
        result = 1.0 - result;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: Board = Board { mine: 0, theirs: 0 };

    fn rules() -> Rules {
        Rules::new(6, 7, 4).unwrap()
    }

    fn played(columns: &[u32]) -> Board {
        columns.iter().fold(EMPTY, |board, column| {
            board.after(board.square(rules(), *column).unwrap())
        })
    }

    fn choice(board: Board, seed: u64) -> u32 {
        best(rules(), board, 1000, 1.0, &mut Random::new(seed)).unwrap()
    }

    #[test]
    fn it_wins_at_once() {
        for seed in 0..5 {
            // Three on the ground, and three on top of each other.
            assert_eq!(choice(played(&[0, 0, 1, 1, 2, 2]), seed), 3);
            assert_eq!(choice(played(&[5, 0, 5, 1, 5, 3]), seed), 5);
        }
    }

    #[test]
    fn it_blocks() {
        for seed in 0..5 {
            assert_eq!(choice(played(&[0, 6, 1, 6, 2]), seed), 3);
            assert_eq!(choice(played(&[4, 0, 4, 1, 4]), seed), 4);
        }
    }

    #[test]
    fn it_sees_a_double_threat() {
        // Two in the middle of the ground with free squares beside them win, for who moves next.
        for seed in 0..5 {
            assert!([1, 4].contains(&choice(played(&[2, 2, 3, 3]), seed)));
        }
    }

    #[test]
    fn it_begins_in_the_middle() {
        assert_eq!(choice(EMPTY, 1), 3);
    }

    #[test]
    fn the_same_seed_gives_the_same_column() {
        for seed in 0..5 {
            let board = played(&[3, 2, 4]);
            assert_eq!(choice(board, seed), choice(board, seed));
        }
    }

    #[test]
    fn it_beats_random() {
        let mut random = Random::new(7);
        let mut won = 0;
        for game in 0..20 {
            let mut board = EMPTY;
            let mut turn = game;
            loop {
                let searches = turn % 2 == 0;
                let square = if searches {
                    let column = best(rules(), board, 200, 1.0, &mut random).unwrap();
                    board.square(rules(), column).unwrap()
                } else {
                    let free = (0..7).filter_map(|column| board.square(rules(), column));
                    *random.choose(&free.collect::<Vec<_>>()).unwrap()
                };
                let over = over(rules(), board, square);
                board = board.after(square);
                turn += 1;
                if let Some(result) = over {
                    won += u32::from(searches && result == 1.0);
                    break;
                }
            }
        }
        assert!(won >= 19, "won {won} of 20");
    }
}
