#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""reasons TOP: every place in lib/, transport/ and bootstrap/ that records an error says its reason: BECAUSE(..), or a
status for which there is one reason only. See transport/because.h."""
import pathlib
import re
import sys

# A status that is passed on by name comes from such a place.
WELL = re.compile(r"BECAUSE(_OF)?\(|NCOLL_ERR_(ARGUMENT|MEMORY|INTERNAL|CODEC|HANDLE)\b|what\b|int what\b")


def second_argument(text, at):
    depth, begin = 1, None
    for i in range(at, len(text)):
        c = text[i]
        depth += (c == "(") - (c == ")")
        if depth == 0 or (depth == 1 and c == ","):
            if begin is not None:
                return text[begin:i].strip()
            begin = i + 1
    return ""


def main():
    top = pathlib.Path(sys.argv[1])
    places, wrong = 0, []
    for folder in ("lib", "transport", "bootstrap"):
        for path in sorted((top / folder).rglob("*.[ch]")):
            text = path.read_text()
            for found in re.finditer(r"(\bncoll__fail|[>.]fail)\(", text):
                argument = second_argument(text, found.end())
                if argument == "":  # a comment
                    continue
                places += 1
                if not WELL.match(argument) and "BECAUSE(" not in argument:
                    line = text.count("\n", 0, found.start()) + 1
                    wrong.append(f"{path.relative_to(top)}:{line}: {argument} has no reason: see transport/because.h")
    print("\n".join(wrong + [f"{places} errors, {len(wrong)} without a reason"]))
    return 1 if wrong or places < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
