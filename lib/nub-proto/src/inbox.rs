//! Inputs that wait: for the model's next request, or for the end of the run.

use std::collections::VecDeque;
use std::io;

use crate::{InputRecord, Line, Message, Queue};

/// What the user said and the model has not heard, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    steer: Vec<Line>,
    /// For the end of the run, one after the other.
    pub waiting: VecDeque<Line>,
}

impl Inbox {
    /// Takes an `input` for the next request. One in which nothing is said is dropped.
    pub fn steer(&mut self, line: &Line) {
        if message(line).is_ok_and(|message| !message.is_blank()) {
            self.steer.push(line.clone());
        }
    }

    /// Whether something waits for the next request.
    #[must_use]
    pub fn is_steering(&self) -> bool {
        !self.steer.is_empty()
    }

    /// Gives what goes into the next request.
    ///
    /// # Errors
    /// A line is no `input` (`InvalidData`).
    pub fn take(&mut self) -> io::Result<Vec<Message>> {
        self.steer.drain(..).map(|line| message(&line)).collect()
    }

    /// There is no next request: what was meant for it comes first at the end of the run.
    pub fn late(&mut self) {
        self.steer.drain(..).rev().for_each(|line| self.waiting.push_front(line));
    }

    /// The texts that wait.
    #[must_use]
    pub fn queue(&self) -> Queue {
        let text = |line: &Line| Some(message(line).ok()?.text());
        let steer = self.steer.iter().filter_map(text).collect();
        Queue { steer, follow_up: self.waiting.iter().filter_map(text).collect() }
    }
}

fn message(line: &Line) -> io::Result<Message> {
    Ok(line.read::<InputRecord>()?.message())
}
