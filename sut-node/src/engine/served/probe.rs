//! Probe of the serving engines before the node is ready: they must return token ids, and compute
//! every prompt in full.

use std::{collections::BTreeSet, slice, sync::Arc};

use netdiv_node_common::words::PrefixCaching;
use tokio::{runtime::Builder, time::timeout};
use tracing::warn;

use crate::{
    engine::{
        remote::servers::Servers,
        served::{exchange::OpenAiExchange, output::Remarks, settings::ServedConfig},
    },
    ground::error::EngineError,
    model::served_model::ServedModel,
};

/// Maximum length of the probe's prompt, in tokens.
const PROMPT_TOKENS: u32 = 1024;

/// Largest block in which engines reuse prompts, in tokens. A shorter prompt would reveal nothing,
/// because its last token is computed in any case.
const BLOCK_TOKENS: u32 = 256;

/// Maximum number of tokens of the probe's output.
const OUTPUT_TOKENS: u32 = 2;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServedProbe {
    /// Names of the servers, with their versions if they report them.
    pub(super) framework: String,
    /// Prefix caching of the servers: the worst value among them.
    pub(super) prefix_caching: PrefixCaching,
    /// Maximum number of tokens of a prompt and its output together: the minimum among the servers
    /// that report it.
    pub(super) context_tokens: Option<u64>,
}

pub(super) fn probe(settings: &ServedConfig) -> Result<ServedProbe, EngineError> {
    let model = &settings.model;
    let few = model.max_tokens.min(OUTPUT_TOKENS);
    let model = ServedModel { max_tokens: few, min_tokens: 1, ..model.clone() };
    let short = Arc::new(ServedConfig { model, ..settings.clone() });
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut names = BTreeSet::new();
    let mut worst = PrefixCaching::Off;
    let mut context_tokens = None;
    for url in &settings.servers.urls {
        let servers = Arc::new(Servers::new(slice::from_ref(url)));
        let exchange = OpenAiExchange::new(short.clone(), servers);
        let server = &exchange.servers.all()[0];
        let (remarks, caching) = runtime.block_on(probe_one(&exchange))?;
        let off = exchange.client.api.no_caching;
        match caching {
            PrefixCaching::Off => {}
            PrefixCaching::On => warn!(
                %server,
                "the server reuses cached tokens of other prompts, which the division does not allow; required: {off}"
            ),
            PrefixCaching::CannotTell => warn!(
                %server,
                "cannot detect whether the server reuses cached tokens of other prompts; required: {off}"
            ),
        }
        let patience = exchange.settings.servers.timeout;
        let room = runtime
            .block_on(async { timeout(patience, exchange.client.context_tokens(server)).await });
        if let Ok(Some(room)) = room {
            let model = &settings.model;
            let needed = u64::from(model.max_input_tokens) + u64::from(model.max_tokens);
            if room < needed {
                warn!(
                    %server,
                    "the server has room for {room} tokens of a prompt and its output together, and the limits of the model's file add up \
                     to {needed}: longer ones are cut off; a run for a division checks what its benchmark needs"
                );
            }
            context_tokens = Some(context_tokens.map_or(room, |least: u64| least.min(room)));
        }
        names.insert(remarks.server.unwrap_or_else(|| exchange.client.api.product.into()));
        worst = worst.max(caching);
    }
    runtime.shutdown_background();
    let names: Vec<_> = names.into_iter().collect();
    Ok(ServedProbe { framework: names.join(", "), prefix_caching: worst, context_tokens })
}

/// Probes the only server of an exchange.
async fn probe_one(exchange: &OpenAiExchange) -> Result<(Remarks, PrefixCaching), EngineError> {
    let model = &exchange.settings.model;
    let tokens = model.max_input_tokens.min(PROMPT_TOKENS);
    let prompt = prompt(tokens, model.vocabulary);
    let mut remarks = Remarks::default();
    for _ in 0..2 {
        (remarks, _) = exchange.ask(&prompt, &mut Vec::new()).await?;
    }
    let caching = match remarks.cached {
        Some(1..) => PrefixCaching::On,
        Some(0) if tokens > BLOCK_TOKENS => PrefixCaching::Off,
        _ => {
            let stated = exchange.client.stated_caching(&exchange.servers.all()[0]);
            let stated = timeout(exchange.settings.servers.timeout, stated).await;
            stated.unwrap_or(PrefixCaching::CannotTell)
        }
    };
    Ok((remarks, caching))
}

/// Returns a prompt from the middle of the vocabulary. Ids at its ends often have a special
/// meaning.
fn prompt(tokens: u32, vocabulary: u32) -> Vec<i64> {
    let (first, span) = (vocabulary / 4, (vocabulary / 2).max(1));
    let id = |place: u32| first + place.wrapping_mul(7919) % span;
    (0..tokens).map(|place| id(place).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_made_of_ids_that_there_are() {
        for vocabulary in [1, 2, 3, 2048, i32::MAX as u32] {
            assert!(
                prompt(1024, vocabulary).iter().all(|id| (0..i64::from(vocabulary)).contains(id))
            );
        }
    }
}
