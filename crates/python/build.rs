//! Tells the module how it is built: with `--cfg profile_guided` if the compiler is given a profile, as by `make pgo`.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(profile_guided)");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.contains("profile-use=") {
        println!("cargo::rustc-cfg=profile_guided");
    }
}
