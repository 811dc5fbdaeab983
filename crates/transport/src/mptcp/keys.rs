//! Keys, tokens and message authentication of MPTCP version 1 (RFC 8684 sections 3.1, 3.2, 3.4.1).
//!
//! Version 0 (RFC 6824) is not spoken. It cut its numbers out of SHA-1 in the same way; a test does that to check the cuts.

use crate::sctp::tsn::Tag;
use std::net::IpAddr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Key of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key(pub u64);

/// Identifies a connection in MP_JOIN: the first 32 bits of SHA-256(key).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Token(pub u32);

/// Random number of one end in MP_JOIN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(pub u32);

/// Truncated HMAC of the SYN/ACK and of ADD_ADDR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hmac64(pub [u8; 8]);

/// Truncated HMAC of the third ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hmac160(pub [u8; 20]);

impl Key {
    /// A verification tag of SCTP, drawn in the same way; not zero.
    pub fn tag(self) -> Tag {
        Tag((self.0 as u32).max(1))
    }

    fn digest(self) -> [u8; 32] {
        Sha256::digest(self.0.to_be_bytes()).into()
    }

    /// Token of the connection end that owns this key.
    pub fn token(self) -> Token {
        let digest = self.digest();
        Token(u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]))
    }

    /// Initial data sequence number of the end that owns this key: the last 64 bits of SHA-256(key).
    pub fn initial_dsn(self) -> u64 {
        let mut last = [0; 8];
        last.copy_from_slice(&self.digest()[24..]);
        u64::from_be_bytes(last)
    }
}

/// HMAC-SHA256.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

fn pair<const N: usize, const M: usize>(first: [u8; N], second: [u8; N]) -> [u8; M] {
    let mut both = [0; M];
    both[..N].copy_from_slice(&first);
    both[N..].copy_from_slice(&second);
    both
}

/// HMAC of MP_JOIN by the end that owns `own_key` and `own_nonce`.
fn join_hmac(own_key: Key, peer_key: Key, own_nonce: Nonce, peer_nonce: Nonce) -> [u8; 32] {
    let key: [u8; 16] = pair(own_key.0.to_be_bytes(), peer_key.0.to_be_bytes());
    let message: [u8; 8] = pair(own_nonce.0.to_be_bytes(), peer_nonce.0.to_be_bytes());
    hmac_sha256(&key, &message)
}

/// HMAC of the listener in the SYN/ACK of MP_JOIN.
pub fn join_hmac64(own_key: Key, peer_key: Key, own_nonce: Nonce, peer_nonce: Nonce) -> Hmac64 {
    let mut first = [0; 8];
    first.copy_from_slice(&join_hmac(own_key, peer_key, own_nonce, peer_nonce)[..8]);
    Hmac64(first)
}

/// HMAC of the initiator in the third ACK of MP_JOIN.
pub fn join_hmac160(own_key: Key, peer_key: Key, own_nonce: Nonce, peer_nonce: Nonce) -> Hmac160 {
    let mut first = [0; 20];
    first.copy_from_slice(&join_hmac(own_key, peer_key, own_nonce, peer_nonce)[..20]);
    Hmac160(first)
}

/// The machines know interfaces by number alone: the address that their HMAC of ADD_ADDR covers. A codec writes the HMAC over
/// the address of the interface instead.
pub fn stand_in_address(interface: u8) -> IpAddr {
    [10, 0, interface, 1].into()
}

/// HMAC of ADD_ADDR: the last 64 bits. `port`: 0 where the option has none.
pub fn add_addr_hmac(sender: Key, receiver: Key, id: u8, address: IpAddr, port: u16) -> Hmac64 {
    let key: [u8; 16] = pair(sender.0.to_be_bytes(), receiver.0.to_be_bytes());
    let mut message = vec![id];
    match address {
        IpAddr::V4(address) => message.extend(address.octets()),
        IpAddr::V6(address) => message.extend(address.octets()),
    }
    message.extend(port.to_be_bytes());
    let mut last = [0; 8];
    last.copy_from_slice(&hmac_sha256(&key, &message)[24..]);
    Hmac64(last)
}

