//! Judges the nameplates of systems: YAML files with the rated power of the parts. The official
//! checker of round v6.1 stops at a file that is not YAML.

use saphyr_parser::{Event, Parser};

use crate::{
    input::files::{self, entries},
    subject::{Findings, Subject},
    tree::{Layout, NAMEPLATE},
};

/// Field of a system's description that may replace the nameplate.
const CAPACITY: &str = "system_power_capacity";

pub(super) fn judge(subject: &Subject, found: &mut Findings) {
    // The checkers of earlier rounds do not read these files.
    let Some(tree) = subject.tree.as_ref().filter(|tree| tree.home.layout == Layout::B) else {
        return;
    };
    for system in &subject.systems {
        let capacity = system.text(CAPACITY).filter(|text| is_negative(text));
        if let Some(capacity) = capacity {
            let text = format!("{CAPACITY} is {capacity}: write the rated power in watts");
            found.fail(&system.place, text);
        }
    }
    let folder = tree.path(&format!("{}/systems", tree.home.root()));
    for (name, path) in entries(&folder).unwrap_or_default() {
        let Some(system) = name.strip_suffix(NAMEPLATE) else { continue };
        let mut at = found.at(tree.home.nameplate(system));
        let is_there = subject.systems.iter().any(|known| known.name == system)
            || subject.idle_systems.contains(&tree.home.system_json(system));
        if !is_there {
            at.fail(format!(
                "belongs to no system: there is no {}; name it after the description of its system, or remove it",
                tree.home.system_json(system)
            ));
        }
        match files::read_to_string(&path).map(|text| problems(&text)) {
            Ok(Ok(problems)) => at.fail_each(problems),
            Ok(Err(why)) => at.fail(format!("is not YAML: {why}")),
            Err(error) => at.fail(format!("cannot be read: {error}")),
        }
    }
}

/// Returns findings about the numbers in a nameplate, or the reason why it is not YAML. The official
/// checker adds the `PowerCapacityWatts` of as many parts as `Min PSUs Needed` says.
fn problems(text: &str) -> Result<Vec<String>, String> {
    let fields = fields(text)?;
    if fields.is_empty() {
        return Err("it has no line `key: value`".into());
    }
    let wrong = fields.into_iter().filter_map(|(line, key, value)| {
        let is_right = match key.to_lowercase().as_str() {
            "powercapacitywatts" => is_number(&value) && !is_negative(&value),
            "min psus needed" => value.parse::<u32>().is_ok(),
            _ => true,
        };
        (!is_right).then(|| {
            format!("line {line}: {key} is `{value}`: write a number that is not negative")
        })
    });
    Ok(wrong.collect())
}

fn is_number(value: &str) -> bool {
    value.replace('_', "").parse::<f64>().is_ok_and(f64::is_finite)
}

fn is_negative(value: &str) -> bool {
    value.replace('_', "").parse::<f64>().is_ok_and(|number| number < 0.0)
}

/// A mapping or a list of which more follows.
enum Open {
    List,
    /// Mapping with the key whose value follows; `None` before a key.
    Mapping(Option<String>),
}

/// Returns the fields of all mappings in a YAML text whose values are texts or numbers: line, key
/// and value, in the order of the text.
fn fields(text: &str) -> Result<Vec<(usize, String, String)>, String> {
    let (mut fields, mut open) = (Vec::new(), Vec::new());
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| format!("line {}: {}", error.marker().line(), error.info()))?;
        // An alias repeats a value that stands elsewhere.
        let scalar = match &event {
            Event::Scalar(text, ..) => text.to_string(),
            Event::Alias(_) | Event::SequenceStart(..) | Event::MappingStart(..) => String::new(),
            Event::SequenceEnd | Event::MappingEnd => {
                open.pop();
                continue;
            }
            _ => continue,
        };
        if let Some(Open::Mapping(key)) = open.last_mut() {
            match (key.take(), &event) {
                (None, _) => *key = Some(scalar),
                (Some(key), Event::Scalar(..)) => fields.push((span.start.line(), key, scalar)),
                (Some(_), _) => {}
            }
        }
        match event {
            Event::SequenceStart(..) => open.push(Open::List),
            Event::MappingStart(..) => open.push(Open::Mapping(None)),
            _ => {}
        }
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the official documentation of a submission's structure.
    const OFFICIAL: &str = "My System:\n- My Rack 1:\n  - My Server 1:\n    - Description: 'Optional Description'\n      Min PSUs Needed: 1\n      \
                            PSUs:\n      - Name: PSU 1\n        PowerCapacityWatts: 1200\n      - Name: PSU 2\n        \
                            PowerCapacityWatts: 1200\n  - My Switch 1:\n    - Description: 'Optional Description'\n      \
                            Min PSUs needed: 1\n      PSUs:\n      - Name: PSU 1\n        PowerCapacityWatts: 1200\n";

    #[test]
    fn nameplates_are_yaml_with_numbers() {
        let read = |text: &str| match problems(text) {
            Ok(problems) => problems.join("; "),
            Err(why) => format!("not YAML: {why}"),
        };
        for good in [
            OFFICIAL,
            "node:\n  PowerCapacityWatts: 700\n",
            "---\n# Rated power\nnode: # one\n  - PowerCapacityWatts: 1_200.5\n  -\n    Name: \"a: b\"\n...\n",
            "{\"node\": {\"PowerCapacityWatts\": 1200}}\n",
            "node: &a\n  PowerCapacityWatts: 1200\nother: *a\n",
            "a: 'x' # y\nd: \"x # y\"\nc: a long text\n  on two lines\nb:\n- c\n- d\nPowerCapacityWatts: 0\n",
        ] {
            assert_eq!(read(good), "", "{good}");
        }
        for (text, want) in [
            ("", "not YAML: it has no line"),
            ("Two supplies of 1200 W.\nOne is enough.\n", "not YAML: it has no line"),
            ("node:\n\tPowerCapacityWatts: 1200\n", "not YAML: line 2"),
            ("node: 'a\n", "not YAML: line"),
            ("node: a: b\n", "not YAML: line 1"),
            ("node: [1\n", "not YAML: line"),
            ("  node:\n    a: 1\n   b: 2\n", "not YAML: line 3"),
            ("node: 1\n- a\n", "not YAML: line 2"),
            ("node: *a\n", "not YAML: line 1"),
            ("PowerCapacityWatts: -700\n", "line 1: PowerCapacityWatts is `-700`: write a number"),
            ("{node: [{PowerCapacityWatts: 700 W}]}\n", "line 1: PowerCapacityWatts is `700 W`"),
            ("a: 1\nMin PSUs needed: -1\n", "line 2: Min PSUs needed is `-1`"),
        ] {
            assert!(read(text).starts_with(want), "{text}: {}", read(text));
        }
    }
}
