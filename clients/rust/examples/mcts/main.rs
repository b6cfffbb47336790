//! `mcts-rust`: a player of Connect Four by Monte-Carlo tree search.
//!
//! The same seeds give the same games: it draws from the seat's seed only.

mod board;
mod search;

use board::{Board, Rules};
use dovetail::{
    blocking, Agent, AgentType, Broker, Decision, Dtype, Error, Failure, Seat, Space, Tensor, Value,
};

struct Searcher {
    simulations: u32,
    exploration: f64,
    connect: usize,
}

impl Searcher {
    /// The rules of a seat's game, which the shape of what it sees tells.
    fn rules(&self, seat: &Seat) -> Result<Rules, Failure> {
        let spec = &seat.spec;
        let shape = match spec.observation_space(seat.seat) {
            Some(Space::Box(space)) if space.dtype == Dtype::Uint8.name() => &space.shape[..],
            _ => &[],
        };
        match (shape, spec.action_space(seat.seat)) {
            ([2, rows, columns], Some(Space::Discrete(actions)))
                if spec.seats == 2 && actions.n == *columns as u64 && actions.start == 0 =>
            {
                Ok(Rules::new(*rows, *columns, self.connect)?)
            }
            _ => Err(format!("mcts-rust plays Connect Four and not {}", spec.name).into()),
        }
    }
}

impl Agent for Searcher {
    fn init(&mut self, seat: &Seat) -> Result<(), Failure> {
        self.rules(seat).map(drop)
    }

    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        let rules = self.rules(&decision.seat)?;
        let seen = decision.observation.as_tensor().and_then(Tensor::to_vec);
        let seen: Vec<u8> = seen.ok_or("the observation is not a tensor of bytes")?;
        if seen.len() as u32 != 2 * rules.rows * rules.columns {
            return Err("the observation is not of the shape of its space".into());
        }
        let board = Board::observed(rules, &seen);
        let random = &mut decision.random;
        let column = search::best(rules, board, self.simulations, self.exploration, random);
        Ok(column.ok_or("the board is full")?.into())
    }
}

fn main() -> Result<(), Error> {
    let kind = AgentType::new("mcts-rust", |options, _seed| {
        let simulations = options.take("simulations", 1000i64)?;
        let exploration = options.take("exploration", 1.0)?;
        if !(1..=100_000_000).contains(&simulations) {
            return Err("option 'simulations' must be from 1 to 100000000".into());
        }
        if !(exploration >= 0.0 && f64::is_finite(exploration)) {
            return Err("option 'exploration' must be at least 0".into());
        }
        Ok(Searcher {
            simulations: simulations as u32,
            exploration,
            connect: options.take("connect", 4)?,
        })
    })
    .description("Plays Connect Four by Monte-Carlo tree search.")
    .option("simulations", 1000i64)
    .option("exploration", 1.0)
    .option("connect", 4i64)
    .capacity(0);
    blocking::serve_agents([kind], &Broker::from_env())
}
