/*
 * Makes a socket of a family or a type that no program of a project needs.
 *
 * Why: the kernel loads rare protocols for anybody who asks, and they are its least tested part; packet and raw sockets
 * see and forge other programs' traffic; vsock leads to the hypervisor.
 * Seen: CVE-2017-7308 (packet), CVE-2021-26708 (vsock), CVE-2019-8912 (alg), CVE-2024-1086 (netfilter).
 *
 * case socket-packet: 17 3 0 => EAFNOSUPPORT socket | control-by root | loads af_packet
 *   kernel: open a packet socket, which sees other programs' traffic
 * case socket-packet-in-inet: 2 10 0 => EPROTONOSUPPORT socket | control ~ | control-by root
 * case socket-vsock: 40 1 0 => EAFNOSUPPORT socket | loads vsock
 *   kernel: open a vsock socket, which leads to the hypervisor
 * case socket-alg: 38 5 0 => EAFNOSUPPORT socket | control ~ | loads af_alg
 *   kernel: open a socket to the kernel's cryptography
 * case socket-bluetooth: 31 3 1 => EAFNOSUPPORT socket | control ~ | loads bluetooth
 *   kernel: open a bluetooth socket
 * case socket-can: 29 3 1 => EAFNOSUPPORT socket | control ~ | loads can
 *   kernel: open a CAN bus socket
 * case socket-xdp: 44 3 0 => EAFNOSUPPORT socket | control ~ | control-by root
 *   kernel: open an XDP socket
 * case socket-key: 15 3 2 => EAFNOSUPPORT socket | control ~ | control-by root | loads af_key
 *   kernel: open a socket to the kernel's IPsec keys
 * case socket-sctp: 2 1 132 => EPROTONOSUPPORT socket | control ~ | loads sctp
 *   kernel: open an SCTP socket
 * case socket-raw: 2 3 255 => EPERM socket | control-by root
 *   network: open a raw socket, which forges packets
 * case socket-raw-icmp: 2 3 1 => EPERM socket | control-by root
 *   network: open a raw ICMP socket
 * case socket-netlink-audit: 16 3 9 => EPROTONOSUPPORT socket
 *   kernel: open a socket to the kernel's audit
 * case socket-netlink-netfilter: 16 3 12 => EPROTONOSUPPORT socket | loads nfnetlink
 *   kernel: open a socket to the kernel's firewall
 * case socket-netlink-xfrm: 16 3 6 => EPROTONOSUPPORT socket | control ~ | loads xfrm_user
 *   kernel: open a socket to the kernel's IPsec policy
 * case socket-netlink-uevent: 16 3 15 => EPROTONOSUPPORT socket
 *   kernel: open a socket to the kernel's device events
 * case socket-netlink-diag: 16 3 4 => EPROTONOSUPPORT socket
 *   kernel: open a socket that lists other programs' sockets
 * case socket-family-high-bits: 0x100000026 5 0 => EAFNOSUPPORT socket | control ~ | loads af_alg
 *   kernel: open a socket whose family has bits that a careless filter overlooks
 *
 * getifaddrs needs this one.
 * case socket-netlink-route: 16 3 0 => done
 */
#include "attack.h"

ATTACK(socket)
{
    must(syscall(SYS_socket, number_argument(argc, argv, 1), number_argument(argc, argv, 2),
                 number_argument(argc, argv, 3)),
         "socket");
    done();
}
