//! Sources of the package `netdiv_engine`, which a worker runs, and the program that loads them.

use std::collections::BTreeMap;

macro_rules! modules {
    ($($name:literal),*) => {
        [
            ("netdiv_engine", include_str!("../../../python/netdiv-engine/src/netdiv_engine/__init__.py")),
            $((
                concat!("netdiv_engine.", $name),
                include_str!(concat!("../../../python/netdiv-engine/src/netdiv_engine/", $name, ".py")),
            )),*
        ]
    };
}

/// Modules of the package, by name.
const MODULES: [(&str, &str); 12] = modules!(
    "declaration",
    "engine",
    "errors",
    "iterators",
    "language",
    "outputs",
    "packages",
    "protocol",
    "tensors",
    "trial",
    "worker"
);

/// First program of a worker. It reports an unsuitable interpreter, then imports the package from
/// the node's first message.
pub(super) const BOOT: &str = include_str!("boot.py");

/// Returns the sources by the names of their modules.
pub(super) fn modules() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from(MODULES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_of_the_package_is_embedded() {
        let folder =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../python/netdiv-engine/src/netdiv_engine");
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            // The check runs without a node.
            .filter(|name| name.ends_with(".py") && name != "__main__.py")
            .map(|name| match name.trim_end_matches(".py") {
                "__init__" => "netdiv_engine".to_owned(),
                module => format!("netdiv_engine.{module}"),
            })
            .collect();
        files.sort();
        assert_eq!(modules().into_keys().collect::<Vec<_>>(), files);
    }
}
