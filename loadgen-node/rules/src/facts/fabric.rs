//! The permitted fabrics (rules, section 6.2.2): their kinds of interfaces and their common names.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fabric {
    /// Kind of the fabric's interfaces in the evidence.
    pub(crate) kind: &'static str,
    /// Name in a system description.
    pub(crate) name: &'static str,
    /// Common names, in lower case.
    words: &'static [&'static str],
}

/// All permitted fabrics. The operator must state 3GPP, because no interface is recognised as such.
const FABRICS: [Fabric; 4] = [
    Fabric { kind: "ethernet", name: "Ethernet", words: &["ethernet", "802.3", "roce"] },
    Fabric { kind: "wifi", name: "802.11", words: &["802.11", "wi-fi", "wifi", "wlan"] },
    Fabric { kind: "infiniband", name: "InfiniBand", words: &["infiniband"] },
    Fabric { kind: "3gpp", name: "3GPP", words: &["3gpp", "5g", "lte"] },
];

/// Returns the fabric of an interface's kind; `None` if the kind is not permitted.
pub(crate) fn of_kind(kind: &str) -> Option<&'static Fabric> {
    FABRICS.iter().find(|fabric| fabric.kind == kind)
}

pub(crate) fn named_in(text: &str) -> Vec<&'static Fabric> {
    let text = text.to_lowercase();
    FABRICS.iter().filter(|fabric| fabric.words.iter().any(|word| text.contains(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fabric_is_found_by_its_kind_and_by_its_name() {
        for fabric in &FABRICS {
            assert_eq!(of_kind(fabric.kind), Some(fabric));
            assert_eq!(named_in(fabric.name), [fabric]);
        }
        assert_eq!(of_kind("virtual"), None);
        assert_eq!(named_in("RoCE and Wi-Fi").len(), 2);
    }
}
