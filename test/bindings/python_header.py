#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""python_header CC HEADER..: what the Python package says of the headers is what they say: every constant and its value,
every structure with its fields and their places, every function with its arguments. What is missing is an error, too."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

import ncoll
from ncoll import _c, constants

# Names that are no constants for programs, or that Python has in another form.
NOT_CONSTANTS = {"NCOLL_H", "NCOLL_EVENTUAL_H", "NCOLL_API", "NCOLL_STATUS_MAP", "NCOLL_STATUS_ENUM", "NCOLL_REASON_MAP", "NCOLL_REASON_ENUM",
                 "NCOLL_CALL_MAP", "NCOLL_CALL_ENUM"}
wrong = []
facts = []  # what is compared, how a program in C prints it, and what the package says


def without_comments(path):
    return re.sub(r"/\*.*?\*/", " ", open(path, encoding="utf-8").read(), flags=re.S)


def compare(cc, headers):
    """Compares the facts with what a program in C prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "facts.c"), os.path.join(folder, "facts")
        with open(source, "w", encoding="utf-8") as file:
            for header in headers:
                file.write(f'#include "{os.path.abspath(header)}"\n')
            file.write("#include <stdio.h>\n#include <stddef.h>\nint main(void)\n{\n")
            for _, how, _ in facts:
                file.write(f"    printf({how});\n    putchar('\\n');\n")
            file.write("}\n")
        subprocess.run([*cc.split(), "-I" + os.path.dirname(os.path.abspath(headers[0])), "-o", program, source], check=True)
        said = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    for (what, _, mine), theirs in zip(facts, said):
        if mine != theirs:
            wrong.append(f"{what}: {theirs}, not {mine}")
    return len(said)


def check_constants(headers):
    names = set()
    for header in headers:
        text = without_comments(header)
        names.update(re.findall(r"^#define (NCOLL_\w+)", text, re.M))
        for body in re.findall(r"enum(?: \w+)? \{(.*?)\}", text, re.S):
            names.update(re.findall(r"\b(NCOLL_\w+)\s*(?:=[^,]*)?(?:,|$)", body))
        names.update(re.findall(r"X\((NCOLL_\w+),", text))
    names -= NOT_CONSTANTS
    ours = {"NCOLL_" + name for name in dir(constants) if name.isupper()}
    wrong.extend(f"{name}: the package has no such constant" for name in sorted(names - ours))
    wrong.extend(f"{name}: the headers have no such constant" for name in sorted(ours - names))
    both = sorted(names & ours)
    for name in both:
        mine = int(getattr(ncoll, name[6:])) % 2**64
        facts.append((name, f'"%llu", (unsigned long long)({name})', str(mine)))
    return len(both)


def fields_of(text, name):
    body = re.search(rf"(?:typedef )?struct {name} \{{(.*?)\n\}}", text, re.S).group(1)
    fields = []
    for line in body.split(";"):
        found = re.search(r"\(\*(\w+)\)", line)
        if found:
            fields.append(found.group(1))
        elif line.strip():
            fields += re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", line.strip())
    return fields


def check_structures(headers):
    text = "".join(without_comments(h) for h in headers)
    theirs = set(re.findall(r"typedef struct (ncoll_\w+) \{", text)) | set(re.findall(r"^struct (ncoll_\w+) \{", text, re.M))
    ours = {s.__name__ for s in _c.STRUCTURES}
    pairs = {name for name in theirs if re.fullmatch(r"ncoll_(u?int|float|double)\d*_int\d+", name)}  # dtypes
    wrong.extend(f"{name}: the package has no such structure" for name in sorted(theirs - ours - pairs))
    for structure in _c.STRUCTURES:
        name = structure.__name__
        mine, given = [f[0] for f in structure._fields_], fields_of(text, name)
        if mine != given:
            wrong.append(f"{name} has the fields {' '.join(f for f in given if f not in mine) or given}, "
                         f"not {' '.join(f for f in mine if f not in given) or mine}")
            continue
        kind = "struct " + name
        facts.append(("bytes of " + name, f'"%zu", sizeof({kind})', str(ctypes.sizeof(structure))))
        for field in mine:
            at = getattr(structure, field)
            facts.append((f"offset and size of {name}.{field}",
                          f'"%zu %zu", offsetof({kind}, {field}), sizeof((({kind} *)0)->{field})', f"{at.offset} {at.size}"))
    return len(_c.STRUCTURES)


def letter_of(argument):
    """How _c.py writes an argument."""
    argument = " ".join(argument.split())
    if re.search(r"ncoll_(context|group|request|stale|compressor) \*\w+$", argument) and "**" not in argument:
        return "h"
    if "timeout_ns" in argument:
        return "T"
    if re.search(r"\bchar \*name$", argument):
        return "c"
    if re.search(r"\*\*?\w+$", argument):
        return "b" if re.match(r"(const )?void \*\w+$", argument) else "s"
    for kind, letter in (("size_t", "n"), ("ncoll_type", "t"), ("ncoll_op", "t"), ("uint32_t", "t"), ("double", "d"),
                         ("unsigned", "u"), ("int", "i")):
        if argument.startswith(kind + " "):
            return letter
    return "?"


def check_functions(headers):
    text = "".join(without_comments(h) for h in headers)
    ours = {"ncoll_" + name: value for name, value in _c.prototypes().items()}
    named = set()
    for result, name, arguments in re.findall(r"NCOLL_API ([^;()]*?)(\bncoll_\w+)\(([^;]*)\);", text):
        named.add(name)
        letters = "".join(letter_of(a) for a in arguments.split(",") if a.strip() != "void")
        if name == "ncoll_" + _c.FORK_RANKS:
            continue
        if name not in ours:
            wrong.append(f"{name}: the package does not have it")
        elif ours[name][1].replace("b", "s").replace("c", "s") != letters.replace("b", "s").replace("c", "s"):
            wrong.append(f"{name}: its arguments are {letters}, not {ours[name][1]}")
    wrong.extend(f"{name}: the headers do not have it" for name in sorted(set(ours) - named))
    return len(named)


def main():
    cc, *headers = sys.argv[1:]
    counts = check_constants(headers), check_structures(headers), check_functions(headers), compare(cc, headers)
    for line in wrong:
        print(line)
    print("%d constants, %d structures, %d functions; %d facts" % counts)
    sys.exit(1 if wrong or min(counts) < 5 or counts[2] < 100 else 0)


if __name__ == "__main__":
    main()
