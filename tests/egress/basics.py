"""That it works at all, and that nothing else does."""
import lab as labs
from session import sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


@test
@sanitized_too
def curl_reaches_an_allowed_name_over_TLS(session):
    done = session.run(["connect allowed.test"], "curl", "-sS", "-m", "60", "--cacert", "cert.pem", "https://allowed.test/x")
    assert done.status == 0 and done.out == "hello from 203.0.113.5 for allowed.test\n", done
    assert ("sni", "allowed.test") in session.lab.take()


@test
def a_name_that_is_not_on_the_list_does_not_exist_and_is_never_asked_for(session):
    done = session.run(["connect allowed.test"], "curl", "-sS", "-m", "60", "https://other.test/")
    assert done.status == 6, done  # could not resolve
    assert session.lab.take() == []
    assert [(e["host"], e["port"], e["program"]) for e in session.events("refused")] == [("other.test", "0", "curl")]


@test
def without_a_rule_nothing_is_reached_and_no_helper_runs_without_a_question(session):
    done = session.run([], "true")
    assert done.status == 0 and done.err == ""
    assert session.events("helper-started") == []


@test
def everything_else_fails_at_once(session):
    done = session.python(["connect allowed.test"], f"""
def ask(kind, port, address, family=socket.AF_INET):
    with socket.socket(family, kind) as s:
        s.settimeout(PATIENCE)   # who waits for that long says "timed out"
        s.connect((address, port))
        s.send(b"x")
        return s.recv(10)
stream, datagram = socket.SOCK_STREAM, socket.SOCK_DGRAM
print(attempt(lambda: ask(stream, 443, "{labs.PUBLIC}")), attempt(lambda: ask(stream, 80, "198.18.0.77")),
      attempt(lambda: ask(datagram, 53, "{labs.PUBLIC}")), attempt(lambda: ask(datagram, 443, "198.18.0.2")),
      attempt(lambda: ask(stream, 443, "{labs.PUBLIC6}", socket.AF_INET6)),
      attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)),
      attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)))""")
    assert done.out.split() == ["ECONNREFUSED"] * 5 + ["EACCES", "EPERM"], done
    assert session.lab.take() == []


@test
def a_port_that_is_not_named_is_not_reached(session):
    code = """
print(exchange("allowed.test", 9000, b"hello"), attempt(lambda: exchange("allowed.test", 5432, b"hello")))"""
    assert session.outside(code).out == "b'hellothe end' b'hellothe end'\n"
    session.lab.take()
    done = session.python(["connect allowed.test:9000"], code)
    assert done.out == "b'hellothe end' ECONNREFUSED\n", done
    assert [event[2] for event in session.lab.take() if event[0] == "echo"] == [9000]


@test
def wildcards_cover_what_is_below_and_nothing_else(session):
    done = session.python(["connect *.example.test:9000", "refuse secret.example.test"], """
print(exchange("wild.example.test", 9000, b"x"), attempt(lambda: dial("example.test", 9000)),
      attempt(lambda: dial("secret.example.test", 9000)))""")
    assert done.out == "b'xthe end' EAI-2 EAI-2\n", done


@test
@sanitized_too
def names_have_one_meaning(session):
    done = session.python(["connect allowed.test:9000"], """
for name in ("ALLOWED.Test", "allowed.test.", "xn--allowed-.test", "allowed.test.test", "0x7f.1", "2130706433", "0177.0.0.1",
             "a" * 64 + ".test", "allowed..test"):
    try:
        print(attempt(lambda: exchange(name, 9000, b"x")))
    except UnicodeError:
        print("UnicodeError")
""")
    lines = done.out.split("\n")
    assert lines[:2] == ["b'xthe end'"] * 2, done
    assert set(lines[2:4]) == {"EAI-2"} and all("the end" not in line for line in lines[2:]), done
    assert {e[1] for e in session.lab.take() if e[0] == "dns"} == {"allowed.test"}


@test
def addresses_are_stable_and_there_is_no_IPv6_for_names(session):
    done = session.python(["connect allowed.test", "connect other.test:80"], """
get = lambda name, family: attempt(lambda: sorted({i[4][0] for i in socket.getaddrinfo(name, 443, family)}))
print(get("allowed.test", socket.AF_INET), get("other.test", socket.AF_INET), get("allowed.test", socket.AF_INET),
      get("allowed.test", socket.AF_INET6), get("localhost", socket.AF_INET), get("bawn", socket.AF_INET))""")
    assert done.out == "['198.18.0.2'] ['198.18.0.3'] ['198.18.0.2'] EAI-5 ['127.0.0.1'] ['127.0.0.1']\n", done


