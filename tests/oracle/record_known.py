"""Writes known.json anew: `python -m tests.oracle.record_known`. Look at the difference before you commit it."""

import json

from tests.oracle.test_situations import CASES, HERE, differences


def main() -> None:
    known = {}
    for name in CASES:
        try:
            facets = "".join(differences(name))
        except Exception as error:
            facets = "abcdef"
            print(name, repr(error))
        if facets:
            known[name] = facets
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(facets)}" for name, facets in sorted(known.items()))
    (HERE / "known.json").write_text("{\n" + lines + "\n}\n" if known else "{}\n")
    print(f"{len(CASES) - len(known)} of {len(CASES)} agree in every facet")


if __name__ == "__main__":
    main()
