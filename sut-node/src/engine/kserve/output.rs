//! The output of a prompt as it grows. Whatever casts doubt on its ids is a failure.

use netdiv_contract::layout::DataType;

use crate::{
    engine::kserve::{
        reply::{belongs, output},
        rpc::{ModelStreamInferResponse, infer_parameter::ParameterChoice},
    },
    model::decoupled::DecoupledModel,
};

/// Of a message: whether nothing follows.
const FINAL: &str = "triton_final_response";

/// An output.
pub(super) struct Output<'a> {
    model: &'a DecoupledModel,
    data_type: DataType,
    /// Of the request.
    id: &'a str,
    ids: Vec<i32>,
    is_whole: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(model: &'a DecoupledModel, data_type: DataType, id: &'a str) -> Self {
        Self { model, data_type, id, ids: Vec::new(), is_whole: false }
    }

    /// How many tokens there are.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Takes a message, and gives the ids in it.
    pub(super) fn take(&mut self, message: ModelStreamInferResponse) -> Result<&[i32], String> {
        if !message.error_message.is_empty() {
            return Err(format!("the server failed: {}", message.error_message));
        }
        let answer = message.infer_response.ok_or("a message has no answer")?;
        belongs(&answer, &self.model.served.name, self.id)?;
        if self.is_whole {
            return Err("it goes on after its final response".into());
        }
        let said = answer.parameters.get(FINAL).and_then(|said| said.parameter_choice.as_ref());
        self.is_whole = said == Some(&ParameterChoice::BoolParam(true));
        let before = self.ids.len();
        // The last message may be no more than the end.
        if !(self.is_whole && answer.outputs.is_empty()) {
            let output = output(&answer, &self.model.output, self.data_type)?;
            let rows = output.shape.iter().rev().skip(1);
            if output.shape.is_empty() || rows.into_iter().any(|rows| *rows != 1) {
                let (name, shape) = (&self.model.output, &output.shape);
                return Err(format!("the output {name:?} is {shape:?}, not one row of ids"));
            }
            match self.data_type {
                DataType::Int64 => {
                    let ids = output.data.as_chunks().0.iter().map(|id| i64::from_le_bytes(*id));
                    ids.into_iter().try_for_each(|id| self.push(id))?;
                }
                _ => {
                    let ids = output.data.as_chunks().0.iter().map(|id| i32::from_le_bytes(*id));
                    ids.into_iter().try_for_each(|id| self.push(id.into()))?;
                }
            }
        }
        Ok(&self.ids[before..])
    }

    fn is_end(&self, id: i32) -> bool {
        u32::try_from(id).is_ok_and(|id| self.model.served.eos.contains(&id))
    }

    fn push(&mut self, id: i64) -> Result<(), String> {
        let (place, model) = (self.ids.len(), &self.model.served);
        if place >= model.max_tokens as usize {
            return Err(format!("it gives more than max_tokens = {} tokens", model.max_tokens));
        }
        if self.ids.last().is_some_and(|last| self.is_end(*last)) {
            return Err(format!(
                "it goes on after the end-of-text token, its number {}",
                place - 1
            ));
        }
        match i32::try_from(id) {
            Ok(known) if (0..i64::from(model.vocabulary)).contains(&id) => self.ids.push(known),
            _ => {
                let most = model.vocabulary - 1;
                return Err(format!("its token {place} is {id}; ids go from 0 to {most}"));
            }
        }
        Ok(())
    }

    /// Ends the output: the stream has ended.
    pub(super) fn end(&self) -> Result<(), String> {
        let (got, model) = (self.ids.len(), &self.model.served);
        let most = model.max_tokens;
        if !self.is_whole {
            return Err("it ends without a final response".into());
        }
        let Some(last) = self.ids.last() else { return Err("it has no token".into()) };
        if got < model.min_tokens as usize {
            let least = model.min_tokens;
            return Err(format!("it has {got} tokens, less than min_tokens = {least}"));
        }
        // Without end-of-text ids the model alone knows where an output ends.
        if !model.eos.is_empty() && !self.is_end(*last) && got < most as usize {
            return Err(format!(
                "it was cut off after {got} tokens, before max_tokens = {most} and without an id of eos"
            ));
        }
        Ok(())
    }
}
