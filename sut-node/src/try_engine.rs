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

/// Does what a start does until the node is ready. Returns a description of the engine and its
/// model.
pub(crate) fn try_engine(config: &Config) -> Result<String, NodeError> {
    let background = Background::start("check")?;
    let engines = EnginePool::start(&config.engine, &config.node, &background.handle)?;
    let instances = engines.engines;
    let (model, queue, room, running) = engines.split();
    let found = [
        ("engine", model.engine.clone()),
        ("model", model.name.clone()),
        ("sha256", model.sha256.clone()),
        ("framework", model.framework.clone()),
        ("samples", layout::describe(&model.input)),
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
            let lines = found.iter().filter(|(_, text)| !text.is_empty());
            let lines: Vec<_> = lines.map(|(what, text)| format!("{what}: {text}")).collect();
            Ok(lines.join("\n"))
        }
    }
}
