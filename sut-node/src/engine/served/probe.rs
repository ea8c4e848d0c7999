//! What is asked of the serving engines before the node is ready: whether they give token ids, and whether they compute every
//! prompt in its entirety.

use std::{collections::BTreeSet, sync::Arc};

use netdiv_words::PrefixCaching;
use tokio::{runtime::Builder, time::timeout};
use tracing::warn;

use crate::{
    engine::{
        error::EngineError,
        remote::{
            servers::{Server, Servers},
            taker::Nobody,
        },
        served::{exchange::Exchange, output::Remarks},
    },
    model::served::ServedModel,
    settings::served::ServedConfig,
};

/// Longest prompt that is tried.
const PROMPT_TOKENS: u32 = 1024;

/// Engines reuse prompts in blocks, the longest of which have so many tokens. Of a prompt that is no longer nothing would be
/// seen: its last token is computed in any case.
const BLOCK_TOKENS: u32 = 256;

/// Tokens of an output that is tried.
const OUTPUT_TOKENS: u32 = 2;

/// What the servers are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Probed {
    /// Their names, with their versions as far as they say so.
    pub(super) framework: String,
    /// Of the server where it is worst.
    pub(super) prefix_caching: PrefixCaching,
}

/// Asks all servers.
pub(super) fn probe(settings: &ServedConfig) -> Result<Probed, EngineError> {
    let model = &settings.model;
    let few = model.max_tokens.min(OUTPUT_TOKENS);
    let model = ServedModel { max_tokens: few, min_tokens: 1, ..model.clone() };
    let exchange = Exchange::new(Arc::new(ServedConfig { model, ..settings.clone() }));
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| EngineError::Failed(error.to_string()))?;
    let servers = Servers::new(&settings.servers.urls);
    let mut names = BTreeSet::new();
    let mut worst = PrefixCaching::Off;
    for server in servers.all() {
        let (remarks, caching) = runtime.block_on(probe_one(&exchange, server))?;
        let off = exchange.wire.no_caching();
        match caching {
            PrefixCaching::Off => {}
            PrefixCaching::On => warn!(
                %server,
                "it reuses what it computed for other prompts, which the division does not allow: {off}"
            ),
            PrefixCaching::CannotTell => warn!(
                %server,
                "cannot tell whether it reuses what it computed for other prompts; make sure of {off}"
            ),
        }
        names.insert(remarks.server.unwrap_or_else(|| exchange.wire.product().into()));
        worst = worst.max(caching);
    }
    runtime.shutdown_background();
    let names: Vec<_> = names.into_iter().collect();
    Ok(Probed { framework: names.join(", "), prefix_caching: worst })
}

async fn probe_one(
    exchange: &Exchange,
    server: &Server,
) -> Result<(Remarks, PrefixCaching), EngineError> {
    exchange.check_model(server).await?;
    let model = &exchange.settings.model;
    let tokens = model.max_input_tokens.min(PROMPT_TOKENS);
    let prompt = prompt(tokens, model.vocabulary);
    let mut remarks = Remarks::default();
    for _ in 0..2 {
        (remarks, _) = exchange.ask(|_| Some(server.one_more()), &prompt, &mut Nobody).await?;
    }
    let caching = match remarks.cached {
        Some(1..) => PrefixCaching::On,
        Some(0) if tokens > BLOCK_TOKENS => PrefixCaching::Off,
        _ => {
            let stated = exchange.wire.stated_caching(server);
            let stated = timeout(exchange.settings.servers.timeout, stated).await;
            stated.unwrap_or(PrefixCaching::CannotTell)
        }
    };
    Ok((remarks, caching))
}

/// A prompt from the middle of the vocabulary: the ids at its ends often have a meaning of their own.
fn prompt(tokens: u32, vocabulary: u32) -> Vec<i64> {
    let (first, span) = (vocabulary / 4, (vocabulary / 2).max(1));
    (0..tokens).map(|place| i64::from(first + place.wrapping_mul(7919) % span)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_made_of_ids_that_there_are() {
        for vocabulary in [1, 2, 3, 2048, i32::MAX as u32] {
            let prompt = prompt(1024, vocabulary);
            assert!(prompt.iter().all(|id| (0..i64::from(vocabulary)).contains(id)));
        }
    }
}
