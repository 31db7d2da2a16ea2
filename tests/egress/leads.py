"""Where names and networks must not lead: this machine in every guise, and what an IPv6 address stands for beyond a translator."""
import contextlib
import subprocess

import lab as labs
from session import Host, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


OWN_TRANSLATOR = "2001:db8:64::"  # of this network: what comes to it goes on to the IPv4 address in its last 32 bits


@contextlib.contextmanager
def routed(*words, beyond=None):
    """A route of the lab's host, and perhaps an address beyond the wire."""
    family = "-6" if any(":" in word for word in words) else "-4"
    far = ["nsenter", "--net", "--target", str(beyond[0].beyond_pid), "ip", "-6", "addr"] if beyond else []
    addresses = [[f"{address}/128", "dev", "there"] for address in beyond[1]] if beyond else []
    labs.ip(family, "route", "add", *words)
    for address in addresses:
        subprocess.run([*far, "add", *address, "nodad"], check=True)
    try:
        yield
    finally:
        labs.ip(family, "route", "del", *words)
        for address in addresses:
            subprocess.run([*far, "del", *address], check=True)


def embedded(prefix, address) -> str:
    a, b, c, d = map(int, address.split("."))
    return f"{prefix}{a << 8 | b:x}:{c << 8 | d:x}"


TRY = "print([attempt(lambda: exchange(name, 9000, b'x')) for name in sys.argv[1:]])"


def ask(session, rules, *names):
    from session import HELPERS

    return session.run(rules, "/usr/bin/python3", "-c", HELPERS + TRY, *names).out


def ask_outside(session, *names):
    return session.outside(TRY.replace("sys.argv[1:]", str(list(names)))).out


@test
def networks_that_this_machine_takes_for_its_own_are_its_own(session):
    """`ip route add local`: no interface has the address, and whoever connects to it is here."""
    names = {"routed.test": ["198.51.100.7"], "routed6.test": ["2001:db8:2::7"]}
    session.lab.ask(names={**labs.NAMES, **names})
    with routed("local", "198.51.100.0/28", "dev", "lo"), routed("local", "2001:db8:2::/120", "dev", "lo"), \
            Host("0.0.0.0", 9000) as host, Host("::", 9000) as host6:
        assert ask_outside(session, *names) == f"{[b'the host: x'] * 2}\n" and host.came == host6.came == 1
        assert ask(session, [f"connect {name}:9000" for name in names], *names) == "['ECONNRESET', 'ECONNRESET']\n"
        wide = ["connect 198.51.100.0/24:9000", "connect [2001:db8:2::/64]:9000"]
        assert ask(session, wide, "198.51.100.7", "2001:db8:2::7") == "['ECONNRESET', 'ECONNRESET']\n"
        assert host.came == host6.came == 1
        assert "an address of this machine" in session.events("refused")[0]["why"]
        exact = ["connect 198.51.100.7:9000", "connect [2001:db8:2::7]:9000"]
        assert ask(session, exact, "198.51.100.7", "2001:db8:2::7") == f"{[b'the host: x'] * 2}\n"


@test
def a_refused_address_is_refused_in_IPv6_clothes_too(session):
    """Known to everybody (RFC 6052): nobody needs to tell that 64:ff9b::/96 leads to IPv4."""
    clothed = embedded("64:ff9b::", labs.PUBLIC)
    session.lab.ask(names={**labs.NAMES, "clothed.test": [clothed]})
    with routed("64:ff9b::/96", "via", labs.PUBLIC6, beyond=(session.lab, [clothed])):
        for rules, name in ((["connect clothed.test:9000"], "clothed.test"), (["connect [::/0]:9000"], clothed)):
            assert ask(session, rules, name) == "[b'xthe end']\n"
            assert ask(session, [*rules, "refuse 203.0.113.0/24"], name) == "['ECONNRESET']\n"
    assert "a rule refuses" in session.events("refused")[0]["why"], session.events("refused")


@test
@sanitized_too
def behind_this_networks_own_translator_addresses_are_what_they_stand_for(session):
    """As the resolver tells which prefix it is (RFC 7050)."""
    leads = {"far.test": labs.PUBLIC, "private.test": labs.PRIVATE, "metadata.test": labs.METADATA, "home.test": "127.0.0.1", "own.test": labs.HOST}
    clothed = {name: [embedded(OWN_TRANSLATOR, address)] for name, address in leads.items()}
    known = {"ipv4only.arpa": ["192.0.0.170", embedded(OWN_TRANSLATOR, "192.0.0.170"), embedded(OWN_TRANSLATOR, "192.0.0.171")]}
    rules = ["connect *.test:9000"]
    with routed(f"{OWN_TRANSLATOR}/96", "via", labs.PUBLIC6, beyond=(session.lab, [address for (address,) in clothed.values()])):
        session.lab.ask(names={**labs.NAMES, **clothed})
        assert ask(session, rules, *leads) == f"{[b'xthe end'] * 5}\n"  # without a translator they are addresses like others
        session.lab.ask(names={**labs.NAMES, **clothed, **known})
        assert ask(session, rules, *leads) == f"{[b'xthe end'] + ['ECONNRESET'] * 4}\n"
        assert [event["host"] for event in session.events("refused")] == list(leads)[1:]
        assert ask(session, ["connect private.test:9000", "connect metadata.test:9000"], "private.test", "metadata.test") == "[b'xthe end', 'ECONNRESET']\n"
        wide = [f"connect [{OWN_TRANSLATOR}/96]:9000"]
        assert ask(session, wide, *(address for (address,) in clothed.values())) == f"{[b'xthe end'] * 2 + ['ECONNRESET'] * 3}\n"
        # Who leads to IPv4 alone asks nobody for a translator.
        session.lab.take()
        assert ask(session, ["connect allowed.test:9000"], "allowed.test") == "[b'xthe end']\n"
        assert ("dns", "ipv4only.arpa") not in session.lab.take()


@test
def who_asks_in_HTTP_is_told_where_the_name_leads(session):
    fetch = lambda *rules: session.run(rules, "curl", "-sS", "-m", "60", "-w", "%{http_code}", "http://corp.test/").out
    assert fetch("connect corp.test:80") == f"hello from {labs.PRIVATE} for corp.test\n200"
    session.lab.take()
    assert fetch("connect *.test:80") == ("bawn: this sandbox may not reach corp.test: its name resolves to a private network's address, and only your own rule "
                                          "for exactly that name allows it.\n"
                                          "Ask the person who started this run if you need it; `bawn ask connect HOST` asks for another host.\n403")
    assert not [event for event in session.lab.take() if event[0] == "http"]
