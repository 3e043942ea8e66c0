#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""man3 --output FOLDER FILE..: a manual page, mdoc(7), for every public call of the headers (FILE.h), from the comment
before its prototype, with EXAMPLES from FILE.c. docs/CONTRIBUTING.md says how such a comment must look. A call shares the
page of the call that it is a form of; its own page is then a link."""
import argparse
import os
import re
import sys
import textwrap

DATE = "November 27, 2026"
FORMS = ("start", "init", "named")
# Calls that are too small for a page of their own: the page where they are.
WITH = {
    "ncoll_context_arm": "ncoll_context_fd",
    "ncoll_context_type_size": "ncoll_type_size",
    "ncoll_group_size": "ncoll_group_rank",
    "ncoll_group_world_rank": "ncoll_group_rank",
    "ncoll_group_sync": "ncoll_group_set_sync",
    "ncoll_progress_count": "ncoll_progress",
    "ncoll_reason_name": "ncoll_reason_text",
    "ncoll_test": "ncoll_wait",
    "ncoll_thread_board_destroy": "ncoll_thread_board_create",
    "ncoll_thread_board_give_up": "ncoll_thread_board_create",
}
HANDLE = r"(const )?ncoll_(context|group|request|stale|compressor) \*"


class Call:
    """A prototype with its comment, and the comments on all calls around it."""

    def __init__(self, header, prototype, comment, shared):
        found = re.fullmatch(r"NCOLL_API (.*?)(\w+)\((.*)\);", " ".join(prototype.split()))
        self.header, self.type, self.name = header, found.group(1).strip(), found.group(2)
        self.arguments = [a.strip() for a in found.group(3).split(",") if a.strip() != "void"]
        self.comment, self.shared = comment, shared

    def has(self, argument):
        return any(re.search(rf"\b{argument}$", a) for a in self.arguments)


class Comment:
    """Paragraphs, parameters and errors of a comment."""

    def __init__(self, text):
        self.paragraphs, self.parameters, self.errors = [], [], None
        for paragraph in paragraphs_of(text):
            first = paragraph[0]
            if first.startswith("@param"):
                joined = "\n".join(paragraph)
                for part in re.split(r"^@param +", joined, flags=re.M)[1:]:
                    name, what = part.split(None, 1)
                    self.parameters.append((name, " ".join(what.split())))
            elif re.match(r"ERRORS( of all\b[^:]*)?:", first):
                self.errors = re.sub(r"^ERRORS[^:]*: *", "", " ".join(paragraph))
            else:
                self.paragraphs.append(paragraph)

    def title(self, otherwise):
        """Takes a title of at most four words off the beginning: `Persistent requests. A collective ..`"""
        first = " ".join(self.paragraphs[0]) if self.paragraphs else ""
        found = re.match(r"([A-Z][\w-]*(?: [\w-]+){0,3})\. ", first)
        if not found:
            return otherwise
        self.paragraphs[0] = [first[found.end():]]
        return found.group(1)


def paragraphs_of(text):
    """Lines of each paragraph. A list or indented text is a paragraph of its own."""
    lines = []
    for line in text[text.index("*") + 1:text.rindex("*/")].lstrip("*").splitlines():
        lines.append(re.sub(r"^ *\* ?", "", line) if re.match(r" *\*", line) else line.strip())
    result = [[]]
    for line in lines:
        kind = "literal" if line.startswith("    ") else "item" if line.startswith("- ") else "text"
        last = result[-1]
        if not line.strip():
            if last and last[0].startswith("    "):
                last.append("")
            else:
                result.append([])
        elif kind == "literal" and (not last or last[0].startswith("    ")):
            last.append(line)
        elif (last and last[0].startswith("    ")) or kind == "item" or (
                line.startswith("@param") and last and not last[0].startswith("@param")):
            result.append([line.rstrip()])
        else:
            last.append(line.strip())
    return [p for p in result if p]


def read(path):
    """The calls of a header, the comment at its top, and the texts of the status codes."""
    text = open(path, encoding="utf-8").read()
    text = re.sub(r"^#ifdef __cplusplus.*?^#endif", "", text, flags=re.S | re.M)
    codes = dict(re.findall(r'X\((NCOLL_\w+), -?\d+, "([^"]*)"\)', text))
    calls, comment, shared, section, depth = [], None, None, "", 0
    top = None
    for token in re.finditer(r"/\*.*?\*/|NCOLL_API [^;#]*;|[{}]", text, re.S | re.M):
        token = token.group()
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif depth > 0:
            continue  # a comment on a field
        elif token.startswith("/**") and "@file" in token:
            top = Comment(token.replace("@file\n", "\n"))
        elif token.startswith("/**"):
            comment = Comment(token)
        elif re.match(r"/\* -+ (.*?) -+ \*/", token):
            section, shared = re.match(r"/\* -+ (.*?) -+ \*/", token).group(1), None
        elif token.startswith("/*\n"):
            shared = Comment(token)
            shared.name = shared.title(section.capitalize())
        elif token.startswith("NCOLL_API"):
            calls.append(Call(os.path.basename(path), token, comment, shared))
            comment = None
    return calls, top, codes


# ---------------------------------------------------------------------- mdoc


def plain(word):
    word = word.replace("\\", "\\e").replace("`", "")
    return "\\&" + word if word[:1] in (".", "'") else word


def marked(word):
    """A word as a macro, or None: `name`, ncoll_call(), NCOLL_CODE, with punctuation around it."""
    found = re.fullmatch(r"([(\[]*)(?:`([\w.>-]+)`|(\w+)\(\)|(NCOLL_\w+))([.,;:)\]?!]*)", word)
    if not found:
        return None
    before, name, call, constant, after = found.groups()
    macro = f"Fa {name}" if name else f"Fn {call}" if call else f"Dv {constant}"
    line = (".No " + "".join("\\&" + b for b in before) + " Ns " if before else ".") + macro
    return line + "".join(" " + c for c in after)


def flow(text):
    """Text as lines of mdoc, each sentence on a line of its own."""
    lines, line = [], []

    def end():
        if line:
            lines.extend(plain(part) for part in textwrap.wrap(" ".join(line), 78, break_long_words=False,
                                                               break_on_hyphens=False))
            line.clear()

    text = re.sub(r"(?<!\w)\*([a-z][a-z -]*)\*(?!\w)", r"\1", text)
    words = re.findall(r"(?:`[^`]*`|[^\s`])+", text)
    for i, word in enumerate(words):
        macro = marked(word)
        if macro:
            end()
            lines.append(macro)
            continue
        line.append(word.replace("\\", "\\e").replace("`", "") if line else word.replace("`", ""))
        if re.search(r"[.?!][)\"]*$", word) and i + 1 < len(words) and re.match(r"[(\"`]*[A-Z]", words[i + 1]):
            end()
    end()
    return lines


def literal(lines):
    body = textwrap.dedent("\n".join(lines)).strip("\n").splitlines()
    body = [("\\&" if l[:1] in (".", "'") else "") + l.replace("\\", "\\e").replace("-", "\\-") for l in body]
    return [".Bd -literal -offset indent", *body, ".Ed"]


def body(paragraphs):
    out, items = [], False
    for paragraph in paragraphs:
        if paragraph[0].startswith("- "):
            if not items:
                out.append(".Bl -bullet")
            items = True
            out += [".It", *flow(" ".join(paragraph)[2:])]
            continue
        if items:
            out.append(".El")
            items = False
        if paragraph[0].startswith("    "):
            out += literal(paragraph)
        else:
            out += [".Pp"] * bool(out) + flow(" ".join(paragraph))
    return out + [".El"] * items


# ---------------------------------------------------------------------- errors


def errors_of(name, calls, done):
    """(code, condition) of all errors, those of other calls included, and what is none of a code."""
    if name in done or name not in calls:
        return []
    done.add(name)
    call = calls[name]
    result = parse_errors(call.comment.errors, calls, done)
    # The errors of a comment on several calls are those of a call that names none of its own, or says "see above".
    own = call.comment.errors
    if call.shared and call.shared.errors and (not own or own.startswith("see above")) and (
            not re.search(r"_(start|init)$", name)):
        result += parse_errors(call.shared.errors, calls, done)
    return result


def parse_errors(text, calls, done):
    result = []
    if not text:
        return result
    for entry in re.split(r"; (?=NCOLL_ERR_\w+(?:$|[;:.,]| and others)|those of |as ncoll_)", text.strip()):
        found = re.match(r"(NCOLL_ERR_\w+(?:, NCOLL_ERR_\w+)*( and others)?)(?:: (.*))?\.?$", entry)
        if found:
            condition = (found.group(3) or "").rstrip(".")
            if found.group(2):
                condition = "it or another status tells " + condition
            several = re.findall(r"NCOLL_ERR_\w+", found.group(1))
            result += [(code, condition if code == several[0] else f"as {several[0]}") for code in several]
        elif re.match(r"(those of|as) ncoll_\w+\(\)", entry):
            for name in re.findall(r"(ncoll_\w+)\(\)", entry):
                result += errors_of(name, calls, done)
        elif not re.match(r"see above|those of the blocking call|those that the call", entry):
            result.append((None, entry.rstrip(".")))
    return result


def error_list(entries, every, codes):
    """The errors of a call, and those of every call, which come last and may be all that there is for a code."""
    out, conditions, others = [], {}, []
    for code, condition in entries:
        if code is None:
            others += [condition] * (condition not in others)
            continue
        known = conditions.setdefault(code, [])
        condition = "" if condition.replace(" the ", " this ") == codes[code] else condition
        known += [condition] * (condition not in known)
    every = dict(every)
    out.append(".Bl -tag -width Ds")
    for code in [c for c in codes if c in conditions or c in every]:
        out.append(f".It Dv {code}")
        own = sorted(conditions.get(code, []), key=bool)  # what has no condition comes first
        for i, condition in enumerate(own):
            what = "Also" if i > 0 else capital(codes[code])
            out += flow(f"{what}: {condition}." if condition else f"{what}.")
        if code in every:
            out += flow(f"Also: {every[code]}." if own else f"{capital(every[code])}.")
    out.append(".El")
    for other in others:
        out += [".Pp", *flow(f"Also {other}.")]
    return out


def capital(text):
    return text[:1].upper() + text[1:]


# ---------------------------------------------------------------------- pages


def base_of(name, calls):
    found = re.fullmatch(rf"(ncoll_\w+)_(?:{'|'.join(FORMS)})", name)
    return found.group(1) if found and found.group(1) in calls else WITH.get(name, name)


def summary(comment):
    text = " ".join(comment.paragraphs[0])
    text = re.sub(r" \([^)]*\b\d{4}\b[^)]*\)", "", text)
    text = re.split(r"[.;:](?: +(?=[A-Z]|\w+ = )|$)|;", text)[0]
    text = re.sub(r"^((?:\S+ ){5,}\S+):.*", r"\1", text).replace("`", "").replace("\\", "\\e")
    return text if re.match(r"[A-Z]{2}", text) else text[:1].lower() + text[1:]


def prototype(call):
    out = [f".Ft {call.type}", f".Fo {call.name}"]
    return out + [f'.Fa "{a}"' for a in call.arguments or ["void"]] + [".Fc"]


def threads(name, own, top):
    text = next(" ".join(p) for p in top.paragraphs if p[0].startswith("Thread safety."))
    sentences = re.split(r"(?<=\.) (?=[A-Z]|ncoll_)", text)[1:]
    anywhere = [s for s in sentences if "by any thread at any time" in s]
    if f"{name}()" in " ".join(anywhere) or "by any thread at any time" in own:
        return "May be called by any thread at any time."
    return " ".join(s for s in sentences if s not in anywhere and "every function below" not in s)


def page(base, calls, tops, codes, examples):
    first = calls[base]
    family = [first] + [c for n, c in calls.items() if n != base and base_of(n, calls) == base]
    names = [c.name for c in family]
    shared = [c.shared for c in family if c.shared]
    shared += [calls["ncoll_barrier_" + form].shared for form in ("start", "init") if f"{base}_{form}" in calls]
    shared = list(dict.fromkeys(shared))
    out = ['.\\" SPDX-License-Identifier: BSD-3-Clause', f'.\\" Made by docs/man3.py from {first.header}.',
           f".Dd {DATE}", f".Dt {base.upper()} 3", ".Os", ".Sh NAME"]
    out += [f".Nm {n}" + " ," * (n != names[-1]) for n in names]
    out += [f".Nd {summary(first.comment)}", ".Sh SYNOPSIS", f".In {first.header}"]
    for call in family:
        out += prototype(call)

    out.append(".Sh DESCRIPTION")
    returns = [p for p in first.comment.paragraphs[1:] if p[0].startswith("Returns ")]
    out += body([p for p in first.comment.paragraphs if p not in returns])
    parameters = {}
    for call in family:
        for name, what in call.comment.parameters:
            parameters.setdefault(name, what)
    if parameters:
        out += [".Pp", "The arguments are", ".Bl -tag -width Ds"]
        for name, what in parameters.items():
            out += [f".It Fa {name}", *flow(what + "." * (what[-1] not in ".:"))]
        out.append(".El")
    if len(family) > 1:
        alike = any(c.name in WITH for c in family)
        out += [".Pp", "Calls of the same kind are" if alike else "Other forms of the call are", ".Bl -tag -width Ds"]
        for call in family[1:]:
            out += [f".It Fn {call.name}", *body(call.comment.paragraphs)]
        out.append(".El")
    for comment in shared:
        out += [f".Ss {comment.name}", *body(comment.paragraphs)]

    takes_handle = any(c.arguments and re.match(HANDLE, c.arguments[0]) for c in family)
    entries = [e for n in names for e in errors_of(n, calls, set())]
    out_returns = body(returns)
    if entries and first.type == "int" and not returns:
        out_returns = flow("A value below 0 is one of the errors below."
                           if first.comment.paragraphs[0][0].startswith("Returns ") else
                           f"NCOLL_OK: {codes['NCOLL_OK']}. "
                           + f"NCOLL_TIMEOUT: {codes['NCOLL_TIMEOUT']}. " * any(c.has("timeout_ns") for c in family)
                           + "A value below 0 is one of the errors below.")
    if out_returns:
        out += [".Sh RETURN VALUES", *out_returns]
    text = threads(base, str(first.comment.paragraphs), tops["ncoll.h"])
    if base in examples:
        out += [".Sh EXAMPLES"]
        for i, (what, lines) in enumerate(examples[base]):
            out += [".Pp"] * (i > 0) + flow(what) + literal(lines)
    if entries:
        every = []
        if takes_handle:
            every = next(" ".join(p) for p in tops["ncoll.h"].paragraphs if p[0].startswith("Errors of every call."))
            every = parse_errors(every.split("ERRORS: ", 1)[1], calls, set())
        out += [".Sh ERRORS", *error_list(entries, every, codes)]
        if takes_handle:
            out += [".Pp", *flow("ncoll_last_error() tells the rank, the peer, the cause and the remedy.")]
    out += [".Sh THREADS", *flow(text)]
    others = {base_of(n, calls) for n in re.findall(r"\.Fn (ncoll_\w+)", "\n".join(out)) if n in calls} - {base}
    out += [".Sh SEE ALSO", *[f".Xr {n} 3 ," for n in sorted(others)], ".Xr ncoll 7"]
    return "\n".join(out) + "\n"


def regions(paths):
    """Code between `/* [ncoll_x, ncoll_y] Its title: */` and `/* [] */`. Code without a title goes on with the example
    before it."""
    result = {}
    for path in paths:
        text = open(path, encoding="utf-8").read()
        found = re.findall(r"^ */\* \[([\w, ]+)\](?: ((?:(?!\*/).)+?))? \*/\n(.*?)^ */\* \[\] \*/", text, re.S | re.M)
        if len(found) != text.count("/* [] */"):
            sys.exit(f"{path}: {len(found)} examples begin, {text.count('/* [] */')} end")
        for names, what, code in found:
            for name in names.split(", "):
                if what:
                    result.setdefault(name, []).append((" ".join(what.replace("*", " ").split()), []))
                result[name][-1][1].extend(code.splitlines())
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True)
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()

    calls, tops, codes = {}, {}, {}
    for path in [f for f in options.files if f.endswith(".h")]:
        found, top, texts = read(path)
        calls.update((c.name, c) for c in found)
        tops[os.path.basename(path)] = top
        codes.update(texts)
    for call in calls.values():
        if call.comment is None or not call.comment.paragraphs:
            sys.exit(f"{call.header}: {call.name} has no comment right before it")
    examples = regions(f for f in options.files if f.endswith(".c"))
    for name in examples:
        if base_of(name, calls) != name or name not in calls:
            sys.exit(f"an example is for {name}, which has no page of its own")

    os.makedirs(options.output, exist_ok=True)
    for old in os.listdir(options.output):
        os.remove(os.path.join(options.output, old))
    for name in calls:
        base = base_of(name, calls)
        text = page(name, calls, tops, codes, examples) if base == name else f".so man3/{base}.3\n"
        with open(os.path.join(options.output, name + ".3"), "w", encoding="utf-8") as file:
            file.write(text)


main()
