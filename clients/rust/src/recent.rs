//! What came lately, so that what comes twice is known.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// Answers to requests that are kept: as many as SPEC.md asks for, because states can be large.
pub(crate) const ANSWERS_KEPT: usize = 64;

/// A map that forgets its oldest entries.
#[derive(Debug)]
pub(crate) struct Recent<K, V = ()> {
    entries: HashMap<K, V>,
    order: VecDeque<K>,
    kept: usize,
}

impl<K: Copy + Eq + Hash, V> Recent<K, V> {
    pub(crate) fn new(kept: usize) -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
            kept,
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// Whether it was not there before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let new = self.entries.insert(key, value).is_none();
        if new {
            self.order.push_back(key);
            if self.order.len() > self.kept {
                let oldest = self.order.pop_front();
                oldest.map(|oldest| self.entries.remove(&oldest));
            }
        }
        new
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if self.entries.remove(key).is_some() {
            self.order.retain(|each| each != key);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.order.clear();
    }
}
