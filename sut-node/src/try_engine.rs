//! `sut-node --check`: loads the engine and tries it, as at a start, and does not serve.

use netdiv_contract::layout;
use tokio::sync::watch;

use crate::{
    engine::pool::EnginePool,
    ground::{background::Background, condition::Condition},
    intake::{evidence::Evidence, node_state::NodeState},
    process::error::NodeError,
    settings::config::Config,
};

/// Does what a start does until the node is ready. Returns what the node would announce of its
/// engine and model.
pub(crate) fn try_engine(config: &Config) -> Result<String, NodeError> {
    let background = Background::start("check")?;
    let engines = EnginePool::start(&config.engine, &config.node, &background.handle)?;
    let instances = engines.engines;
    let (model, queue, room, running) = engines.split();
    let servers: Vec<_> = model.servers.iter().map(|server| &*server.address).collect();
    let unknown = if servers.is_empty() { "" } else { "not stated in the model's file" };
    let sha256: &str = if model.sha256.is_empty() { unknown } else { &model.sha256 };
    let caching = model.found.as_ref().map(|found| found.prefix_caching.word());
    let context = model.found.as_ref().and_then(|found| found.context_tokens);
    let announced = [
        ("engine", model.engine.clone()),
        ("servers", servers.join(", ")),
        ("model", model.name.clone()),
        ("sha256", sha256.to_owned()),
        ("framework", model.framework.clone()),
        ("samples", layout::describe(&model.input)),
        ("prefix_caching", caching.unwrap_or_default().to_owned()),
        ("context_tokens", context.map(|count| count.to_string()).unwrap_or_default()),
        ("instances", instances.to_string()),
    ];
    let evidence = Evidence::of(config, &model);
    let condition = watch::Sender::new(Condition::Well);
    let fault = evidence.map(|evidence| {
        NodeState::new(config, model, evidence, queue.clone(), room, condition.subscribe()).fault()
    });
    queue.close();
    running.wait();
    match fault? {
        Some(why) => Err(NodeError::Description(why)),
        None => {
            let lines = announced.iter().filter(|(_, text)| !text.is_empty());
            let lines: Vec<_> = lines.map(|(what, text)| format!("{what}: {text}")).collect();
            Ok(lines.join("\n"))
        }
    }
}
