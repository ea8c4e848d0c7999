//! Collects the ids of an output. Ids that the model cannot generate are an error.

use netdiv_node_common::words::count;

use crate::model::served_model::ServedModel;

pub(crate) struct Ids<'a> {
    model: &'a ServedModel,
    ids: Vec<i32>,
}

impl<'a> Ids<'a> {
    pub(crate) fn new(model: &'a ServedModel) -> Self {
        Self { model, ids: Vec::new() }
    }

    pub(crate) fn as_slice(&self) -> &[i32] {
        &self.ids
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Appends the next id.
    pub(crate) fn push(&mut self, id: i64) -> Result<(), String> {
        let (place, model) = (self.ids.len(), self.model);
        if place >= model.max_tokens as usize {
            return Err(format!(
                "the output has more than max_tokens = {} tokens",
                model.max_tokens
            ));
        }
        if self.end_is_eos() {
            return Err(format!(
                "the output continues after the end-of-text token, token {}",
                place - 1
            ));
        }
        match i32::try_from(id) {
            Ok(known) if (0..i64::from(model.vocabulary)).contains(&id) => self.ids.push(known),
            _ => {
                let most = model.vocabulary - 1;
                return Err(format!("token {place} is {id}; ids go from 0 to {most}"));
            }
        }
        Ok(())
    }

    /// Returns true if the last id is in the model's `eos`, the ids that end an output.
    pub(crate) fn end_is_eos(&self) -> bool {
        let last = self.ids.last().and_then(|id| u32::try_from(*id).ok());
        last.is_some_and(|id| self.model.eos.contains(&id))
    }

    /// Checks the minimum length of a complete output.
    pub(crate) fn check_least(&self) -> Result<(), String> {
        let (got, least) = (self.ids.len(), self.model.min_tokens);
        if got < least as usize {
            let got = count(got, "token");
            return Err(format!("the output has {got}, fewer than min_tokens = {least}"));
        }
        Ok(())
    }

    /// Returns the reason why an output that ended at its length is incomplete, or `None` if it may
    /// be complete.
    pub(crate) fn cut_off_reason(&self) -> Option<String> {
        let (got, most) = (self.ids.len(), self.model.max_tokens);
        (got < most as usize).then(|| {
            let got = count(got, "token");
            format!("the output was cut off after {got}, before max_tokens = {most}")
        })
    }
}
