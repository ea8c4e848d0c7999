//! Checks the ids of an output while a plug-in returns them, step by step.

use crate::tokens::handle::PluginTokenSettings;

/// Limits and progress of an output, against which its next ids are checked.
#[derive(Debug)]
pub(crate) struct Output {
    least: u32,
    most: u32,
    given: u32,
    /// Set once the output contains an id that ends it.
    has_end: bool,
    /// Number of the step with the last event.
    step: Option<u64>,
}

impl Output {
    pub(crate) fn new(least: u32, most: u32) -> Self {
        Self { least, most, given: 0, has_end: false, step: None }
    }

    /// Checks the number of ids of an event of step number `step`, before the ids are read.
    pub(crate) fn check_count(&mut self, count: u32, step: u64) -> Result<(), String> {
        if self.step.replace(step) == Some(step) {
            return Err("two events in one step".into());
        }
        let left = self.most - self.given;
        if count > left {
            let Self { given, most, .. } = self;
            return Err(format!("{count} ids after {given}, but at most {most} are allowed"));
        }
        if count > 0 && self.has_end {
            return Err("ids after an id that ends the output".into());
        }
        Ok(())
    }

    pub(crate) fn check_ids(
        &mut self,
        ids: &[i32],
        settings: &PluginTokenSettings,
    ) -> Result<(), String> {
        let known = 0..i64::from(settings.vocabulary);
        for id in ids {
            if !known.contains(&i64::from(*id)) {
                return Err(format!("the id {id}; ids go from 0 to {}", known.end - 1));
            }
            if self.has_end {
                return Err("ids after an id that ends the output".into());
            }
            self.given += 1;
            if settings.ends.contains(id) {
                if self.given < self.least {
                    let Self { given, least, .. } = self;
                    return Err(format!("an end at id {given}, before the minimum of {least} ids"));
                }
                self.has_end = true;
            }
        }
        Ok(())
    }

    /// Fails if the output must not end after the ids so far.
    pub(crate) fn check_end(&self) -> Result<(), String> {
        let Self { given, least, most, has_end, .. } = self;
        if given < least {
            return Err(format!("an end at length {given}, before the minimum of {least}"));
        }
        if !has_end && given < most {
            return Err(format!(
                "an end at length {given} of {most}, without an id that ends an output"
            ));
        }
        Ok(())
    }
}
