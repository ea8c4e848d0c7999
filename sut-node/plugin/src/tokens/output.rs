//! What a plug-in has given of an output, and what it may still give.

use crate::tokens::settings::TokenSettings;

/// An output under way.
#[derive(Debug)]
pub(crate) struct Output {
    least: u32,
    most: u32,
    given: u32,
    /// It has an id that ends it.
    has_end: bool,
    /// The step of its last event.
    step: Option<u64>,
}

impl Output {
    pub(crate) fn new(least: u32, most: u32) -> Self {
        Self { least, most, given: 0, has_end: false, step: None }
    }

    /// Looks at an event of so many ids before the ids are read.
    pub(crate) fn claim(&mut self, count: u32, step: u64) -> Result<(), String> {
        if self.step.replace(step) == Some(step) {
            return Err("two events in one step".into());
        }
        let left = self.most - self.given;
        if count > left {
            let Self { given, most, .. } = self;
            return Err(format!("{count} ids after {given}, of at most {most}"));
        }
        if count > 0 && self.has_end {
            return Err("ids after one that ends the output".into());
        }
        Ok(())
    }

    /// Looks at its ids.
    pub(crate) fn take(&mut self, ids: &[i32], settings: &TokenSettings) -> Result<(), String> {
        let known = 0..i64::from(settings.vocabulary);
        for id in ids {
            if !known.contains(&i64::from(*id)) {
                return Err(format!("the id {id}; ids go from 0 to {}", known.end - 1));
            }
            if self.has_end {
                return Err("ids after one that ends the output".into());
            }
            self.given += 1;
            if settings.ends.contains(id) {
                if self.given < self.least {
                    let Self { given, least, .. } = self;
                    return Err(format!(
                        "an end in place {given}, before the {least} ids that were asked for"
                    ));
                }
                self.has_end = true;
            }
        }
        Ok(())
    }

    /// Whether it may end here.
    pub(crate) fn end(&self) -> Result<(), String> {
        let Self { given, least, most, has_end, .. } = self;
        if given < least {
            return Err(format!(
                "an end after {given} ids, before the {least} that were asked for"
            ));
        }
        if !has_end && given < most {
            return Err(format!(
                "an end after {given} ids of {most}, of which none ends an output"
            ));
        }
        Ok(())
    }
}
