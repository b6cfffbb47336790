//! Connect Four on a bitboard.
//!
//! The square in column c and row r, row 0 at the bottom, is bit `c * (rows + 1) + r`; the spare bit
//! on top of each column keeps lines from wrapping around.

/// The size of the board and what wins on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub rows: u32,
    pub columns: u32,
    pub connect: u32,
}

impl Rules {
    /// Rules for a board of this size.
    pub fn new(rows: usize, columns: usize, connect: usize) -> Result<Self, String> {
        if rows == 0 || columns == 0 || rows.saturating_add(1).saturating_mul(columns) > 128 {
            return Err(format!(
                "a board of {rows} by {columns} is none that it can play"
            ));
        }
        if connect < 2 {
            return Err("option 'connect' must be at least 2".to_owned());
        }
        Ok(Self {
            rows: rows as u32,
            columns: columns as u32,
            connect: connect as u32,
        })
    }

    fn bottom(self, column: u32) -> u128 {
        1 << (column * (self.rows + 1))
    }

    /// True if discs have enough in a row.
    pub fn wins(self, discs: u128) -> bool {
        let side = self.rows + 1;
        [1, side, side - 1, side + 1].into_iter().any(|step| {
            let mut line = discs;
            let mut done = 1;
            // Doubling: a bit of `line` stands for `done` discs in a row.
            while line != 0 && done < self.connect {
                let grow = done.min(self.connect - done);
                line &= line.checked_shr(grow * step).unwrap_or(0);
                done += grow;
            }
            line != 0
        })
    }
}

/// A position, as the player to move sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    pub mine: u128,
    pub theirs: u128,
}

impl Board {
    /// The position in an observation: own discs, then the opponent's, row by row from the bottom.
    pub fn observed(rules: Rules, cells: &[u8]) -> Self {
        let plane = |cells: &[u8]| {
            let mut discs = 0u128;
            for (place, cell) in (0u32..).zip(cells) {
                if *cell != 0 {
                    let (row, column) = (place / rules.columns, place % rules.columns);
                    discs |= rules.bottom(column) << row;
                }
            }
            discs
        };
        let (mine, theirs) = cells.split_at(cells.len() / 2);
        Self {
            mine: plane(mine),
            theirs: plane(theirs),
        }
    }

    /// The square on which a disc in this column comes to lie; nothing if the column is full.
    pub fn square(self, rules: Rules, column: u32) -> Option<u128> {
        let bottom = rules.bottom(column);
        let column = ((1 << rules.rows) - 1) * bottom;
        let free = ((self.mine | self.theirs) + bottom) & column;
        // In a full column the sum carries into the spare bit, which is not part of it.
        (free != 0).then_some(free & free.wrapping_neg())
    }

    /// The position after a disc of the player to move on a square.
    pub fn after(self, square: u128) -> Self {
        Self {
            mine: self.theirs,
            theirs: self.mine | square,
        }
    }

    /// The columns that are worth looking at, and whether a disc in one of them wins at once.
    ///
    /// A winning move makes all others pointless, and so does a move that the opponent would win
    /// with: these are the only ones then.
    pub fn candidates(self, rules: Rules, out: &mut Vec<(u32, u128)>) -> bool {
        out.clear();
        let mut block = None;
        for column in 0..rules.columns {
            let Some(square) = self.square(rules, column) else {
                continue;
            };
            if rules.wins(self.mine | square) {
                out.clear();
                out.push((column, square));
                return true;
            }
            if rules.wins(self.theirs | square) {
                block = Some((column, square));
            }
            out.push((column, square));
        }
        if let Some(block) = block {
            out.clear();
            out.push(block);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_in_all_directions_win_and_do_not_wrap() {
        let rules = Rules::new(6, 7, 4).unwrap();
        let bit = |column: u32, row: u32| 1u128 << (column * 7 + row);
        let line = |squares: [(u32, u32); 4]| squares.into_iter().map(|(c, r)| bit(c, r)).sum();
        assert!(rules.wins(line([(0, 0), (1, 0), (2, 0), (3, 0)])));
        assert!(rules.wins(line([(6, 2), (6, 3), (6, 4), (6, 5)])));
        assert!(rules.wins(line([(3, 0), (4, 1), (5, 2), (6, 3)])));
        assert!(rules.wins(line([(3, 5), (4, 4), (5, 3), (6, 2)])));
        assert!(!rules.wins(line([(0, 3), (0, 4), (0, 5), (1, 0)])));
        assert!(!rules.wins(line([(0, 0), (1, 0), (2, 0), (4, 0)])));
    }

    #[test]
    fn discs_fall_to_the_lowest_free_square() {
        let rules = Rules::new(2, 3, 3).unwrap();
        let mut board = Board { mine: 0, theirs: 0 };
        for row in 0..2 {
            let square = board.square(rules, 1).unwrap();
            assert_eq!(square, 1 << (3 + row));
            board = board.after(square);
        }
        assert_eq!(board.square(rules, 1), None);
        assert!(board.square(rules, 2).is_some());
    }
}
