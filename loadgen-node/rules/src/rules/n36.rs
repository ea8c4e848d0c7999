//! N36: the description of a system has the fields that the official checker requires, in the
//! required form. In the Network division, it also has the fields of a network system.

use serde_json::{Map, Value};

use crate::{
    Division, Outcome,
    book::system_fields::{FIELDS, FieldRequirement, SystemField},
    input::json::REPEATED_KEY,
    placeholder::{is_not_applicable, is_placeholder},
    subject::{Findings, PlaceJudgement, Subject, SubmissionTree, System},
};

/// Prefixes of fields that may be `N/A`: the system may lack the part, or its maker may not publish
/// the value.
const MAY_BE_ABSENT: [&str; 4] =
    ["host_storage_", "host_processor_caches", "host_processor_frequency", "accelerator_frequency"];

/// Prefix of fields about accelerators, which a system without accelerators need not fill in.
const OF_ACCELERATORS: &str = "accelerator_";

/// Fields that the official programs read as whole numbers.
const WHOLE: [&str; 3] = ["number_of_nodes", "accelerators_per_node", "host_processors_per_node"];

/// Values of `system_type` that the official checker accepts.
const SUITES: [&str; 4] = ["datacenter", "edge", "datacenter,edge", "edge,datacenter"];

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    let text = "the fields of systems/*.json";
    let Some(tree) = found.tree(subject, text) else { return };
    if subject.systems.is_empty() && subject.idle_systems.is_empty() {
        let place = tree.home.root();
        found.fail(place, "there is no system: systems/*.json and results/ are missing");
    }
    for system in &subject.systems {
        let mut at = found.at(&system.place);
        match &system.json {
            Err(why) if why.contains(REPEATED_KEY) && subject.division != Division::Network => {
                at.unknown(format!("{why}, and the official checker uses the last: state it once"));
            }
            Err(why) => at.fail(why),
            Ok(json) => {
                is_network(json, subject.division, &mut at);
                fields(json, subject.division, &mut at);
                words(system, tree, &mut at);
            }
        }
        at.or_pass("every field that the checker asks for is there");
    }
}

/// Returns true if `is_network` in the system description is the text `true`, in upper or lower
/// case.
fn says_network(json: &Map<String, Value>) -> bool {
    let word = json.get("is_network").and_then(Value::as_str);
    word.is_some_and(|word| word.eq_ignore_ascii_case("true"))
}

fn is_network(json: &Map<String, Value>, division: Division, at: &mut PlaceJudgement) {
    match (division, json.get("is_network")) {
        (_, Some(value)) if !value.is_string() => {
            at.fail(format!("is_network is {value}: it must be the text \"True\" or \"False\""));
        }
        (Division::Network, _) if !says_network(json) => {
            at.fail("is_network is not \"True\"");
        }
        (Division::Closed, _) if says_network(json) => at.fail(
            "is_network is \"True\", which belongs to the Network division: leave the field out, or submit there",
        ),
        _ => {}
    }
}

fn fields(json: &Map<String, Value>, division: Division, at: &mut PlaceJudgement) {
    let over_network = division == Division::Network || says_network(json);
    let asked =
        || FIELDS.iter().filter(|field| over_network || field.kind != FieldRequirement::Network);
    let missing = asked().map(|field| field.name).filter(|name| !json.contains_key(*name));
    let missing: Vec<_> = missing.collect();
    if !missing.is_empty() {
        at.fail(format!("fields are missing: {}", missing.join(", ")));
    }
    for SystemField { name, kind, .. } in
        asked().filter(|field| field.kind != FieldRequirement::Free)
    {
        let Some(value) = json.get(*name) else { continue };
        let is_blank = |text: &str| text.trim().is_empty() && *kind == FieldRequirement::Network;
        if is_empty(value) || value.as_str().is_some_and(is_blank) {
            at.fail(match kind {
                FieldRequirement::Network => {
                    format!("{name} is {value}: say what it is (section 6.2.2)")
                }
                _ => format!("{name} is {value}, which the checker treats as empty"),
            });
        } else if *kind == FieldRequirement::Filled
            && let Some(text) = value.as_str().filter(|text| is_placeholder(text))
        {
            placeholder(name, text, json, division, at);
        }
    }
}

/// Returns true for values that are false in Python, which the official checker treats as empty.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

/// Finds a field with a placeholder. The official checker accepts any text, but its guidelines
/// require a meaningful one if the field applies.
fn placeholder(
    name: &str,
    text: &str,
    json: &Map<String, Value>,
    division: Division,
    at: &mut PlaceJudgement,
) {
    let has_none = json.get("accelerators_per_node").is_some_and(|count| match count {
        Value::String(text) => text.trim() == "0" || is_not_applicable(text),
        count => count.as_u64() == Some(0),
    });
    let may_be_absent = MAY_BE_ABSENT.iter().any(|start| name.starts_with(start))
        || (name.starts_with(OF_ACCELERATORS) && has_none);
    // More fields do not apply to a system without a network part.
    let may_be_absent = may_be_absent || division != Division::Network;
    if !(is_not_applicable(text) && may_be_absent) {
        let (outcome, text) = unwritten(division, format!("{name} is \"{text}\""));
        at.find(outcome, text);
    }
}

/// Returns the finding for a placeholder. The official checker accepts it, its guidelines do not.
pub(super) fn unwritten(division: Division, what: String) -> (Outcome, String) {
    match division {
        Division::Network | Division::Exploratory => {
            (Outcome::Fail, format!("{what}: say what it is"))
        }
        Division::Closed | Division::Open => (
            Outcome::CannotTell,
            format!(
                "{what}, which the official checker accepts but its guidelines do not: say what it is"
            ),
        ),
    }
}

/// Judges fields that must equal the name of a folder, that have a fixed set of values, or that
/// must be whole numbers.
fn words(system: &System, tree: &SubmissionTree, at: &mut PlaceJudgement) {
    let same = |field: &str, want: &str| system.text(field).is_none_or(|text| text == want);
    if !same("division", &tree.home.division) {
        at.fail(format!("division is not {}, the name of the folder", tree.home.division));
    }
    let submitter = system.text("submitter");
    if submitter.is_some_and(|name| !name.eq_ignore_ascii_case(&tree.home.submitter)) {
        at.fail(format!("submitter is not {}, the name of the folder", tree.home.submitter));
    }
    let status = system.text("status").map(|status| status.to_lowercase());
    if status.is_some_and(|status| !["available", "preview", "rdi"].contains(&status.as_str())) {
        at.fail("status is not available, preview or rdi");
    }
    let suite = system.text("system_type");
    if let Some(suite) = suite.filter(|suite| !SUITES.contains(&suite.as_str())) {
        at.fail(format!("system_type is `{suite}`, and the checker accepts {}", SUITES.join("; ")));
    }
    for field in WHOLE {
        let is_none = |text: &str| field == "accelerators_per_node" && is_not_applicable(text);
        let is_whole = |text: &String| text.parse::<u64>().is_ok() || is_none(text);
        if !system.text(field).as_ref().is_none_or(is_whole) {
            at.fail(format!("{field} is not a whole number"));
        }
    }
}
