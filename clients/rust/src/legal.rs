//! Legal actions: as numbers in rising order, or as a bit mask.

/// The legal actions of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Legal {
    /// Action numbers in rising order.
    List(Vec<i64>),
    /// Action `a` is bit `a mod 8` (the lowest is 0) of byte `a div 8`.
    Mask(Vec<u8>),
}

impl Legal {
    /// The mask of some of the actions 0 .. `n - 1`; others are left out.
    pub fn mask(actions: impl IntoIterator<Item = i64>, n: usize) -> Self {
        let mut mask = vec![0u8; n.div_ceil(8)];
        for action in actions {
            if let Ok(action) = usize::try_from(action) {
                if action < n {
                    mask[action / 8] |= 1 << (action % 8);
                }
            }
        }
        Legal::Mask(mask)
    }

    /// The action numbers in rising order.
    pub fn into_list(self) -> Vec<i64> {
        match self {
            Legal::List(actions) => actions,
            Legal::Mask(mask) => (0..8 * mask.len())
                .filter(|action| mask[action / 8] >> (action % 8) & 1 == 1)
                .map(|action| action as i64)
                .collect(),
        }
    }
}

impl<T: IntoIterator<Item = i64>> From<T> for Legal {
    fn from(actions: T) -> Self {
        Legal::List(actions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        let mask = Legal::mask([0, 9], 10);
        assert_eq!(mask, Legal::Mask(vec![1, 2]));
        assert_eq!(Legal::mask([-1, 10, 3], 10), Legal::Mask(vec![8, 0]));
        assert_eq!(mask.into_list(), [0, 9]);
    }
}
