#!/usr/bin/python3
"""make_page.py SOURCE_DIR PROGRAM_JS PROGRAM_WASM OUT: puts sotto-tab.html together."""

import base64
import gzip
import hashlib
import pathlib
import re
import sys


def main():
    source, glue, wasm, out = map(pathlib.Path, sys.argv[1:])
    tab = source / "examples/tab"
    script = (tab / "page.js").read_text().replace("{NATIVE}", (tab / "native.json").read_text().strip())
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "SCRIPT": script,
        "SCRIPT_HASH": f"'sha256-{digest}'",
        "WORKER": glue.read_text() + (tab / "worker.js").read_text(),
        "PROGRAM": base64.b64encode(gzip.compress(wasm.read_bytes(), mtime=0)).decode(),
    }

    def part(match):
        name = match[1]
        text = parts[name] if name in parts else (source / name).read_text()
        if name not in ("SCRIPT_HASH",) and "</script" in text.lower():
            raise SystemExit(f"make_page.py: {name} would end its element")
        return text

    page = re.sub(r"\{([A-Z_]+|[\w/]+\.css)\}", part, (tab / "page.html").read_text())
    out.write_text(page)


main()
