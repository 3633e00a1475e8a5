"""What an installed passband is made of, as CycloneDX 1.5 JSON: `make sbom`.

    python release/sbom.py > sbom.json

Follows the requirements of passband through what is installed beside it.
"""

import json
import re
from importlib import metadata


def main() -> None:
    waiting, found = ["passband"], {}
    while waiting:
        name = waiting.pop()
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # of another platform
        key = re.sub(r"[-_.]+", "-", package.metadata["Name"]).lower()
        needs = [r for r in package.requires or () if "extra ==" not in r]
        names = [re.split(r"[^A-Za-z0-9._-]", r, maxsplit=1)[0] for r in needs]
        if key not in found:
            found[key] = package, [re.sub(r"[-_.]+", "-", n).lower() for n in names]
            waiting += names
    components = [_component(key, package) for key, (package, _) in found.items()]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": components[0]},
        "components": sorted(components[1:], key=lambda c: c["name"]),
        "dependencies": [
            {"ref": key, "dependsOn": sorted({n for n in needs if n in found})}
            for key, (_, needs) in sorted(found.items())
        ],
    }
    print(json.dumps(content, indent=2))


def _component(key: str, package: metadata.Distribution) -> dict:
    about = package.metadata
    licence = about.get("License-Expression") or about.get("License") or ""
    licence = licence.strip().split("\n")[0][:100]
    told = {"licenses": [{"license": {"name": licence}}]}
    return {
        "type": "library",
        "bom-ref": key,
        "name": key,
        "version": package.version,
        "purl": f"pkg:pypi/{key}@{package.version}",
        **(told if licence else {}),
    }


if __name__ == "__main__":
    main()
