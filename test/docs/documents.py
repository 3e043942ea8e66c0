# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of code in documents, and their markers: what the tests of documents have in common.

A marker is a comment right before a block, which says how the block is tested:

    <!-- run: `BEGINNING`: WHERE; WHERE -->

WHERE is for the commands that begin so, or without a BEGINNING for all others. In a manual page the same stands behind
`.\\"`. docs/CONTRIBUTING.md lists what WHERE can be."""
import os
import re
import subprocess
import xml.etree.ElementTree as tree

NAMESPACE = "{http://commonmark.org/xml/1.0}"


class Block:
    """Code of a document, the language that it names, and its marker: (kind, text), or None."""

    def __init__(self, path, line, language, text, marker):
        self.path, self.line, self.language, self.text, self.marker = path, line, language, text, marker

    def __str__(self):
        return f"{self.path}:{self.line}"


def marker_of(text):
    found = re.fullmatch(r"\s*(run|excerpt|file|text)(?:: (.*?))?\s*", text, re.S)
    return (found.group(1), " ".join((found.group(2) or "").split())) if found else None


def of_markdown(top, path):
    """Blocks in the order of the document."""
    said = subprocess.run(["cmark-gfm", "-e", "table", "-t", "xml", "--sourcepos", os.path.join(top, path)],
                          capture_output=True, text=True, check=True).stdout
    blocks = []

    def walk(node):
        comment = None
        for child in node:
            if child.tag == NAMESPACE + "html_block":
                found = re.fullmatch(r"<!--(.*)-->\s*", child.text, re.S)
                comment = marker_of(found.group(1)) if found else None
                continue
            if child.tag == NAMESPACE + "code_block":
                blocks.append(Block(path, int(child.get("sourcepos").split(":")[0]), child.get("info", ""), child.text,
                                    comment))
            else:
                walk(child)
            comment = None

    walk(tree.fromstring(said))
    return blocks


def of_manual(top, path):
    """Commands in EXAMPLES: `.Dl` lines, which are a block with their neighbours, and literal displays."""
    blocks, comment, section, display = [], None, "", None
    for number, line in enumerate(open(os.path.join(top, path), encoding="utf-8"), 1):
        line = line.rstrip("\n")
        text = line.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
        if line.startswith(".Sh "):
            section = line[4:]
        elif section != "EXAMPLES":
            continue
        elif line.startswith('.\\" '):
            comment = marker_of(line[4:]) or comment
        elif display is not None and not line.startswith(".Ed"):
            display.text += text + "\n"
        elif line.startswith(".Ed"):
            blocks.append(display)
            display = comment = None
        elif line.startswith(".Bd -literal"):
            display = Block(path, number, "", "", comment)
        elif line.startswith(".Dl "):
            if blocks and last == number - 1:
                blocks[-1].text += text[4:] + "\n"
            else:
                blocks.append(Block(path, number, "", text[4:] + "\n", comment))
            comment, last = None, number
    return blocks


def blocks_of(top, path):
    return of_markdown(top, path) if path.endswith(".md") else of_manual(top, path)


def commands_of(text):
    """The commands of a script: lines, with what belongs to them."""
    commands, lines = [], []
    for line in text.splitlines():
        lines.append(line)
        command = "\n".join(lines)
        said = subprocess.run(["bash", "-n"], input=command, capture_output=True, text=True)
        if line.endswith("\\") or "unexpected end of file" in said.stderr or "here-document" in said.stderr:
            continue
        if command.strip() and not re.fullmatch(r"\s*#.*", command):
            commands.append(command)
        lines = []
    return commands + ["\n".join(lines)] * bool(lines)


def places_of(block):
    """(command, WHERE) of each command. ValueError: a beginning that no command has."""
    clauses = []
    if block.marker:
        for clause in re.split(r"; (?=`|(?:here|all|dev)(?:;|$)|cluster |test |not: )", block.marker[1]):
            found = re.fullmatch(r"(?:`([^`]*)`: )?(.*)", clause or "")
            if clause and found.group(2):
                clauses.append([found.group(1), found.group(2), 0])
    result = []
    for command in commands_of(block.text):
        for clause in clauses:
            if clause[0] is None or command.strip().startswith(clause[0]):
                clause[2] += 1
                result.append((command, clause[1]))
                break
        else:
            result.append((command, "here"))
    for beginning, where, used in clauses:
        if not used:
            raise ValueError(f"no command for the marker '{beginning or ''}: {where}'")
    return result
