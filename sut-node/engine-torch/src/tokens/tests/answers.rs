//! Tests of every prompt of every model: alone, in a full batch, and while other samples join and
//! leave.

use std::collections::HashMap;

use super::driver::{Engine, Settings, ids};

const MODELS: [&str; 4] = ["tiny-llama", "tiny-llama3.1", "tiny-mixtral", "tiny-gptj"];

/// Models, and whether their steps run ahead, as on a GPU. Only models without beams can run ahead.
const MODES: [(&str, bool); 7] = [
    (MODELS[0], false),
    (MODELS[1], false),
    (MODELS[2], false),
    (MODELS[3], false),
    (MODELS[0], true),
    (MODELS[1], true),
    (MODELS[2], true),
];

/// Minimum and maximum length of the fixtures' outputs.
const LEAST: u32 = 4;
const MOST: u32 = 40;

fn fixtures(model: &str) -> (Vec<Vec<i32>>, Vec<Vec<i32>>) {
    let (prompts, outputs) =
        (ids(&format!("{model}-prompts.ids")), ids(&format!("{model}-outputs.ids")));
    assert_eq!((prompts.len(), outputs.len()), (200, 200));
    (prompts, outputs)
}

fn compare(model: &str, outputs: &HashMap<u64, Vec<i32>>, wanted: &[Vec<i32>]) {
    for (sample, output) in outputs {
        assert_eq!(output, &wanted[*sample as usize], "{model}, prompt {sample}");
    }
}

#[test]
fn alone_each_output_is_that_of_transformers() {
    for model in MODELS {
        let (prompts, wanted) = fixtures(model);
        let mut engine = Engine::of(model);
        for (sample, prompt) in prompts.iter().enumerate() {
            engine.submit(sample as u64, prompt, LEAST, MOST).unwrap();
            compare(model, &engine.finish(1), &wanted);
        }
    }
}

#[test]
fn in_a_full_batch_each_output_is_that_of_transformers() {
    for (model, ahead) in MODES {
        let (prompts, wanted) = fixtures(model);
        let mut engine = Engine::of(model);
        engine.warm_up().unwrap();
        if ahead {
            engine.run_ahead();
        }
        for batch in 0..prompts.len().div_ceil(32) {
            let samples: Vec<_> = (batch * 32..prompts.len().min(batch * 32 + 32)).collect();
            for &sample in &samples {
                engine.submit(sample as u64, &prompts[sample], LEAST, MOST).unwrap();
            }
            compare(model, &engine.finish(samples.len()), &wanted);
        }
    }
}

#[test]
fn while_others_join_and_leave_each_output_is_that_of_transformers() {
    for (model, ahead) in MODES {
        let (prompts, wanted) = fixtures(model);
        for (slots, chunk) in [(7, 5), (32, 100)] {
            let change = |it: &mut Settings| (it.raw.slots, it.raw.chunk) = (slots, chunk);
            let mut engine = Engine::with(model, change);
            if ahead {
                engine.run_ahead();
            }
            let (mut next, mut under, mut outputs) =
                (0, Vec::new(), HashMap::<u64, Vec<i32>>::new());
            let mut cancelled = 0;
            for step in 0.. {
                // One sample joins in each step, so that samples are at all stages of their
                // outputs. Now and then one leaves early.
                if under.len() < slots as usize && next < prompts.len() {
                    engine.submit(next as u64, &prompts[next], LEAST, MOST).unwrap();
                    under.push(next as u64);
                    next += 1;
                }
                if step % 50 == 49 && !under.is_empty() {
                    let sample = under.remove(step % under.len());
                    engine.cancel(sample);
                    outputs.remove(&sample);
                    cancelled += 1;
                }
                for (sample, ids, is_last) in engine.step().unwrap() {
                    assert!(under.contains(&sample), "an event of a sample that has left");
                    outputs.entry(sample).or_default().extend(ids);
                    under.retain(|it| !is_last || *it != sample);
                }
                if under.is_empty() && next == prompts.len() {
                    break;
                }
            }
            assert_eq!(outputs.len() + cancelled, prompts.len());
            compare(model, &outputs, &wanted);
        }
    }
}

