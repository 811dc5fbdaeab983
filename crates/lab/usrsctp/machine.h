/* The machine that the library sees: a clock, random numbers, addresses and one raw socket, all of them under control
   of the caller. machine.c defines the functions of the C library that libusrsctp calls; the dynamic linker prefers
   them because they are in the main program. No thread is created and no packet reaches the kernel. */

#ifndef MACHINE_H
#define MACHINE_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ADDRESSES = 16, MAX_PACKET = 65536 };

/* Called with each IPv4 packet that the library sends. */
typedef void (*packet_sink)(const unsigned char *bytes, size_t length);

/* Sets the seed of the random numbers and where packets go. Call before usrsctp_init. */
void machine_start(uint64_t seed, packet_sink sink);

/* Adds an interface with this address. Call before usrsctp_init. */
void machine_add_address(struct in_addr address);

/* Sets the clock, in nanoseconds since the start of the run. It never goes back. */
void machine_set_clock(uint64_t now);

/* Computes CRC32c where true; otherwise the checksum of each packet is 0, at both ends. */
void machine_checksums(int on);

/* Gives an IPv4 packet to the library. */
void machine_receive(const unsigned char *bytes, size_t length);

#endif