#[cfg(test)]
mod tests {
    use sha1::Sha1;

    use super::*;

    const KEY_A: Key = Key(0x0102_0304_0506_0708);
    const KEY_B: Key = Key(0x1112_1314_1516_1718);
    const NONCE_A: Nonce = Nonce(0xa1a2_a3a4);
    const NONCE_B: Nonce = Nonce(0xb1b2_b3b4);

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Test vector KEY-1, version 1.
    #[test]
    fn key_1() {
        assert_eq!(hex(&KEY_A.digest()), "66840dda154e8a113c31dd0ad32f7f3a366a80e8136979d8f5a101d3d29d6f72");
        assert_eq!(hex(&KEY_B.digest()), "ccad45ac0b2662a91df84d7b5948daea157adc20dea7734a535beea38e087c8e");
        assert_eq!(KEY_A.token(), Token(0x6684_0dda));
        assert_eq!(KEY_B.token(), Token(0xccad_45ac));
        assert_eq!([KEY_A, KEY_B].map(Key::initial_dsn), [0xf5a1_01d3_d29d_6f72, 0x535b_eea3_8e08_7c8e]);
        let a = join_hmac(KEY_A, KEY_B, NONCE_A, NONCE_B);
        assert_eq!(hex(&a), "53037f2899475529844115fd07e665d23d3554fb8dde7551287562b1aa8e53de");
        let b = join_hmac(KEY_B, KEY_A, NONCE_B, NONCE_A);
        assert_eq!(hex(&b), "864b40428762fd06fa24bb3c5ea12c1bbf6546e7aace88911139aa8f77f90286");
        assert_eq!(
            hex(&join_hmac160(KEY_A, KEY_B, NONCE_A, NONCE_B).0),
            "53037f2899475529844115fd07e665d23d3554fb"
        );
        assert_eq!(hex(&join_hmac64(KEY_B, KEY_A, NONCE_B, NONCE_A).0), "864b40428762fd06");
        assert_eq!(hex(&add_addr_hmac(KEY_B, KEY_A, 2, [10, 0, 2, 2].into(), 0).0), "eb4a302087f9c349");
    }

    /// Test vector KEY-1, version 0: the same cuts and the same order of keys and nonces, with SHA-1.
    #[test]
    fn key_1_version_0() {
        for (key, token, initial) in
            [(KEY_A, "dd5783bc", "3a95ed6e4ebb4ad5"), (KEY_B, "3383d918", "9e1ae42f702627a9")]
        {
            let digest = Sha1::digest(key.0.to_be_bytes());
            assert_eq!((hex(&digest[..4]), hex(&digest[12..])), (token.into(), initial.into()));
        }
        let join = |own: (Key, Nonce), peer: (Key, Nonce)| {
            let key: [u8; 16] = pair(own.0.0.to_be_bytes(), peer.0.0.to_be_bytes());
            let message: [u8; 8] = pair(own.1.0.to_be_bytes(), peer.1.0.to_be_bytes());
            let mut mac = Hmac::<Sha1>::new_from_slice(&key).expect("HMAC takes keys of any length");
            mac.update(&message);
            hex(&mac.finalize().into_bytes())
        };
        let (a, b) = ((KEY_A, NONCE_A), (KEY_B, NONCE_B));
        assert_eq!(join(a, b), "5f9d9b1144766ae5a6402e4bc813bf52fad0199b");
        assert_eq!(&join(b, a)[..16], "f983baffc3c12488");
    }

    /// The kernel's own vector for HMAC-SHA256 of ASCII text.
    #[test]
    fn kernel_crypto_test() {
        let mac = hmac_sha256(b"0b0b0b0b0b0b0b0b", b"48692054");
        assert_eq!(hex(&mac), "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa");
    }
}