/// Compares outputs up to the first id that depends on rounding
/// (`tests/models/language_models.py`).
#[test]
fn at_half_precision_outputs_begin_as_those_of_transformers() {
    let prompts = ids("tiny-llama-prompts.ids");
    for (model, fewest) in [("tiny-llama-fp16", 1800), ("tiny-llama-bf16", 380)] {
        let starts = ids(&format!("{model}-outputs.ids"));
        let compared: usize = starts.iter().map(Vec::len).sum();
        assert!(starts.len() == 200 && compared > fewest, "{model}: {compared} ids tell something");
        for slots in [1, 32] {
            let mut engine = Engine::with(model, |it| it.raw.slots = slots);
            let samples: Vec<_> = (0..prompts.len()).collect();
            for together in samples.chunks(slots as usize) {
                for &sample in together {
                    engine.submit(sample as u64, &prompts[sample], LEAST, MOST).unwrap();
                }
                for (sample, output) in engine.finish(together.len()) {
                    let start = &starts[sample as usize];
                    assert!(output.starts_with(start), "{model}, prompt {sample}: {output:?}");
                }
            }
        }
    }
}

#[test]
fn an_output_has_its_own_limits() {
    let (prompts, wanted) = fixtures("tiny-llama");
    let mut engine = Engine::of("tiny-llama");
    for (sample, prompt) in prompts.iter().take(32).enumerate() {
        engine.submit(sample as u64, prompt, 1, sample as u32 + 1).unwrap();
    }
    let ends = Settings::of("tiny-llama").ends;
    for (sample, output) in engine.finish(32) {
        let most = sample as usize + 1;
        let early = output.iter().position(|id| ends.contains(id));
        assert_eq!(output.len(), early.map_or(most, |place| place + 1));
        let wanted = &wanted[sample as usize];
        let same = output.len().min(early.unwrap_or(most)).min(wanted.len());
        assert_eq!(output[..same], wanted[..same], "until an end that is allowed here");
    }
    // Outputs have exactly the requested length, in spite of possible ends.
    for (sample, prompt) in prompts.iter().take(32).enumerate() {
        engine.submit(sample as u64, prompt, MOST, MOST).unwrap();
    }
    for output in engine.finish(32).values() {
        let early = output.iter().position(|id| ends.contains(id));
        assert!(output.len() == 40 && early.is_none_or(|place| place == 39));
    }
}

/// A row that is computed ahead belongs to its sample, and not to a later one with the same number
/// or slot.
#[test]
fn a_number_that_comes_again_is_another_sample() {
    let (prompts, wanted) = fixtures("tiny-llama");
    let mut engine = Engine::with("tiny-llama", |it| it.raw.slots = 2);
    engine.run_ahead();
    engine.submit(9, &prompts[9], LEAST, MOST).unwrap();
    for (steps, prompt) in prompts.iter().take(6).enumerate() {
        engine.submit(7, prompt, LEAST, MOST).unwrap();
        for _ in 0..steps {
            engine.step().unwrap();
        }
        engine.cancel(7);
    }
    engine.submit(7, &prompts[7], LEAST, MOST).unwrap();
    let mut outputs = HashMap::<u64, Vec<i32>>::new();
    while outputs.get(&7).is_none_or(|output| output.len() < wanted[7].len()) {
        for (sample, ids, _) in engine.step().unwrap() {
            outputs.entry(sample).or_default().extend(ids);
        }
    }
    assert_eq!(outputs[&7], wanted[7]);
}

#[test]
fn with_beams_the_answer_comes_whole() {
    let (prompts, wanted) = fixtures("tiny-gptj");
    let mut engine = Engine::of("tiny-gptj");
    engine.submit(5, &prompts[5], LEAST, MOST).unwrap();
    let events = loop {
        let events = engine.step().unwrap();
        // Each step shows that the sample makes progress.
        if events != [(5, Vec::new(), false)] {
            break events;
        }
    };
    assert_eq!(events, [(5, wanted[5].clone(), true)]);
}

#[test]
fn each_part_of_a_prompt_shows_that_its_sample_goes_on() {
    let mut engine = Engine::with("tiny-llama", |it| it.raw.chunk = 5);
    engine.submit(3, &[9; 12], LEAST, MOST).unwrap();
    for given in [0, 0, 1, 1] {
        let events = engine.step().unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].0, events[0].1.len(), events[0].2), (3, given, false));
    }
}
