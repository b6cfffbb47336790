//! The last answers to requests, so that one that comes twice is not done twice.

use std::collections::{HashMap, VecDeque};

const KEPT: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct Answers {
    frames: HashMap<i64, Vec<u8>>,
    order: VecDeque<i64>,
}

impl Answers {
    pub(crate) fn get(&self, id: i64) -> Option<&[u8]> {
        self.frames.get(&id).map(Vec::as_slice)
    }

    pub(crate) fn keep(&mut self, id: i64, frame: Vec<u8>) {
        self.frames.insert(id, frame);
        self.order.push_back(id);
        if self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.frames.remove(&oldest);
            }
        }
    }

    pub(crate) fn forget(&mut self, id: i64) {
        if self.frames.remove(&id).is_some() {
            self.order.retain(|each| *each != id);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.order.clear();
    }
}
