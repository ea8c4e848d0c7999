//! Tests of language models: prompts, outputs and their bounds.

use super::*;
use netdiv_node_common::words::Scenario;

#[test]
fn no_engine_reuses_prompts() {
    const TOKENS: &str = "[engine.model]\nvocabulary = 100\n";
    let found = |word| format!("\n[found]\nprefix_caching = \"{word}\"\n");
    for (engine, found, text) in [
        ("openai", String::new(), "it did not report whether its serving engine reuses"),
        ("vllm-grpc", String::new(), "it did not report whether its serving engine reuses"),
        ("sglang-grpc", String::new(), "it did not report whether its serving engine reuses"),
        ("trtllm-grpc", String::new(), "it did not report whether its serving engine reuses"),
        ("openai", found("no"), "it did not report whether"),
        ("openai", found("cannot-tell"), "it cannot tell whether its serving engine reuses"),
        ("openai", found("on"), "its serving engine reuses what it computed for other prompts"),
        ("plugin:torch", found("on"), "its serving engine reuses"),
        ("kserve", found("cannot-tell"), "it cannot tell whether its serving engine reuses"),
        ("kserve", TOKENS.into(), "it did not report whether its serving engine reuses"),
        ("kserve", format!("{TOKENS}{}", found("no")), "it did not report whether"),
    ] {
        fails(images(), Rule::N10, "rack-a", text, |case| {
            case.engines.truncate(1);
            case.engines[0].engine = engine;
            node(case).settings = Some(format!("max_batch = 7\n{found}"));
        });
    }
    for (engine, settings) in [
        ("openai", found("off")),
        ("kserve", format!("{TOKENS}{}", found("off"))),
        ("kserve", "[engine.model]\nworkload = \"tensors\"\n".into()),
    ] {
        let mut case = images();
        case.engines.truncate(1);
        case.engines[0].engine = engine;
        node(&mut case).settings = Some(settings);
        assert_eq!(super::found(Division::Network, &case), []);
    }
}

#[test]
fn a_language_model_ends_its_outputs_as_the_benchmark_does() {
    let file = |keys: &str| format!("[engine.model]\nvocabulary = 32000\n{keys}\n");
    for (keys, text) in [
        ("max_tokens = 1023\neos = [2]", "max_tokens is 1023, but llama2-70b-99 requires 1024"),
        ("max_tokens = 1025\neos = [2]", "max_tokens is 1025"),
        (
            "max_tokens = 1024\nmin_tokens = 3\neos = [2]",
            "min_tokens is 3, but llama2-70b-99 requires 1",
        ),
        ("max_tokens = 1024\neos = []", "eos is missing"),
        ("max_tokens = 1024", "eos is missing"),
    ] {
        fails(tokens(), Rule::N2, "rack-a", text, |case| {
            case.engines.truncate(1);
            node(case).settings = Some(file(keys));
        });
    }
    let mut case = tokens();
    case.engines.truncate(1);
    node(&mut case).settings = Some(file("max_tokens = 1024\nmin_tokens = 2\neos = [2]"));
    assert_eq!(found(Division::Network, &case), []);
}

#[test]
fn outputs_are_drafted_only_where_the_rules_allow_it() {
    let reasoning = |round| {
        let mut case = PolicyCase { benchmark: "deepseek-r1-interactive", ..tokens() };
        case.engines.truncate(1);
        of_round(case, round)
    };
    let draft = |head: &str, steps| {
        format!(
            "[engine.model]\nvocabulary = 100\nmax_tokens = 20000\neos = [1]\n\
             [engine.model.speculative_decoding]\nhead = \"{head}\"\nsteps = {steps}\ntop_k = 1\n"
        )
    };
    const HEAD: &str = "deepseek-ai/DeepSeek-R1";
    let of = |case: &PolicyCase| {
        let all = found(Division::Network, case).into_iter();
        all.filter(|one| one.text.contains("speculative"))
            .map(|one| (one.rule, one.text))
            .collect::<Vec<_>>()
    };
    for (round, head, steps, text) in [
        (
            "v6.1",
            "my/head",
            3,
            "with the head my/head, 3 steps and a top-k of 1, but deepseek-r1-interactive permits only the head",
        ),
        ("v6.1", HEAD, 4, "4 steps and a top-k of 1, but deepseek-r1-interactive permits only"),
        ("v5.1", HEAD, 3, "which round v5.1 does not allow for deepseek-r1-interactive"),
    ] {
        let mut case = reasoning(round);
        node(&mut case).settings = Some(draft(head, steps));
        let texts = of(&case);
        assert!(
            matches!(&texts[..], [(Rule::N2, said)] if said.contains(text)),
            "{round} {head} {steps}: {texts:?}"
        );
    }
    let mut case = reasoning("v6.1");
    node(&mut case).settings = Some(draft(HEAD, 3));
    assert_eq!(of(&case), []);
    case.benchmark = "deepseek-r1";
    assert_eq!(of(&case).len(), 1);
}

#[test]
fn a_serving_engine_has_room_for_the_longest_prompt_and_output() {
    let file = "[engine.model]\nvocabulary = 32000\nmax_tokens = 1024\neos = [2]\n\
                [found]\nprefix_caching = \"off\"\ncontext_tokens = ";
    let text = "a context of 2047 tokens, but prompts of llama2-70b-99 have up to 1024 and outputs up to 1024";
    fails(tokens(), Rule::N2, "rack-a", text, |case| {
        case.engines.truncate(1);
        node(case).settings = Some(format!("{file}2047\n"));
    });
    let mut case = tokens();
    case.engines.truncate(1);
    node(&mut case).settings = Some(format!("{file}2048\n"));
    assert_eq!(found(Division::Network, &case), []);
}

#[test]
fn the_bounds_of_an_interactive_variant_are_its_own() {
    let chat = || {
        let mut case = of_round(tokens(), "v5.1");
        case.benchmark = "llama2-70b-interactive-99";
        set("server_ttft_latency", "450000000")(&mut case);
        set("server_tpot_latency", "40000000")(&mut case);
        case
    };
    assert_eq!(found(Division::Network, &chat()), []);
    let text = "the bound for the first token of llama2-70b-interactive-99 is 450 ms, not 2000 ms";
    let value = set("server_ttft_latency", "2000000000");
    fails(chat(), Rule::N2, "server_ttft_latency", text, value);
}

#[test]
fn offline_of_an_interactive_variant_needs_a_line_in_user_conf() {
    let offline = || {
        let mut case = of_round(tokens(), "v5.1");
        (case.benchmark, case.scenario) = ("llama2-70b-interactive-99", Scenario::Offline);
        set("offline_expected_qps", "1.000000")(&mut case);
        case
    };
    assert_eq!(found(Division::Network, &offline()), []);
    let text = "set `llama2-70b-interactive.Offline.min_query_count = 24576` in user.conf";
    let value = set("min_query_count", "100");
    fails(offline(), Rule::N32, "min_query_count", text, value);
}
