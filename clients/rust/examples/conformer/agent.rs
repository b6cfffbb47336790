//! The conformer's agent: counts what it hears.

use dovetail::messages::{Mode, Preview, Thoughts, Want};
use dovetail::{
    map, Agent, AgentType, Decision, End, Failure, Lookahead, Seat, Space, Spec, Value,
};

#[derive(Default)]
struct Conformer {
    refuse: bool,
    decisions: i64,
    ends: i64,
    reward: f64,
    spec: Option<Spec>,
    last: Value,
    /// The answer once it has looked ahead.
    found: Option<Value>,
}

pub fn kind() -> AgentType {
    AgentType::new("conformer", |options, _seed| {
        Ok(Conformer {
            refuse: options.take("refuse", false)?,
            ..Conformer::default()
        })
    })
    .description("Counts what it hears.")
    .option("refuse", false)
    .wants(&[Want::Afterstates, Want::Text, Want::Scene])
    .capacity(0)
}

fn spaces(spaces: &[Space]) -> Value {
    Value::Array(spaces.iter().map(Space::to_value).collect())
}

impl Agent for Conformer {
    fn init(&mut self, seat: &Seat) -> Result<(), Failure> {
        if self.refuse {
            return Err("the conformer was told to refuse".into());
        }
        self.spec = Some(seat.spec.clone());
        Ok(())
    }

    fn step(&mut self, decision: &mut Decision) -> Result<Value, Failure> {
        if decision.observation.as_str() == Some("crash") {
            panic!("told to crash");
        }
        if decision.mode == Mode::Learn {
            self.decisions += 1;
            self.reward += decision.reward;
        }
        let clock = decision.clock.as_ref().map(|clock| {
            map! { "decision" => clock.decision, "left" => clock.left, "last" => clock.last }
        });
        self.last = map! {
            "clock" => clock,
            "text" => decision.text.take(),
            "mode" => decision.mode.as_str(),
            "seed" => decision.seed,
            "afterstates" => decision.afterstates.clone(),
            "scene" => decision.scene.clone(),
        }
        .into();
        if decision.observation.as_str() == Some("resign") {
            decision.measures.insert("regret".to_owned(), 0.5);
            return decision.resign();
        }
        if let Some(legal) = &decision.legal {
            // Sent only if they are asked for.
            decision.thoughts = Some(Thoughts {
                values: legal.iter().map(|action| *action as f64).collect(),
                text: format!("turn {}", decision.turn),
                ..Thoughts::default()
            });
        }
        Ok(match (&decision.legal, self.found.take()) {
            (_, Some(found)) => found,
            (Some(legal), None) => legal.iter().max().copied().into(),
            (None, None) => std::mem::take(&mut decision.observation),
        })
    }

    fn ask(
        &mut self,
        decision: &mut Decision,
        answer: Option<Result<Vec<Preview>, Failure>>,
    ) -> Result<Option<Lookahead>, Failure> {
        let look = decision.observation.get("look").and_then(Value::as_array);
        let (None, Some(look)) = (&decision.legal, look) else {
            return Ok(None);
        };
        let list = |value: &Value| value.as_array().unwrap_or_default().to_vec();
        self.found = match answer {
            None => {
                let line = |line: &Value| list(line).iter().map(list).collect();
                return Ok(Some(Lookahead {
                    lines: look.iter().map(line).collect(),
                    ..Lookahead::default()
                }));
            }
            Some(Ok(previews)) => {
                let list = |each: Preview| each.rewards.into_iter().map(Value::from).collect();
                let rewards = previews.into_iter().map(|each| Value::Array(list(each)));
                Some(Value::Array(rewards.collect()))
            }
            Some(Err(_)) => Some("refused".into()),
        };
        Ok(None)
    }

    fn end(&mut self, end: &End) -> Result<(), Failure> {
        if end.mode == Mode::Learn {
            self.ends += 1;
            self.reward += end.reward;
        }
        Ok(())
    }

    fn message(&mut self, body: Value) -> Result<Value, Failure> {
        Ok(match body.as_str() {
            Some("crash") => return Err("told to crash".into()),
            Some("counters") => map! {
                "decisions" => self.decisions, "ends" => self.ends, "reward" => self.reward,
            }
            .into(),
            Some("last") => self.last.clone(),
            Some("spec") => {
                let spec = self.spec.as_ref().ok_or("there was no init")?;
                map! {
                    "observation_spaces" => spaces(&spec.observation_spaces),
                    "action_spaces" => spaces(&spec.action_spaces),
                }
                .into()
            }
            _ => body,
        })
    }

    fn save(&mut self) -> Result<Vec<u8>, Failure> {
        // `{:?}` writes a float with a point, `4.0` and not `4`.
        Ok(format!("{} {} {:?}", self.decisions, self.ends, self.reward).into_bytes())
    }

    fn load(&mut self, state: &[u8]) -> Result<(), Failure> {
        let read = || {
            let mut parts = std::str::from_utf8(state).ok()?.split_ascii_whitespace();
            let counters = (
                parts.next()?.parse().ok()?,
                parts.next()?.parse().ok()?,
                parts.next()?.parse().ok()?,
            );
            parts.next().is_none().then_some(counters)
        };
        (self.decisions, self.ends, self.reward) =
            read().ok_or("these bytes are not a saved conformer")?;
        Ok(())
    }
}
