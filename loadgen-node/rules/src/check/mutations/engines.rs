//! Edits of what nodes say about the engines behind them.

use netdiv_contract::v1::Machine;

use super::{Row, tree::Tree};
use crate::{Rule::*, facts::files::sha256_of};

/// Lets all nodes have that engine, and add this to their settings, with all digests.
pub(super) fn engines(tree: &Tree, engine: &str, settings: &str) {
    tree.every_record(|record| {
        for node in &mut record.nodes {
            node.engine = engine.into();
            let nodes = &mut record.evidence.as_mut().unwrap().nodes;
            let machine: &mut Machine = nodes.get_mut(&node.name).unwrap();
            let text = machine.settings.take().unwrap() + settings;
            machine.settings_sha256 = Some(sha256_of(&text));
            machine.settings = Some(text);
            node.config_sha256 = machine.settings_sha256.clone().unwrap();
        }
    });
}

pub(super) const ROWS: &[Row] = &[
    ("tokens of no model", &[N2], |tree| engines(tree, "tokens", "")),
    ("prompts that were reused", &[N10], |tree| {
        engines(tree, "openai", "[found]\nprefix_caching = \"on\"\n");
    }),
    ("prompts that may have been reused", &[N10], |tree| {
        engines(tree, "openai", "[found]\nprefix_caching = \"cannot-tell\"\n");
    }),
    ("a serving engine that was not asked", &[N10], |tree| engines(tree, "openai", "")),
    ("another word for prompts that were reused", &[N10], |tree| {
        engines(tree, "openai", "[found]\nprefix_caching = \"OFF\"\n");
    }),
    ("prompts that were reused in mid-run", &[N10], |tree| {
        engines(tree, "openai", "[found]\nprefix_caching = \"off\"\n");
        tree.every_record(|record| record.nodes[1].cached_prompt_tokens = 1);
    }),
    ("prompts that were reused by any engine", &[N10], |tree| {
        engines(tree, "plugin:torch", "[found]\nprefix_caching = \"on\"\n");
    }),
];
