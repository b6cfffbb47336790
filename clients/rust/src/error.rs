//! Errors, each of which displays as one line.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic;
use std::sync::Once;

use crate::messages::Code;

/// Whatever a user's agent or environment fails with; any error and any text converts into it.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A frame that the protocol refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError {
    /// The code sent to the peer at fault.
    pub code: Code,
    /// One line for a person.
    pub message: String,
}

impl ProtocolError {
    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self {
            code: Code::Malformed,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: Code::Invalid,
            message: message.into(),
        }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self {
            code: Code::Limit,
            message: message.into(),
        }
    }

    /// Names the field in which the error was found.
    #[cold]
    pub(crate) fn at(mut self, field: &str) -> Self {
        self.message = format!("`{field}`: {}", self.message);
        self
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ProtocolError {}

/// An error of a program that uses this library.
///
/// Its `Debug` form is the text alone, like its `Display` form, so that a `main` that returns it
/// prints a plain line.
#[derive(Clone, PartialEq, Eq)]
pub enum Error {
    /// The broker does not let this peer in, or no broker answers.
    Connection(String),
    /// A request was answered with an `error`.
    Refused {
        /// The text of a [`Code`], or of one of a later version.
        code: String,
        /// The text of who refused it.
        message: String,
    },
    /// The broker left, or no longer knows this session; runs are lost.
    Lost(String),
    /// A run did not end as it should.
    Run(String),
    /// The answer cannot be decoded, or the message to be sent exceeds the broker's limits.
    Protocol(ProtocolError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Connection(text)
            | Error::Lost(text)
            | Error::Run(text)
            | Error::Refused { message: text, .. } => f.write_str(&shorten(text)),
            Error::Protocol(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        Error::Protocol(error)
    }
}

/// The rules refuse an action: what an environment's `step` fails with, so that the broker
/// blames the seat and not the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IllegalAction {
    /// One line that names the action and what is legal.
    pub message: String,
    /// The seat whose action it is.
    pub seat: Option<usize>,
}

impl IllegalAction {
    /// An action of `seat` that the rules refuse.
    pub fn new(message: impl Into<String>, seat: usize) -> Self {
        Self {
            message: message.into(),
            seat: Some(seat),
        }
    }
}

impl fmt::Display for IllegalAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for IllegalAction {}

thread_local! {
    /// True if a panic of this thread is caught by [`guarded`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Where the last such panic was, as file:line.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has panics that [`guarded`] catches leave their place instead of a report of several lines.
///
/// With `RUST_BACKTRACE` they are reported as usual, too; all other panics are left as they are.
fn hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        let backtrace = std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0");
        panic::set_hook(Box::new(move |about| {
            let guarded = GUARDED.try_with(Cell::get).unwrap_or(false);
            if guarded {
                let place = about
                    .location()
                    .map(|place| format!("{}:{}", place.file(), place.line()));
                let _ = PLACE.try_with(|kept| kept.replace(place));
            }
            if !guarded || backtrace {
                usual(about);
            }
        }));
    });
}

/// A panic of a user's code.
#[derive(Debug)]
pub(crate) struct Panicked(String);

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Panicked {}

/// Calls a user's code; a panic is a failure like any other.
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    hook();
    PLACE.take();
    let before = GUARDED.replace(true);
    let result = panic::catch_unwind(panic::AssertUnwindSafe(call));
    GUARDED.set(before);
    result.unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no text".to_owned());
        let place = PLACE.take().map_or(String::new(), |at| format!(" at {at}"));
        Err(Panicked(format!("panicked{place}: {text}")).into())
    })
}

/// Names who refuses to be made; who panics is named with the place.
pub(crate) fn refused_by(what: &str, name: &str, failure: Failure) -> Failure {
    if failure.is::<Panicked>() {
        failure
    } else {
        format!("{what} {name}: {failure}").into()
    }
}

/// Says "PLACE failed: TEXT", or how it panicked.
pub(crate) fn failed(place: &str, failure: &Failure) -> String {
    let verb = if failure.is::<Panicked>() {
        ""
    } else {
        "failed: "
    };
    shorten(&format!("{place} {verb}{failure}"))
}

/// Takes one line about each failure.
pub(crate) struct Told(Box<dyn FnMut(&str) + Send>);

impl Default for Told {
    fn default() -> Self {
        Self::by(|_| {})
    }
}

impl Told {
    pub(crate) fn by(told: impl FnMut(&str) + Send + 'static) -> Self {
        Self(Box::new(told))
    }

    /// Reports a line about a failure.
    pub(crate) fn say(&mut self, line: &str) {
        (self.0)(line);
    }

    /// Reports a failure of an agent or environment; returns the text for the broker.
    pub(crate) fn crash(&mut self, place: &str, failure: &Failure) -> String {
        let line = failed(place, failure);
        self.say(&line);
        line
    }

    /// The same where an error is a refusal: it is for the sender of the request, and the program
    /// has not failed.
    pub(crate) fn refusal(&mut self, place: &str, failure: &Failure) -> (Code, String) {
        if failure.is::<Panicked>() {
            (Code::Crashed, self.crash(place, failure))
        } else {
            (Code::Unavailable, line(failure))
        }
    }

    /// Calls a user's cleanup, of which the broker hears nothing.
    pub(crate) fn cleanup(&mut self, name: &str, cleanup: impl FnOnce()) {
        let done = guarded(|| {
            cleanup();
            Ok(())
        });
        if let Err(failure) = done {
            self.crash(&format!("{name} in cleanup"), &failure);
        }
    }
}

/// Tells who runs the program of a failure.
#[cfg(feature = "link")]
pub(crate) fn complain(line: &str) {
    use std::io::Write;
    // The program continues even if standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "{}", shorten(line));
}

/// One line about a failure, short enough to travel.
pub(crate) fn line(failure: &Failure) -> String {
    shorten(&failure.to_string())
}

/// One line of a text, without characters that a terminal obeys or that turn the reading order (S13.5).
pub(crate) fn shorten(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
    };
    let words: Vec<&str> = text.split(obeyed).filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(300).collect()
}
