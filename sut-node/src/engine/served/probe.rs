//! Probe of the serving engines before the node is ready: they must return token ids, and compute
//! every prompt in full.

use std::{
    collections::BTreeSet,
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use netdiv_node_common::words::PrefixCaching;
use tokio::{runtime::Builder, time::timeout};
use tracing::warn;

use crate::{
    engine::{
        remote::{servers::Servers, token_receiver::TokenReceiver},
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

/// Minimum factor by which the first token of a repeated prompt must arrive sooner, to prove that
/// the server reuses the prompt.
const SOONER: u32 = 3;
/// Minimum time to the first token of a new prompt for the comparison to count.
const LEAST_TIME: Duration = Duration::from_millis(10);

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
                    "the server has room for {room} tokens of a prompt and its output, but the model's file allows {needed}: outputs \
                     may be cut off; start the server with a longer context"
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
    let prompt = prompt(tokens, model.vocabulary, 0);
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
            match stated.unwrap_or(PrefixCaching::CannotTell) {
                PrefixCaching::CannotTell if tokens > BLOCK_TOKENS => {
                    by_time(exchange, tokens).await?
                }
                told => told,
            }
        }
    };
    Ok((remarks, caching))
}

/// Receiver that records the time of the first token.
#[derive(Default)]
struct FirstTokenTime(Option<Instant>);

impl TokenReceiver for FirstTokenTime {
    fn tokens(&mut self, _: &[i32]) {
        self.0.get_or_insert_with(Instant::now);
    }
}

/// Detects prefix caching by the time to the first token. Sends two new prompts of `tokens` tokens,
/// each twice. Prefix caching is on if each second response is so much faster that the server
/// cannot have computed the prompt again. A slow second response proves nothing.
async fn by_time(exchange: &OpenAiExchange, tokens: u32) -> Result<PrefixCaching, EngineError> {
    for variant in 1..=2 {
        let prompt = prompt(tokens, exchange.settings.model.vocabulary, variant);
        let mut times = [Duration::ZERO; 2];
        for time in &mut times {
            let (begun, mut first) = (Instant::now(), FirstTokenTime::default());
            exchange.ask(&prompt, &mut first).await?;
            *time = first.0.unwrap_or(begun).saturating_duration_since(begun);
        }
        let [computed, again] = times;
        if computed < LEAST_TIME || again * SOONER > computed {
            return Ok(PrefixCaching::CannotTell);
        }
    }
    Ok(PrefixCaching::On)
}

/// Returns a prompt from the middle of the vocabulary. Ids at its ends often have a special
/// meaning. Prompts of different variants begin differently.
fn prompt(tokens: u32, vocabulary: u32, variant: u32) -> Vec<i64> {
    let (first, span) = (vocabulary / 4, (vocabulary / 2).max(1));
    let id = |place: u32| first + (place + variant).wrapping_mul(7919) % span;
    (0..tokens).map(|place| id(place).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_made_of_ids_that_there_are() {
        for vocabulary in [1, 2, 3, 2048, i32::MAX as u32] {
            let variants = (0..3).flat_map(|variant| prompt(1024, vocabulary, variant));
            let prompt: Vec<_> = variants.collect();
            assert!(prompt.iter().all(|id| (0..i64::from(vocabulary)).contains(id)));
        }
    }
}
