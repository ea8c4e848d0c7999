//! Whether the rules' text is at hand: the comparison of the table with it runs where `NETDIV_RULES_TEXT` names its folder,
//! and is reported as ignored elsewhere.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=NETDIV_RULES_TEXT");
    println!("cargo::rustc-check-cfg=cfg(netdiv_rules_text)");
    if std::env::var_os("NETDIV_RULES_TEXT").is_some() {
        println!("cargo::rustc-cfg=netdiv_rules_text");
    }
}
