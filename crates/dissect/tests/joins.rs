//! Connections with more subflows than any has: hostile files, read in a time that grows with their length.

use transport::mptcp::keys::Key;

/// A TCP segment over IPv4 from or to port 2, with these flags and options.
fn segment(source: [u8; 6], destination: [u8; 6], flags: u8, payload: u8, options: &[u8]) -> Vec<u8> {
    let (header, payload) = (20 + options.len(), vec![b'x'; usize::from(payload)]);
    let length = (20 + header + payload.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    packet.extend(&source[..4]);
    packet.extend(&destination[..4]);
    packet.extend(&source[4..]);
    packet.extend(&destination[4..]);
    let numbers: [u32; 2] = if flags & SYN > 0 { [0, 0] } else { [1, 1] };
    packet.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    packet.extend([(header as u8 / 4) << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(options);
    packet.extend(payload);
    packet
}

const SYN: u8 = 2;
const ACK: u8 = 16;

/// A connection that is joined from `many` addresses, with the address IDs 1 to 250 again and again.
fn joined(many: u32, remove: &[u8]) -> Vec<u8> {
    let (client, server) = ([10, 0, 0, 1, 0, 1], [10, 0, 0, 2, 0, 2]);
    let (one, two) = (Key(1), Key(2));
    let capable = |keys: &[Key]| {
        let bytes = keys.iter().flat_map(|key| key.0.to_be_bytes());
        [&[30, 4 + 8 * keys.len() as u8, 1, 1][..], &bytes.collect::<Vec<_>>()].concat()
    };
    let mut packets = vec![
        segment(client, server, SYN, 0, &capable(&[])),
        segment(server, client, SYN | ACK, 0, &capable(&[two])),
        segment(client, server, ACK, 1, &capable(&[one, two])),
    ];
    for number in 0..many {
        let [_, high, middle, low] = number.to_be_bytes();
        let from = [11, high, middle, low, 0, 1];
        let id = (number % 250 + 1) as u8;
        let join = [&[30, 12, 0x10, id][..], &two.token().0.to_be_bytes(), &number.to_be_bytes()].concat();
        packets.push(segment(from, server, SYN, 0, &join));
        packets.push(segment(server, from, SYN | ACK, 0, &[&[30, 16, 0x10, 0][..], &[0; 12]].concat()));
        packets.push(segment(from, server, ACK, 1, &[&[30, 24, 0x10, 0][..], &[0; 20]].concat()));
    }
    packets.extend(remove.iter().map(|id| segment(client, server, ACK, 0, &[30, 4, 0x40, *id])));
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (at, packet) in (0u32..).zip(packets) {
        for word in [0, at * 1000, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// 20,000 subflows took 10 s where each looked at all others, and as many REMOVE_ADDRs 7 s.
#[test]
fn a_connection_may_be_joined_without_end() {
    let found = dissect::read_bytes(&joined(20_000, &[7; 20_000]));
    let connections: Vec<_> = found.connections().collect();
    assert_eq!(connections.len(), 1);
    let subflows: Vec<_> = connections[0].subflows().collect();
    assert_eq!(subflows.len(), 20_001);
    let tables = dissect::tables(&found);
    let rows = tables.iter().find(|table| table.name == "subflows").map(|table| table.columns[0].data.len());
    assert_eq!(rows, Some(20_001));
    // The last 1,024 have four with this ID.
    assert_eq!(subflows.iter().filter(|subflow| subflow.closed().is_some()).count(), 4);
}

/// Few subflows: each with the ID is closed, and no other.
#[test]
fn removed_addresses_close_their_subflows() {
    let found = dissect::read_bytes(&joined(600, &[7, 9]));
    let closed: Vec<_> = found
        .connections()
        .flat_map(|connection| connection.subflows().collect::<Vec<_>>())
        .enumerate()
        .filter_map(|(index, subflow)| subflow.closed().map(|_| index))
        .collect();
    assert_eq!(closed, [7, 9, 257, 259, 507, 509]);
}