@test
def a_server_inside_may_use_a_granted_port_on_localhost(session):
    done = session.python(["connect allowed.test:5432"], """
print(exchange("allowed.test", 5432, b"out"))
server = socket.create_server(("127.0.0.1", 5432))
client = socket.create_connection(("127.0.0.1", 5432))
print(server.accept()[1][0], exchange("allowed.test", 5432, b"again"))""")
    assert done.out == "b'outthe end'\n127.0.0.1 b'againthe end'\n", done


@test
@sanitized_too
def half_close_greetings_resets_and_silence_are_kept(session):
    done = session.python(["connect allowed.test:9000", "connect allowed.test:2525", "connect allowed.test:9002",
                           "connect nobody.test:9000", "connect allowed.test:1"], """
print(exchange("allowed.test", 9000, b"x" * 3000000) == b"x" * 3000000 + b"the end")
with dial("allowed.test", 2525) as s:
    print(s.recv(100))
    s.sendall(b"EHLO\\r\\n")
    print(s.recv(100), s.recv(100))
def reset():
    with dial("allowed.test", 9002) as s:
        s.sendall(b"x")
        return s.recv(10)
print(attempt(reset), attempt(lambda: dial("allowed.test", 1).recv(1)))""")
    assert done.out == "True\nb'220 welcome\\r\\n'\nb'221 bye\\r\\n' b''\nECONNRESET ECONNRESET\n", done
    failed = [(e["host"], e["port"], e["why"]) for e in session.events("unreachable")]
    assert failed == [("allowed.test", "1", "Connection refused")], failed


@test
@sanitized_too
def both_families_are_dialled_and_a_dead_one_costs_little(session):
    done = session.python([f"connect {name}:9000" for name in ("six.test", "both.test", "half.test")], """
def is_quick():
    began = time.monotonic()
    return exchange("half.test", 9000, b"x") == b"xthe end" and time.monotonic() - began < 2.5
# The kernel gives the dead address up after three seconds. On a busy machine one try may take as long for other reasons.
print([exchange(name, 9000, b"x") for name in ("six.test", "both.test", "half.test")], any(is_quick() for i in range(8)))""", timeout=60)
    assert done.out.startswith("[b'xthe end', b'xthe end', b'xthe end'] True"), done


@test
def names_are_looked_up_as_the_host_does(session):
    done = session.python(["connect from-hosts-file.test:9000"], """print(exchange("from-hosts-file.test", 9000, b"x"))""")
    assert done.out == "b'xthe end'\n", done
    assert all(event[0] != "dns" for event in session.lab.take())


@test
@sanitized_too
def DNS_over_TCP_answers_too_and_refusals_say_why(session):
    done = session.run(["connect allowed.test"], "sh", "-c",
                       "dig +tcp +short allowed.test; dig +short AAAA allowed.test; dig +short HTTPS allowed.test;"
                       "dig other.test; dig TXT other.test; dig +short -x 198.18.0.2; dig +short MX allowed.test")
    assert done.out.startswith("198.18.0.2\n"), done
    assert done.out.count("status: NXDOMAIN") == 2, done
    assert "EDE: 18 (Prohibited)" in done.out and "Ask for it: `bawn ask connect other.test`" in done.out, done
    assert session.lab.take() == []


@test
@sanitized_too
def who_asked_for_a_refused_name_is_recorded(session):
    done = session.run(["connect allowed.test"], "sh", "-c", "dig +short one.test; dig +tcp +short two.test; cp /usr/bin/dig ./my-dig && ./my-dig three.test >/dev/null")
    assert done.status == 0, done
    refused = {event["host"]: event for event in session.events("refused")}
    # dig asks in threads of its own, which is its own business
    assert {host: event["program"] for host, event in refused.items()} == {"one.test": "dig", "two.test": "dig", "three.test": "my-dig"}, refused
    assert len({event["pid"] for event in refused.values()}) == 3 and all(event["pid"].isdigit() for event in refused.values())


@test
def a_flood_of_names_is_recorded_to_the_last(session):
    done = session.python(["connect allowed.test:9000"], """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
def ask(i):
    label = b"n%04d" % i
    s.sendto(struct.pack("!H", i) + b"\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len(label)]) + label + b"\\4test\\0\\0\\1\\0\\1", ("198.18.0.1", 53))
for start in range(0, 1500, 50):
    waiting = set(range(start, start + 50))
    while waiting:   # the kernel drops what is not read in time, and who hears nothing asks again
        for i in waiting:
            ask(i)
        try:
            while waiting:
                waiting.discard(struct.unpack("!H", s.recv(2000)[:2])[0])
        except TimeoutError:
            pass
print(exchange("allowed.test", 9000, b"x", 60))""", timeout=300)
    assert done.out == "b'xthe end'\n", done
    assert {event["host"] for event in session.events("refused")} == {f"n{i:04}.test" for i in range(1500)}
