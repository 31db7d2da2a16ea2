"""One small package, `tiny`, as the registries of npm, PyPI and cargo have it: what is at which path."""
import hashlib
import io
import json
import tarfile
import zipfile


def tar(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("tiny.py", "word = 'good'\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\n"
                                                      "tiny-1.0.dist-info/RECORD,,\n")
    return out.getvalue()


def registry_files(url):
    """What each path of the registry holds."""
    package = tar({"package/package.json": '{"name":"tiny","version":"1.0.0","main":"i.js"}',
                   "package/i.js": "module.exports = 'good'\n"})
    crate = tar({"tiny-1.0.0/Cargo.toml": '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n',
                 "tiny-1.0.0/src/lib.rs": 'pub fn word() -> &\'static str { "good" }\n'})
    return {
        "/tiny": json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "tiny", "version": "1.0.0", "main": "i.js", "dist": {
                "tarball": f"{url}/tiny/-/tiny-1.0.0.tgz", "shasum": hashlib.sha1(package).hexdigest()}}}}),
        "/tiny/-/tiny-1.0.0.tgz": package,
        "/simple/tiny": f'<a href="/files/tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>',
        "/files/tiny-1.0-py3-none-any.whl": wheel(),
        "/index/config.json": json.dumps({"dl": f"{url}/crates"}),
        "/index/ti/ny/tiny": json.dumps({"name": "tiny", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
                                         "cksum": hashlib.sha256(crate).hexdigest()}) + "\n",
        "/crates/tiny/1.0.0/download": crate,
    }
