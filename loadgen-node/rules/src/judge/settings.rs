//! N20: the settings of a machine are published, and their digest is that of the very text (rules, section 6.2.3).

use netdiv_contract::v1::Machine;

use crate::facts::{files::sha256_of, machines::said};

/// What is wrong with the settings in a machine's evidence. `announced` is the digest by which a node said, before the
/// run, what settings it answers with.
pub(crate) fn wrong_settings(machine: &Machine, announced: Option<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let text = machine.settings.as_deref().filter(|text| !text.trim().is_empty());
    if text.is_none() {
        wrong.push("did not say what its settings are".to_owned());
    }
    let stated = said(&machine.settings_sha256);
    match (text, stated) {
        (_, None) => wrong.push("gave no SHA-256 of its settings".into()),
        (Some(text), Some(stated)) if sha256_of(text) != stated => wrong.push(
            "published settings whose SHA-256 is not the one that it gave: take the evidence as the run recorded it".into(),
        ),
        _ => {}
    }
    match announced {
        Some("") => wrong.push("did not give the SHA-256 of the settings that it ran with".into()),
        Some(announced) if stated.is_some_and(|stated| stated != announced) => {
            wrong.push(format!(
                "ran with settings of SHA-256 {announced}, and the recorded ones have {}",
                stated.unwrap_or_default()
            ));
        }
        _ => {}
    }
    wrong
}
