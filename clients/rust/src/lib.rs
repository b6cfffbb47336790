//! A client of the Dovetail protocol: agents, environments and experiments that meet at a broker.
//!
//! An agent implements [`Agent`], an environment [`Environment`]; `blocking::serve_agents` and
//! `blocking::serve_environments` run a program of them, and `blocking::Experiment` asks for runs.
//! With the feature `tokio` the same is in the module `tokio`, as futures.
//!
//! The protocol lives in state machines without sockets, which take frames and the time and return
//! frames: [`session::Session`], [`AgentHost`], [`EnvironmentHost`] and [`Control`].  Both shells
//! put a ZeroMQ socket around them; you can put anything else.
//!
//! ```no_run
//! use dovetail::{blocking, Agent, AgentType, Broker, Decision, Failure, Value};
//!
//! struct Random;
//!
//! impl Agent for Random {
//!     fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
//!         decision.any()
//!     }
//! }
//!
//! # fn main() -> Result<(), dovetail::Error> {
//! blocking::serve_agents([AgentType::new("random-rust", |_, _| Ok(Random))], &Broker::from_env())
//! # }
//! ```
#![deny(missing_docs)]
#![deny(unsafe_code)]

mod agent;
mod agent_group;
mod agent_host;
#[cfg(feature = "tokio")]
mod asynchronous;
#[cfg(feature = "blocking")]
pub mod blocking;
#[cfg(feature = "link")]
mod broker;
mod columns;
mod control;
mod copies;
mod environment;
mod environment_group;
mod environment_host;
pub mod error;
#[cfg(feature = "link")]
mod experiment;
mod field;
mod generated {
    pub mod messages;
    pub mod spaces;
}
#[cfg(feature = "link")]
mod key;
#[cfg(feature = "link")]
mod link;
pub mod messages;
mod options;
mod seeds;
pub mod session;
pub mod space;
mod tensor;
mod value;
pub mod vector;
mod wire;

/// The asynchronous API, on tokio.
#[cfg(feature = "tokio")]
pub mod tokio {
    pub use crate::asynchronous::{serve_agents, serve_environments, Experiment};
}

pub use agent::{Agent, AgentType, Decision, End, Lookahead, Seat};
pub use agent_host::AgentHost;
#[cfg(feature = "link")]
pub use broker::{Broker, Stop, ADDRESS};
pub use control::{Answer, Control, Happening, Request};
pub use environment::{Environment, EnvironmentType};
pub use environment_host::EnvironmentHost;
pub use error::{Error, Failure, IllegalAction, ProtocolError};
#[cfg(feature = "link")]
pub use experiment::RunNumber;
pub use messages::{Code, Mode, Reason, Run, Spec, Turn, View, Want};
pub use options::{FromValue, Options};
pub use seeds::{derive, Random};
pub use space::{Legal, Space};
pub use tensor::{Dtype, Element, Tensor};
pub use value::{Map, Payload, Value};
