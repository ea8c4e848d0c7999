//! Memory bounds that the settings promise.

pub const MIB: u64 = 1 << 20;

/// Samples that a node admits (`--max-in-flight-samples`). A LoadGen node has as many in flight to
/// it.
pub const SAMPLES: u64 = 4096;

/// Payload bytes that a node admits (`--max-in-flight-bytes`).
pub const BYTES: u64 = 32 * MIB;

/// Bytes that a stream may receive before they are read (`--receive-window-bytes`), at both ends.
pub const WINDOW: u64 = 8 * MIB;

/// Memory of the QDL's inbox, in bytes: `inbox_samples` samples of 40 bytes.
const INBOX: u64 = 65_536 * 40;

/// Memory for the bookkeeping of a sample in flight, in bytes, at each end: its slot or its batch
/// entry, and its message's header.
const SAMPLE: u64 = 512;

/// Memory of the programs themselves, in bytes: threads and their heaps, buffers of sockets,
/// histograms.
pub const PROGRAM: u64 = 64 * MIB;

/// Returns the bound of a LoadGen node with this number of SUT nodes: LoadGen's memory, the loaded
/// samples, and the memory for each node.
pub fn loadgen_node(alone: u64, dataset: u64, nodes: u64) -> u64 {
    alone + dataset + INBOX + nodes * (SAMPLES * SAMPLE + BYTES + WINDOW) + PROGRAM
}

/// Returns the bound of a SUT node: admitted samples, and for each stream its window, and the
/// responses that its client does not read if `owed` is set.
pub fn sut_node(streams: u64, owed: bool) -> u64 {
    let owed = if owed { streams * (BYTES + SAMPLES * SAMPLE) } else { 0 };
    SAMPLES * SAMPLE + BYTES + streams * WINDOW + owed + PROGRAM
}

/// Samples that a node admits if its outputs are tokens (`--max-in-flight-samples`).
pub const PROMPTS: u64 = 10_000;

/// Tokens that a node admits if its outputs are tokens (`--max-in-flight-tokens`).
pub const TOKENS: u64 = 4_000_000;

/// Returns the bound of a SUT node whose outputs are tokens, with a client that reads them slowly:
/// admitted samples, begun outputs, and outputs that the stream owes. Buffers double as they grow,
/// so each may be twice as large as its content. Tokens that are sent ahead of their output are
/// stored a second time, up to 1 MiB and one output.
pub fn sut_node_of_tokens() -> u64 {
    let (begun, samples) = (4 * TOKENS, 2 * PROMPTS * SAMPLE);
    let outputs = 2 * (begun + BYTES + begun);
    samples + BYTES + WINDOW + outputs + 2 * MIB + PROGRAM
}

/// Explains the bounds to the table's readers.
pub fn in_words() -> String {
    format!(
        "\nThe nodes admit {SAMPLES} samples and {} MiB; a stream has a window of {} MiB. Bound of the LoadGen node: \
         LoadGen alone, the loaded samples, the inbox ({} MiB), and for each SUT node its samples of {SAMPLE} B, its bytes \
         and a stream's window. Bound of a SUT node: its samples and bytes, each stream's window, and the same samples and \
         bytes again for each client that does not read. Either program itself takes {} MiB. A node of tokens admits \
         {PROMPTS} samples and {TOKENS} tokens; its outputs, begun and owed, have 4 B per token and count twice. If samples \
         are short on the wire, the bound is at least the memory of the running node (for torch, its libraries), plus \
         admitted bytes, window and responses.\n",
        BYTES / MIB,
        WINDOW / MIB,
        (INBOX + MIB / 2) / MIB,
        PROGRAM / MIB
    )
}
