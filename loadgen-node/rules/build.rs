//! Tells the tests which public material is at hand. What compares with it runs where a variable names its folder, and is
//! reported as ignored elsewhere: `NETDIV_RULES_TEXT` the rules' text, `NETDIV_MLCOMMONS` a checkout of mlcommons/inference.

const MATERIAL: [(&str, &str); 2] =
    [("NETDIV_RULES_TEXT", "netdiv_rules_text"), ("NETDIV_MLCOMMONS", "netdiv_mlcommons")];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for (variable, name) in MATERIAL {
        println!("cargo::rerun-if-env-changed={variable}");
        println!("cargo::rustc-check-cfg=cfg({name})");
        if std::env::var_os(variable).is_some() {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
