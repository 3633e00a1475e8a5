"""The versions of a release build with their hashes: `make hashes`.

    python release/hashes.py > release/requirements.txt

Asks pip what it would install for passband and its build, under constraints.txt, and
writes each file's sha256; no addresses, so that any index that has these files serves.
They are those of the platform and Python that it is run on.
"""

import json
import platform
import subprocess
import sys


def main() -> None:
    words = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    words += ["--quiet", "--report", "-", "-c", "constraints.txt", ".", "hatchling"]
    ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    lines = []
    for entry in json.loads(ran.stdout)["install"]:
        about, archive = entry["metadata"], entry["download_info"].get("archive_info")
        if about["name"].lower() == "passband" or archive is None:
            continue
        digest = archive["hashes"]["sha256"]
        lines.append(
            f"{about['name'].lower()}=={about['version']} --hash=sha256:{digest}"
        )
    version = ".".join(platform.python_version_tuple()[:2])
    print(
        f"# {platform.system()} {platform.machine()}, Python {version}; `make hashes`"
    )
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
