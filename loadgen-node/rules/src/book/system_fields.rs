//! Fields of the system description that the official submission checkers require.

pub(crate) struct SystemField {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldRequirement,
    pub(crate) example: &'static str,
}

/// Requirement of the official checkers for the value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldRequirement {
    /// Required, with a meaningful value.
    Filled,
    /// Required; the value may be empty.
    Free,
    /// Required for a system over a network. The checkers do not read the value; section 6.2.2
    /// requires a meaningful one.
    Network,
}

const fn filled(name: &'static str, example: &'static str) -> SystemField {
    SystemField { name, kind: FieldRequirement::Filled, example }
}

const fn network(name: &'static str, example: &'static str) -> SystemField {
    SystemField { name, kind: FieldRequirement::Network, example }
}

const fn free(name: &'static str) -> SystemField {
    SystemField { name, kind: FieldRequirement::Free, example: "" }
}

/// All fields of a system description, in the order of the official checkers.
pub(crate) const FIELDS: [SystemField; 48] = [
    filled("division", "network"),
    filled("submitter", "the name of your folder"),
    filled("status", "available"),
    filled("system_type", "datacenter"),
    filled("system_name", "Acme Rack 1"),
    filled("number_of_nodes", "2"),
    filled("host_processor_model_name", "AMD EPYC 9654"),
    filled("host_processors_per_node", "2"),
    filled("host_processor_core_count", "96, of each processor"),
    filled("host_memory_capacity", "1.5 TB"),
    filled("host_storage_capacity", "2 x 3.84 TB"),
    filled("host_storage_type", "NVMe SSD"),
    filled("accelerators_per_node", "8; 0 if it has none"),
    filled("accelerator_model_name", "NVIDIA H100 PCIe"),
    filled("accelerator_memory_capacity", "80 GB"),
    filled("framework", "libtorch 2.11.0, CUDA 12.8"),
    filled("operating_system", "Ubuntu 24.04"),
    filled(
        "other_software_stack",
        "kernel, drivers, libraries, container images with their versions",
    ),
    free("host_processor_frequency"),
    free("host_processor_caches"),
    filled("host_memory_configuration", "24 x 64 GB DDR5-4800"),
    free("host_processor_interconnect"),
    filled("host_networking", "2 x 100 Gb/s Ethernet"),
    filled("host_networking_topology", "two nodes on one switch"),
    free("accelerator_frequency"),
    filled("accelerator_host_interconnect", "PCIe 5.0 x16"),
    filled("accelerator_interconnect", "NVLink, 900 GB/s; none"),
    free("accelerator_interconnect_topology"),
    filled("accelerator_memory_configuration", "HBM3"),
    free("accelerator_on-chip_memories"),
    filled("cooling", "air, liquid"),
    free("hw_notes"),
    free("sw_notes"),
    filled("host_network_card_count", "1 x ConnectX-6 Dx"),
    free("system_type_detail"),
    network("is_network", "True"),
    network("network_type", "Ethernet"),
    network("network_media", "copper DAC"),
    network("network_rate", "100 Gb/s"),
    network("nic_loadgen", "ConnectX-6 Dx"),
    network("number_nic_loadgen", "1"),
    network("net_software_stack_loadgen", "Linux 6.8 TCP, mlx5_core"),
    network("network_protocol", "gRPC over HTTP/2 over TCP over IPv4"),
    network("number_connections", "8"),
    network("nic_sut", "ConnectX-6 Dx"),
    network("number_nic_sut", "2, one in each node"),
    network("net_software_stack_sut", "Linux 6.8 TCP, mlx5_core"),
    network("network_topology", "loadgen:eth0 <-> leaf:1; node-a:eth0 <-> leaf:2"),
];

/// Required fields of the system description that no evidence contains (docs/SUBMISSION.md).
pub(crate) const UNRECORDED_FIELDS: [&str; 5] = [
    "system_name",
    "host_storage_capacity",
    "host_storage_type",
    "host_memory_configuration",
    "cooling",
];

/// Returns the names of the fields of a system over a network.
pub(crate) fn network_fields() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().filter(|field| field.kind == FieldRequirement::Network).map(|field| field.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_are_asked_for() {
        assert_eq!(FIELDS.len() - network_fields().count(), 35);
    }
}
