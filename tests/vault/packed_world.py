"""Answers of a server that compresses, and of one that says what it should not. The path says how."""
import gzip
import json
import zlib


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


PACKED = {  # Content-Encoding, and what it is
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "streams": ("gzip", lambda data: gzip.compress(data[:30]) + gzip.compress(data[30:])),
    "deflate": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
    "br": ("br", gzip.compress),
    "zstd": ("zstd", gzip.compress),
    "twice": ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    "bomb": ("gzip", lambda data: gzip.compress(data + bytes(64 << 20), 9)),
    "cut": ("gzip", lambda data: gzip.compress(data)[:-4]),
    "garbage": ("gzip", lambda data: data),
    "empty": ("gzip", lambda data: b""),
}


def answer(handler, echo: bytes) -> bool:
    """/packed/KIND[/chunks|/close], /endless/SIZE and /moved. Returns False for another path."""
    words = handler.path.strip("/").split("/")
    if words[0] == "moved":
        handler.send_response(200)
        handler.send_header("Alt-Svc", 'h3="other.test:443", h2="other.test:443"')
        body = json.dumps({"api": "https://other.test/stolen"}).encode()
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True
    if words[0] == "endless":  # as far as its head says
        handler.close_connection = True
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(bytes(int(words[1])))
        handler.wfile.flush()
        handler.connection.unwrap()
        return True
    if words[0] != "packed":
        return False
    coding, pack = PACKED[words[1]]
    body = pack(echo)
    handler.send_response(200)
    handler.send_header("Content-Encoding", coding)
    if words[-1] == "chunks":
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for start in range(0, len(body), 3):
            piece = body[start : start + 3]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")
        return True
    if words[-1] == "close":
        handler.close_connection = True
    else:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    try:
        handler.wfile.write(body)
        handler.wfile.flush()
        if words[-1] == "close":
            handler.connection.unwrap()
    except OSError:
        handler.close_connection = True  # the other side has had enough
    return True


def upgrade(handler, echo: bytes):
    """A WebSocket whose server sends the request's headers; at /ws-extended it says that it compresses."""
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    if "extended" in handler.path:
        handler.send_header("Sec-WebSocket-Extensions", "permessage-deflate")
    handler.end_headers()
    handler.wfile.write(echo)
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.unwrap()
