"""Write docs/explorer.html again from the numbers in it, after its scripts changed.

    python docs/explorer.py

New numbers: `passband explore --layers 2,3,4 --out docs/explorer.html --overwrite`.
"""

import json
from pathlib import Path

from passband.export.web.explorer_page import explorer_page

PAGE = Path(__file__).with_suffix(".html")


def main() -> None:
    _, _, rest = PAGE.read_text(encoding="utf-8").partition('id="data">')
    data = json.loads(rest.partition("</script>")[0])
    PAGE.write_text(explorer_page(data, title="What sigma does"), encoding="utf-8")


if __name__ == "__main__":
    main()
