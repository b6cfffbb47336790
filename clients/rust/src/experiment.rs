//! The verbs of an experiment, written once for both shells.

/// The number that identifies a run.
pub type RunNumber = i64;

/// Declares an experiment in terms of a shell's own `Link` and `receive`:
/// `experiment!({async} {.await})` or `experiment!({} {})`.
macro_rules! experiment {
    ({$($asynchronous:tt)*} {$($wait:tt)*}) => {
        /// Run control: a connection of an experiment to the broker.
        ///
        /// Dropping it leaves the broker; runs in progress are cancelled.  A request that an agent or
        /// environment does not answer ends after its `timeout`, 120 s by default, with the error
        /// `timeout`; dropping the future of one gives it up when the next request is sent.
        pub struct Experiment {
            link: Link<ToExperiment>,
            control: Control,
        }

        impl Experiment {
            /// Connects to a broker.
            ///
            /// # Errors
            /// None answers, or it refuses this peer.
            pub $($asynchronous)* fn connect(broker: &Broker) -> Result<Self, Error> {
                let link = Link::new(broker, Role::Experiment, Vec::new())?;
                let mut experiment = Self { link, control: Control::default() };
                while !experiment.link.welcomed() {
                    experiment.control.alive()?;
                    experiment.wait(None)$($wait)*?;
                }
                Ok(experiment)
            }

            /// This experiment's name at the broker.
            pub fn name(&self) -> &str {
                self.link.name()
            }

            /// Sends any request and returns its answer.
            ///
            /// # Errors
            /// It was refused, or the session is lost.
            pub $($asynchronous)* fn request(&mut self, mut request: impl Request) -> Result<Answer, Error> {
                self.ask(&mut request)$($wait)*
            }

            /// Sends a request that a program has read, and returns its answer.
            ///
            /// # Errors
            /// It was refused, or the session is lost.
            pub $($asynchronous)* fn ask(&mut self, request: &mut dyn Request) -> Result<Answer, Error> {
                self.control.give_up(&mut self.link.out);
                let id = self.control.request(request, &mut self.link.out)?;
                self.link.flush()?;
                loop {
                    if let Some(answer) = self.control.answer(id) {
                        return answer;
                    }
                    self.wait(None)$($wait)*?;
                }
            }

            /// Returns the environments, agents and runs at the broker, in SPEC.md's form.
            ///
            /// # Errors
            /// The session is lost.
            pub $($asynchronous)* fn catalogue(&mut self) -> Result<Value, Error> {
                Ok(self.request(Catalogue::default())$($wait)*?.body())
            }

            /// Waits until environments and agent types are offered.
            ///
            /// # Errors
            /// They are not after `timeout`; the text says which.
            pub $($asynchronous)* fn expect(
                &mut self,
                environments: &[&str],
                agents: &[&str],
                timeout: Duration,
            ) -> Result<(), Error> {
                let begun = Instant::now();
                loop {
                    let present = self.catalogue()$($wait)*?;
                    let missing = crate::experiment::missing(&present, environments, agents);
                    if missing.is_empty() {
                        return Ok(());
                    }
                    if begun.elapsed() > timeout {
                        return Err(Error::Run(format!(
                            "timed out after {timeout:?}: no connected program offers {missing}"
                        )));
                    }
                    self.wait(Some(Duration::from_millis(50)))$($wait)*?;
                }
            }

            /// Makes an agent of a type with its default options; returns its number.
            ///
            /// # Errors
            /// No connected program offers the type.
            pub $($asynchronous)* fn create(&mut self, agent: &str, seed: i64) -> Result<i64, Error> {
                let create = ExperimentCreate {
                    agent: agent.to_owned(),
                    seed,
                    ..ExperimentCreate::default()
                };
                self.create_with(create)$($wait)*
            }

            /// Makes an agent as asked; returns its number.
            ///
            /// # Errors
            /// No connected program offers the type, or it refuses the parameters.
            pub $($asynchronous)* fn create_with(&mut self, create: ExperimentCreate) -> Result<i64, Error> {
                let body = self.request(create)$($wait)*?.body();
                crate::experiment::number(&body, "instance")
            }

            /// Begins a run; returns its number.
            ///
            /// # Errors
            /// There is no such environment or agent, or the options make no sense.
            pub $($asynchronous)* fn run(&mut self, run: Run) -> Result<RunNumber, Error> {
                let body = self.request(run)$($wait)*?.body();
                crate::experiment::number(&body, "run")
            }

            /// The next result of a run, in the order in which episodes end; `None` after the last.
            ///
            /// Interrupted episodes have `scored` false.
            ///
            /// # Errors
            /// The run did not end as it should, or the session is lost.
            pub $($asynchronous)* fn episode(&mut self, run: RunNumber) -> Result<Option<Episode>, Error> {
                loop {
                    if let Some(episode) = self.control.episode(run)? {
                        return Ok(episode);
                    }
                    self.wait(None)$($wait)*?;
                }
            }

            /// All results of a run, once it is over.
            ///
            /// # Errors
            /// The run did not end as it should, or the session is lost.
            pub $($asynchronous)* fn results(&mut self, run: RunNumber) -> Result<Vec<Episode>, Error> {
                let mut all = Vec::new();
                while let Some(episode) = self.episode(run)$($wait)*? {
                    all.push(episode);
                }
                Ok(all)
            }

            /// The last reported progress of a run.
            pub fn progress(&mut self, run: RunNumber) -> Option<Progress> {
                self.control.progress(run)
            }

            /// The end of a run, once it is over.
            pub fn done(&mut self, run: RunNumber) -> Option<Done> {
                self.control.done(run)
            }

            /// Starts no new episodes for now.
            ///
            /// # Errors
            /// The run is over.
            pub $($asynchronous)* fn pause(&mut self, run: RunNumber) -> Result<(), Error> {
                self.request(Pause { run, ..Pause::default() })$($wait)*.map(drop)
            }

            /// Resumes after `pause`.
            ///
            /// # Errors
            /// The run is over.
            pub $($asynchronous)* fn resume(&mut self, run: RunNumber) -> Result<(), Error> {
                self.request(Pause { run, paused: false, ..Pause::default() })$($wait)*.map(drop)
            }

            /// Finishes the episodes in progress, then ends the run.
            ///
            /// # Errors
            /// The run is over.
            pub $($asynchronous)* fn drain(&mut self, run: RunNumber) -> Result<(), Error> {
                self.control.asked_for(run, DoneReason::Drained);
                self.request(Drain { run, ..Drain::default() })$($wait)*.map(drop)
            }

            /// Ends a run at once.
            ///
            /// # Errors
            /// The run is over.
            pub $($asynchronous)* fn cancel(&mut self, run: RunNumber) -> Result<(), Error> {
                self.control.asked_for(run, DoneReason::Cancelled);
                self.request(Cancel { run: Some(run), ..Cancel::default() })$($wait)*.map(drop)
            }

            /// Stepwise: begins the next episode; returns its first turn.
            ///
            /// # Errors
            /// An episode is in progress, or the run is not stepwise.
            pub $($asynchronous)* fn start(&mut self, run: RunNumber) -> Result<WatchedTurn, Error> {
                let body = self.request(ExperimentStart { run, ..ExperimentStart::default() })$($wait)*?.body();
                Ok(WatchedTurn::decode(&body.encode())?)
            }

            /// Stepwise: truncates the episode in progress, if there is one, and begins the next;
            /// returns its first turn.
            ///
            /// # Errors
            /// The run is not stepwise, or over.
            pub $($asynchronous)* fn restart(&mut self, run: RunNumber) -> Result<WatchedTurn, Error> {
                let start = ExperimentStart { run, abandon: true, ..ExperimentStart::default() };
                let body = self.request(start)$($wait)*?.body();
                Ok(WatchedTurn::decode(&body.encode())?)
            }

            /// Stepwise: lets the seats act once; returns the next turn.
            ///
            /// # Errors
            /// No episode is in progress, or it ended in a way that has no turn to show.
            pub $($asynchronous)* fn step(&mut self, run: RunNumber) -> Result<WatchedTurn, Error> {
                let body = self.request(ExperimentStep { run, ..ExperimentStep::default() })$($wait)*?.body();
                Ok(WatchedTurn::decode(&body.encode())?)
            }

            /// Returns an agent's state; with `state_name` the broker also stores it by that name.
            ///
            /// # Errors
            /// The agent cannot be saved.
            pub $($asynchronous)* fn save(&mut self, instance: i64, state_name: Option<&str>) -> Result<Vec<u8>, Error> {
                let save = Save {
                    instance,
                    state_name: state_name.map(str::to_owned),
                    ..Save::default()
                };
                match self.request(save)$($wait)*? {
                    Answer::Saved(state) => Ok(state),
                    Answer::Reply(_) => Err(crate::ProtocolError::invalid("the reply has no state").into()),
                }
            }

            /// Restores a saved state of an agent.
            ///
            /// # Errors
            /// It refuses the bytes.
            pub $($asynchronous)* fn load(&mut self, instance: i64, state: &[u8]) -> Result<(), Error> {
                let load = Load { instance, state: state.to_vec(), ..Load::default() };
                self.request(load)$($wait)*.map(drop)
            }

            /// Restores a state that the broker stores under a name.
            ///
            /// # Errors
            /// There is no such state, or the agent refuses it.
            pub $($asynchronous)* fn load_named(&mut self, instance: i64, state_name: &str) -> Result<(), Error> {
                let load = Load {
                    instance,
                    state_name: Some(state_name.to_owned()),
                    ..Load::default()
                };
                self.request(load)$($wait)*.map(drop)
            }

            /// Ends an agent.
            ///
            /// # Errors
            /// There is no agent with this number.
            pub $($asynchronous)* fn cleanup(&mut self, instance: i64) -> Result<(), Error> {
                self.request(Cleanup { instance, ..Cleanup::default() })$($wait)*.map(drop)
            }

            /// Sends a message to an agent; returns its answer.
            ///
            /// # Errors
            /// It failed.
            pub $($asynchronous)* fn message(&mut self, instance: i64, body: impl Into<Value>) -> Result<Value, Error> {
                let message = ExperimentMessage {
                    instance: Some(instance),
                    body: body.into(),
                    ..ExperimentMessage::default()
                };
                Ok(self.request(message)$($wait)*?.body())
            }

            /// Sends a message to an environment of a run; returns its answer.
            ///
            /// # Errors
            /// It failed.
            pub $($asynchronous)* fn message_environment(
                &mut self,
                run: RunNumber,
                body: impl Into<Value>,
            ) -> Result<Value, Error> {
                let message = ExperimentMessage {
                    run: Some(run),
                    body: body.into(),
                    ..ExperimentMessage::default()
                };
                Ok(self.request(message)$($wait)*?.body())
            }

            /// Subscribes to the turns of a run, or of all; `turn` and `happening` return them.
            ///
            /// # Errors
            /// The run is secret, or over.
            pub $($asynchronous)* fn watch(&mut self, run: Option<RunNumber>, on: bool) -> Result<(), Error> {
                self.request(Watch { run, on, ..Watch::default() })$($wait)*.map(drop)
            }

            /// Returns the next watched turn; `None` if none comes for `patience`.
            ///
            /// # Errors
            /// The session is lost.
            pub $($asynchronous)* fn turn(&mut self, patience: Duration) -> Result<Option<WatchedTurn>, Error> {
                let begun = Instant::now();
                let mut over = false;
                loop {
                    if let Some(turn) = self.control.turn() {
                        return Ok(Some(turn));
                    }
                    self.control.alive()?;
                    if over {
                        return Ok(None);
                    }
                    // Take in waiting messages even if there is no time left to wait.
                    let left = patience.saturating_sub(begun.elapsed());
                    over = left.is_zero();
                    self.wait(Some(left))$($wait)*?;
                }
            }

            /// The next event of any run, in the order of arrival.
            ///
            /// It is for programs that sort events themselves: `episode`, `progress`, `done` and
            /// `turn` take all that came, so it should not be used beside them.
            ///
            /// # Errors
            /// The session is lost.
            pub $($asynchronous)* fn happening(&mut self) -> Result<Happening, Error> {
                loop {
                    if let Some(happening) = self.control.happening() {
                        return Ok(happening);
                    }
                    self.control.alive()?;
                    self.wait(None)$($wait)*?;
                }
            }

            /// Takes what the broker has sent, waiting for it if there is nothing.
            $($asynchronous)* fn wait(&mut self, patience: Option<Duration>) -> Result<(), Error> {
                let mut events = Vec::new();
                receive(&mut self.link, &mut events, patience.unwrap_or(NAP).min(NAP))$($wait)*?;
                let quiet = events.is_empty();
                self.link.deal(&mut self.control, &mut events)?;
                while let Some(line) = self.control.notice() {
                    complain(&line);
                }
                // Messages that arrived before the `bye` count.
                if quiet && self.link.departed() {
                    self.control.lose("the broker has left");
                }
                Ok(())
            }

            /// Leaves; runs in progress are cancelled.
            pub fn close(self) {}
        }
    };
}

pub(crate) use experiment;

use crate::error::{Error, ProtocolError};
use crate::value::Value;

/// The number in the body of a reply.
pub(crate) fn number(body: &Value, key: &str) -> Result<i64, Error> {
    body.get(key)
        .and_then(Value::as_i64)
        .ok_or_else(|| ProtocolError::invalid(format!("the reply has no '{key}'")).into())
}

/// Those that a catalogue does not have, for a person; empty if it has all.
pub(crate) fn missing(present: &Value, environments: &[&str], agents: &[&str]) -> String {
    let offered = |kind: &str, name: &str| {
        let offers = present
            .get(kind)
            .and_then(Value::as_array)
            .unwrap_or_default();
        let mut names = offers
            .iter()
            .filter_map(|offer| offer.get("name")?.as_str());
        names.any(|each| each == name)
    };
    let mut missing = Vec::new();
    for (kind, what, names) in [
        ("environments", "environment", environments),
        ("agents", "agent", agents),
    ] {
        for name in names {
            if !offered(kind, name) {
                missing.push(format!("{what} '{name}'"));
            }
        }
    }
    missing.join(", ")
}
