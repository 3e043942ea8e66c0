#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cpp_complete [C_HEADER CPP_HEADER]..: every function and every error code, type and operation of the headers for C is
used in those for C++."""
import re
import sys

wrong, functions = [], 0
pairs = list(zip(sys.argv[1::2], sys.argv[2::2]))
cpp = "".join(open(header, encoding="utf-8").read() for _, header in pairs)
code = re.sub(r"/\*.*?\*/", " ", cpp, flags=re.S)
for header, _ in pairs:
    text = re.sub(r"/\*.*?\*/", " ", open(header, encoding="utf-8").read(), flags=re.S)
    for name in re.findall(r"NCOLL_API [^;()]*?\b(ncoll_\w+)\(", text):
        functions += 1
        if not re.search(rf"\b{name}\b", code):
            wrong.append(f"{name}() has no place in the headers for C++")
    for body in re.findall(r"enum \{(.*?)\}", text, re.S):
        wrong += [f"{name} has no place in the headers for C++" for name in re.findall(r"\bNCOLL_\w+", body)
                  if not re.search(rf"\b{name}\b", code)]
for line in wrong:
    print(line)
print(f"{functions} functions")
sys.exit(1 if wrong or functions < 100 else 0)
