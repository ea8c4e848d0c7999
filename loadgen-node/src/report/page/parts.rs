//! What all parts of a page are made of.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A whole file.
pub(super) fn document(title: &str, content: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { (title) }
                    (content)
                    p.note { "Made by loadgen-node " (env!("CARGO_PKG_VERSION")) "." }
                }
            }
        }
    };
    document.into_string()
}

/// Words with their labels.
pub(super) fn words<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> Markup {
    html! {
        div.wide {
            table { tbody { @for (label, fact) in facts {
                tr { th.word scope="row" { (label) } td.word { (fact) } }
            } } }
        }
    }
}

/// A table under titles. On a narrow screen it scrolls by itself. Those of `words` are aligned as text, the others as figures.
pub(super) fn table(caption: &str, words: &[&str], figures: &[&str], rows: &Markup) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) { table {
            caption.note { (caption) }
            thead { tr {
                @for title in words { th.word { (title) } }
                @for title in figures { th { (title) } }
            } }
            tbody { (rows) }
        } }
    }
}

/// A picture with its legend and what is said of it.
pub(super) fn picture(
    title: &str,
    svg: Option<String>,
    names: &[String],
    notes: &[&str],
) -> Markup {
    let Some(svg) = svg else { return html! {} };
    html! {
        figure {
            (PreEscaped(svg))
            figcaption {
                strong { (title) }
                @for (number, name) in names.iter().enumerate() {
                    span.key style=(format!("background:var(--c{number})")) {} (name)
                }
                @for note in notes { @if !note.is_empty() { p { (note) } } }
            }
        }
    }
}

/// A figure of `result.json`, with its JSON pointer there.
pub(super) fn figure(pointer: &str, text: impl std::fmt::Display) -> Markup {
    html! { td data-pointer=(pointer) { (text) } }
}

/// Nanoseconds of `result.json` in milliseconds.
pub(super) fn ms(pointer: &str, ns: f64) -> Markup {
    figure(pointer, format_args!("{:.3}", ns / 1e6))
}
