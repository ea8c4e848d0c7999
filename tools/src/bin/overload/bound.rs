//! What the settings promise about memory.

/// A mebibyte.
pub const MIB: u64 = 1 << 20;

/// Samples that a node takes in (`--max-in-flight-samples`); LoadGen nodes have as many in flight to it.
pub const SAMPLES: u64 = 4096;

/// Payload bytes that a node takes in (`--max-in-flight-bytes`).
pub const BYTES: u64 = 32 * MIB;

/// What a stream may bring before it is read (`--receive-window-bytes`), at both ends.
pub const WINDOW: u64 = 8 * MIB;

/// Samples that wait in the QDL for a connection: `inbox_samples`, of 40 bytes.
const INBOX: u64 = 65_536 * 40;

/// Bookkeeping of a sample that is under way, at either end: its slot or its place in a batch, its message's header.
const SAMPLE: u64 = 512;

/// The programs themselves: threads and their heaps, buffers of sockets, histograms.
pub const PROGRAM: u64 = 64 * MIB;

/// A LoadGen node with so many SUT nodes: beside what LoadGen needs and the samples that it has loaded.
pub fn loadgen_node(alone: u64, dataset: u64, nodes: u64) -> u64 {
    alone + dataset + INBOX + nodes * (SAMPLES * SAMPLE + BYTES + WINDOW) + PROGRAM
}

/// A SUT node: what it has taken in, and for each stream what may come ahead and the answers that nobody takes.
pub fn sut_node(streams: u64, owed: bool) -> u64 {
    let owed = if owed { streams * (BYTES + SAMPLES * SAMPLE) } else { 0 };
    SAMPLES * SAMPLE + BYTES + streams * WINDOW + owed + PROGRAM
}

/// Samples of a node whose answers are tokens (`--max-in-flight-samples`), and tokens that it takes in
/// (`--max-in-flight-tokens`).
pub const PROMPTS: u64 = 10_000;

/// See [`PROMPTS`].
pub const TOKENS: u64 = 4_000_000;

/// A SUT node whose outputs are tokens, with a client that takes them slowly: beside what it has taken in, the outputs that
/// were begun, and those that the stream owes. Buffers double as they grow, so that each may be twice as large as what it
/// holds; tokens that are sent ahead of their output are there once more, of up to 1 MiB and one output.
pub fn sut_node_of_tokens() -> u64 {
    let (begun, samples) = (4 * TOKENS, 2 * PROMPTS * SAMPLE);
    let outputs = 2 * (begun + BYTES + begun);
    samples + BYTES + WINDOW + outputs + 2 * MIB + PROGRAM
}

/// The formulas, for the table's readers.
pub fn in_words() -> String {
    format!(
        "\nThe nodes take in {SAMPLES} samples and {} MiB, a stream {} MiB ahead. Bound of the LoadGen node: LoadGen alone, \
         the samples that it has loaded, the inbox ({} MiB), and for each SUT node its samples of {SAMPLE} B, its bytes and \
         a stream's window; of a SUT node: its samples and bytes, each stream's window, and for each client that does not \
         read as many samples and bytes again; {} MiB for either program itself. A node of tokens takes in {PROMPTS} samples \
         and {TOKENS} tokens; its outputs, begun and owed, have 4 B for each token and count twice. Where samples are short on the \
         wire, the bound is at least what the node has once it runs (for torch its libraries), and room, window and answers.\n",
        BYTES / MIB,
        WINDOW / MIB,
        (INBOX + MIB / 2) / MIB,
        PROGRAM / MIB
    )
}
