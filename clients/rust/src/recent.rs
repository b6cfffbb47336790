//! Numbers that were seen lately, so that what comes twice is known.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// A set that forgets its oldest members.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    members: HashSet<T>,
    order: VecDeque<T>,
    kept: usize,
}

impl<T: Copy + Eq + Hash> Recent<T> {
    pub(crate) fn new(kept: usize) -> Self {
        Self {
            members: HashSet::new(),
            order: VecDeque::new(),
            kept,
        }
    }

    pub(crate) fn contains(&self, member: &T) -> bool {
        self.members.contains(member)
    }

    /// Whether it was not there before.
    pub(crate) fn insert(&mut self, member: T) -> bool {
        let new = self.members.insert(member);
        if new {
            self.order.push_back(member);
            if self.order.len() > self.kept {
                if let Some(oldest) = self.order.pop_front() {
                    self.members.remove(&oldest);
                }
            }
        }
        new
    }

    pub(crate) fn clear(&mut self) {
        self.members.clear();
        self.order.clear();
    }
}
