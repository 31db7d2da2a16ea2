"""The world outside, for the tests of secrets: that of tests/egress, with a server that remembers the requests' headers, sends them back in
many ways, and has bad certificates at some ports."""
import gzip
import hashlib
import json
import pathlib
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "egress"), str(HERE.parent / "agents")]
import forge_world
import graphql_world
import login_world
import model_world
import packed_world
import world

EXPIRED, WRONG_NAME, UNKNOWN, OLD_TLS, RENEGOTIATES = 8441, 8442, 8443, 8444, 8445
ALLOW_RENEGOTIATION = 1 << 8  # of OpenSSL; Python has no name for it
RELEASED = threading.Event()
STORED = {"headers": b""}


class Api(world.SecureWeb):
    def parse_request(self):
        is_one = super().parse_request()
        if is_one:
            model_world.take_over(self)
            forge_world.take_over(self)
        return is_one

    def remember(self) -> bytes:
        body = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif self.headers.get("Content-Length"):
            body = self.rfile.read(int(self.headers["Content-Length"]))
        world.saw("request", self.command, self.path, {name.lower(): value for name, value in self.headers.items()},
                  body.decode("latin-1") if len(body) < 1000 else len(body))
        return body

    def headers_text(self) -> bytes:
        return json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()

    def send_chunks(self, pieces, kind="text/plain"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def send_interim(self, many):
        one = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
        if many != "endless":
            self.wfile.write(one * int(many))
            self.reply(b"after them")
            return
        self.close_connection = True
        try:
            while True:
                self.wfile.write(one * 1000)
        except OSError:
            world.saw("interim-ended")

    def do_GET(self):
        if self.headers.get("Upgrade") and self.path.startswith("/ws-"):
            world.saw("request", self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, "")
            packed_world.upgrade(self, self.headers_text())
            return
        if self.headers.get("Upgrade") or self.path.startswith("/bytes/"):
            world.saw("request", self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, "")
            super().do_GET()
            return
        body = self.remember()
        if login_world.answer(self, body) or graphql_world.answer(self, body):
            return
        echo, path = self.headers_text(), self.path
        if packed_world.answer(self, echo):
            return
        if path.startswith("/interim/"):
            self.send_interim(path.split("/")[2])
        elif path == "/chunks":
            self.send_chunks([echo[i : i + 3] for i in range(0, len(echo), 3)])
        elif path == "/in-head":
            self.send_response(200, "OK " + self.headers.get("Authorization", ""))
            self.send_header("X-Echo", self.headers.get("Authorization", ""))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
        elif path == "/until-close":
            self.close_connection = True
            self.send_response(200)
            self.end_headers()
            self.wfile.write(echo)
            self.wfile.flush()
            self.connection.unwrap()
        elif path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "https://other.test/stolen")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif path == "/events":
            RELEASED.clear()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.close_connection = True
            self.wfile.write(b"data: first\n\n")
            self.wfile.flush()
            RELEASED.wait(20)
            self.wfile.write(b"data: second\n\n")
            self.wfile.flush()
            self.connection.unwrap()
        elif path == "/store":
            STORED["headers"] = echo
            self.reply(b"stored")
        elif path == "/stored":
            self.reply(STORED["headers"])
        elif path == "/me":
            login_world.me(self)
        elif path == "/release":
            RELEASED.set()
            login_world.RELEASED.set()
            self.reply(b"released")
        elif path == "/hash":
            self.reply(hashlib.sha256(body).hexdigest().encode())
        elif path == "/post":
            self.reply(body)
        else:
            self.reply(echo)

    do_POST = do_PUT = do_HEAD = do_DELETE = do_PATCH = do_GET


def make_certificate(name, days, names, signed=True):
    folder = world.FOLDER
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days),
             "-keyout", str(folder / f"{name}-key.pem"), "-out", str(folder / f"{name}.pem"), "-subj", f"/CN={name}",
             "-addext", f"subjectAltName={names}", "-addext", "basicConstraints=critical,CA:FALSE"]
    if signed:
        words += ["-CA", str(folder / "cert.pem"), "-CAkey", str(folder / "ca-key.pem")]
    subprocess.run(words, check=True, capture_output=True)


def expire():
    """A certificate that was valid for a minute, an hour ago: `req` has no dates of its own, `ca` has."""
    folder = world.FOLDER
    subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    str(folder / "expired-key.pem"), "-out", str(folder / "expired.csr"), "-subj", "/CN=expired"], check=True,
                   capture_output=True)
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("01\n")
    (folder / "ca.cnf").write_text(f"""[ca]
default_ca = own
[own]
database = {folder}/index.txt
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
x509_extensions = leaf
[any]
commonName = supplied
[leaf]
subjectAltName = DNS:allowed.test
""")
    subprocess.run(["openssl", "ca", "-batch", "-config", str(folder / "ca.cnf"), "-in", str(folder / "expired.csr"), "-out",
                    str(folder / "expired.pem"), "-cert", str(folder / "cert.pem"), "-keyfile", str(folder / "ca-key.pem"),
                    "-startdate", "20200101000000Z", "-enddate", "20200102000000Z"], check=True, capture_output=True)


def context_of(name, newest=None):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if newest:
        tls.minimum_version = ssl.TLSVersion.TLSv1
        tls.maximum_version = newest
        tls.set_ciphers("ALL:@SECLEVEL=0")
    key = "key.pem" if name == "server" else f"{name}-key.pem"
    tls.load_cert_chain(world.FOLDER / f"{name}.pem", world.FOLDER / key)
    return tls


def main():
    expire()
    make_certificate("wrong", 2, "DNS:elsewhere.test")
    make_certificate("unknown", 2, "DNS:allowed.test", signed=False)
    for port, tls in ((EXPIRED, context_of("expired")), (WRONG_NAME, context_of("wrong")), (UNKNOWN, context_of("unknown")),
                      (OLD_TLS, context_of("server", ssl.TLSVersion.TLSv1_1))):
        world.start(world.HOST4, port, Api, tls)
    renegotiates = context_of("server")
    renegotiates.maximum_version = ssl.TLSVersion.TLSv1_2
    renegotiates.options = (renegotiates.options | ALLOW_RENEGOTIATION) & ~ssl.OP_NO_RENEGOTIATION
    world.start(world.HOST4, RENEGOTIATES, Api, renegotiates)
    world.SecureWeb = Api
    world.main()


if __name__ == "__main__":
    main()
