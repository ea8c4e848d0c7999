//! What the messages of an answer say together.

use std::mem;

use super::{Habits, Said};
use crate::engine::served::chunk::{Chunk, Counts, finish};

/// The messages so far.
pub(super) struct Reading {
    habits: Habits,
    ids: Vec<u32>,
    /// Tokens that the messages counted.
    made: usize,
    cached: Option<u32>,
    has_ended: bool,
}

impl Reading {
    pub(super) fn new(habits: Habits) -> Self {
        Self { habits, ids: Vec::new(), made: 0, cached: None, has_ended: false }
    }

    /// What the end of the call says, once: that nothing follows; `None`: it is too early.
    pub(super) fn last(&mut self) -> Option<Chunk> {
        mem::take(&mut self.has_ended).then(|| Chunk { last: true, ..Chunk::default() })
    }

    pub(super) fn take(&mut self, message: Option<Said>) -> Result<Chunk, String> {
        if self.has_ended {
            return Err("messages follow the end of the output".into());
        }
        let chunk = match message {
            Some(Said { index: index @ 1.., .. }) => {
                Err(format!("one output was asked for, and this is number {index}"))
            }
            Some(mut said) => match said.finish.take() {
                Some(reason) => self.end(said, &reason),
                None => self.part(said),
            },
            None => Err("it is neither a part of the output nor its end".into()),
        };
        chunk.map_err(|why| format!("a message cannot be used: {why}"))
    }

    fn part(&mut self, part: Said) -> Result<Chunk, String> {
        let counted = part.made as usize;
        self.ids.extend(&part.ids);
        self.made = match self.habits {
            Habits::Own => self.made.saturating_add(counted),
            Habits::SoFar | Habits::Whole => counted,
        };
        let came = self.ids.len();
        if !matches!(self.habits, Habits::Own) && counted != came {
            return Err(format!("it counts {counted} tokens so far, and {came} came"));
        }
        Ok(self.chunk(part, self.made))
    }

    /// The end repeats ids. By a count of all, those of vLLM's end may be new; by a count of its own, which it gives, a new token
    /// that is as the last one is taken for the repetition.
    fn end(&mut self, mut end: Said, reason: &str) -> Result<Chunk, String> {
        let finish = finish(reason, "stop", "length")?;
        let (before, own) = (self.ids.len(), end.ids.len());
        let counted = end.made as usize;
        let (repeats, is_new, made) = match self.habits {
            Habits::Own => {
                let is_new = before > 0 && own > 0 && counted == before + own;
                let made = if counted == own { self.made } else { counted };
                (self.ids.ends_with(&end.ids), is_new, made)
            }
            Habits::SoFar => (self.ids.ends_with(&end.ids), false, counted),
            Habits::Whole => (self.ids == end.ids, false, counted),
        };
        if !is_new && !repeats {
            return Err("the end has other tokens than those that came before".into());
        }
        self.has_ended = true;
        if !is_new {
            end.ids.clear();
        }
        Ok(Chunk { finish: Some(finish), ..self.chunk(end, made) })
    }

    fn chunk(&mut self, said: Said, made: usize) -> Chunk {
        self.cached = self.cached.max(said.cached);
        let counts = Counts {
            prompt: Some(said.prompt as usize).filter(|count| *count > 0),
            output: Some(made),
            cached: self.cached.map(|count| count as usize),
        };
        let ids = said.ids.into_iter().map(i64::from).collect();
        Chunk { ids, counts, ..Chunk::default() }
    }
}
