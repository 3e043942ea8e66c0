#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""site --top SOURCES --man3 FOLDER --output FOLDER [--explain NCOLL-EXPLAIN]: the documents as HTML, to be read offline.

Every document in Markdown becomes a page at its own place, every manual page one in man/, and every source that a
document names, or that is an example, one with its text. Names of calls, tools and variables are links to their manual
pages. cmark-gfm and mandoc do the writing."""
import argparse
import glob
import html
import os
import posixpath
import re
import shutil
import subprocess
import sys

DOCUMENTS = ["README.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/guide/*.md", "examples/README.md",
             "interop/python/README.md", "test/cluster/README.md"]
EXAMPLES = ["examples/run", "examples/*/*.c", "examples/*/*.h", "examples/*/Makefile", "examples/*/CMakeLists.txt"]
NAVIGATION = [
    ("Guide", "docs/guide/index.html"), ("Manual pages", "man/index.html"), ("Examples", "examples/index.html"),
    ("Pictures", "pictures/index.html"), ("Fabrics", "docs/fabrics.html"), ("Performance", "docs/performance.html"),
    ("Scale", "docs/scale.html"), ("Glossary", "docs/GLOSSARY.html"), ("Architecture", "docs/ARCHITECTURE.html"),
    ("Contributing", "docs/CONTRIBUTING.html"), ("Changes", "CHANGELOG.html")]
# Pictures that ncoll-explain draws for the site: (name, its arguments).
DRAWN = [
    ("dissemination", "draw -a dissemination -P 9 -n 2"),
    ("tree", "draw -a tree -P 9 -n 2"),
    ("ring", "draw -a ring -P 6 --collective allgather"),
    ("adapted-data", "draw --data -a adapted -P 8 -n 2"),
    ("bruck", "draw -a bruck -P 6 -n 1 --collective alltoall"),
    ("hierarchical", "draw -a hierarchical --nodes 4,4 -n 1"),
]
SECTIONS = {"1": "Programs", "3": "Calls", "5": "Files", "7": "Variables, and how jobs start"}


def run(command, text=None):
    said = subprocess.run(command, input=text, capture_output=True, text=True)
    if said.returncode:
        sys.exit(f"site: {' '.join(command)}: {said.stderr}")
    return said.stdout


def slug(text, taken):
    """The name of a heading, as GitHub makes it; and of a further one with the same words."""
    name = re.sub(r"[^\w\- ]", "", html.unescape(re.sub(r"<[^>]*>", "", text)).strip().lower()).replace(" ", "-")
    unique, n = name, 0
    while unique in taken:
        n += 1
        unique = f"{name}-{n}"
    taken.add(unique)
    return unique


class Site:
    def __init__(self, options):
        self.top, self.output, self.explain = options.top, options.output, options.explain
        self.style = options.style
        self.version = options.version
        self.manuals, self.summaries, self.variables = {}, {}, set()  # name -> page in man/, and what it is about
        self.sources = set()  # files whose text is needed
        self.pictures = []
        self.find_manuals(options.man3)

    # ------------------------------------------------------------ what there is

    def find_manuals(self, man3):
        self.pages = sorted(glob.glob(self.top + "/docs/man/*.[1-9]") + glob.glob(man3 + "/*.3"))
        for path in self.pages:
            text, name = open(path, encoding="utf-8").read(), os.path.basename(path)
            alias = re.fullmatch(r"\.so man3/(\S+)\n", text)
            self.manuals[name.rsplit(".", 1)[0]] = (alias.group(1) if alias else name) + ".html"
            if not alias:
                self.summaries[name] = " ".join(re.findall(r"^\.Nd (.*)", text, re.M))
        reference = open(self.top + "/docs/man/ncoll.7", encoding="utf-8").read()
        self.variables = set(re.findall(r"^\.It Ev (NCOLL_\w+)", reference, re.M))

    def page_of(self, path):
        """Where a file of the tree is on the site; None: it is not there."""
        if os.path.isdir(os.path.join(self.top, path)):
            path = posixpath.join(path, "README.md")
        if not os.path.isfile(os.path.join(self.top, path)):
            return None
        folder, name = posixpath.split(path)
        if name == "README.md":
            return posixpath.join(folder, "index.html")
        if name.endswith(".md"):
            return path[:-3] + ".html"
        if folder == "docs/man":
            return "man/" + name + ".html"
        if name.endswith((".svg", ".png")):
            return path
        self.sources.add(path)
        return path + ".html"

    # ------------------------------------------------------------ writing

    def write(self, page, title, body, current=None):
        def relative(target):
            return posixpath.relpath(target, posixpath.dirname(page) or ".")
        links = [f'<a class="name" href="{relative("index.html")}">ncoll</a>']
        for name, target in NAVIGATION:
            here = ' class="here"' if target == (current or page) else ""
            links.append(f'<a href="{relative(target)}"{here}>{name}</a>')
        path = os.path.join(self.output, page)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="{relative("style.css")}">
</head>
<body>
<header><nav>{" ".join(links)}</nav></header>
<main>
{body}
</main>
<footer>ncoll {self.version}</footer>
</body>
</html>
""")

    def link(self, word, page):
        """The address of the manual page of a call, tool or variable, from a page; None: it has none."""
        name = re.sub(r"\(\)$", "", word)
        target = "man/" + self.manuals[name] if name in self.manuals else None
        if name in self.variables:
            target = "man/ncoll.7.html#" + name
        if target is None or target == page:
            return None
        return posixpath.relpath(target, posixpath.dirname(page) or ".")

    def linked(self, body, page):
        """HTML with links for the names in code, but for those that are links already."""
        def code(found):
            address = self.link(html.unescape(found.group(1)), page)
            return f'<a href="{address}">{found.group()}</a>' if address else found.group()

        def listing(found):
            return found.group(1) + re.sub(r"\bncoll_\w+(?=\()", name, found.group(2)) + found.group(3)

        def name(found):
            address = self.link(found.group(), page)
            return f'<a href="{address}">{found.group()}</a>' if address else found.group()

        parts = re.split(r"(<a .*?</a>|<pre.*?</pre>)", body, flags=re.S)
        for i, part in enumerate(parts):
            if part.startswith("<pre"):
                parts[i] = re.sub(r"(<pre[^>]*>)(.*)(</pre>)", listing, part, flags=re.S)
            elif not part.startswith("<a "):
                parts[i] = re.sub(r'<code(?: class="(?:Fn|Ev|Ic|Nm)")?>([\w()-]+)</code>', code, part)
        return "".join(parts)

    def document(self, path):
        """A page of a document in Markdown."""
        page, taken, contents = self.page_of(path), set(), []
        body = run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", os.path.join(self.top, path)])
        body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.S)

        def heading(found):
            level, text = found.groups()
            anchor = slug(text, taken)
            if level == "2":
                contents.append(f'<li><a href="#{anchor}">{re.sub("</?a[^>]*>", "", text)}</a></li>')
            return f'<h{level} id="{anchor}">{text}</h{level}>'

        def address(found):
            attribute, target = found.groups()
            if re.match(r"[a-z]+:|#", target):
                return found.group()
            file, mark, anchor = html.unescape(target).partition("#")
            there = self.page_of(posixpath.normpath(posixpath.join(posixpath.dirname(path), file)))
            if there is None:
                sys.exit(f"site: {path}: there is no {target}")
            return f'{attribute}="{posixpath.relpath(there, posixpath.dirname(page) or ".")}{mark}{anchor}"'

        body = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, body, flags=re.S)
        body = re.sub(r'\b(href|src)="([^"]*)"', address, body)
        body = re.sub(r' align="(\w+)"', r' style="text-align: \1"', body)  # cells of tables
        if path == "examples/README.md":
            body += self.example_files()
        if len(contents) > 3:
            end = body.index("</h1>") + len("</h1>")
            body = body[:end] + '\n<nav class="toc"><ul>' + "".join(contents) + "</ul></nav>" + body[end:]
        title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
        current = "docs/guide/index.html" if path.startswith("docs/guide/") else None
        self.write(page, html.unescape(re.sub("<[^>]*>", "", title.group(1))), self.linked(body, page), current)

    def example_files(self):
        """A list of all sources of the examples, for the end of their page."""
        files = sorted(p for pattern in EXAMPLES for p in glob.glob(os.path.join(self.top, pattern)))
        self.sources |= {os.path.relpath(p, self.top) for p in files}
        items = "".join(f'<li><a href="{name}.html">{name}</a></li>\n'
                        for name in (os.path.relpath(p, self.top + "/examples") for p in files))
        return f'<h2 id="all-files">All files</h2>\n<ul>\n{items}</ul>\n'

    def manual(self, path):
        name = os.path.basename(path)
        page = f"man/{name}.html"
        body = run(["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", path])

        def reference(found):  # pages that are not ours
            target = self.manuals.get(found.group(2).rsplit(".", 2)[0])
            return f'{found.group(1)}"{target}"' if target else found.group(1).replace("href=", "")

        body = re.sub(r'(<a class="Xr" href=)"([^"#]*)"', reference, body)
        names = {re.sub("[-_]", " ", n): n for n in re.findall(r' id="([^"]*)"', body)}

        def section(found):  # mandoc names a section with a hyphen, and its references without
            return f'href="#{names.get(re.sub("[-_]", " ", found.group(1)), found.group(1))}"'

        body = re.sub(r'href="#([^"]*)"', section, body)
        self.write(page, name.replace(".", "(") + ")", self.linked(body, page), "man/index.html")

    def manual_index(self):
        body = "<h1>Manual pages</h1>\n"
        for section, title in SECTIONS.items():
            names = sorted(n for n in self.summaries if n.endswith("." + section))
            if names:
                body += f"<h2>{title}</h2>\n<table>\n"
            for name in names:
                others = sorted(n for n, p in self.manuals.items() if p == name + ".html" and n + "." + section != name)
                also = "".join(f"<br><code>{n}</code>" for n in others)
                body += (f'<tr><td><a href="{name}.html"><code>{name[:-2]}</code></a>{also}</td>'
                         f"<td>{html.escape(self.summaries[name])}</td></tr>\n")
            body += "</table>\n" * bool(names)
        self.write("man/index.html", "Manual pages", body)

    def source(self, path):
        page = path + ".html"
        text = html.escape(open(os.path.join(self.top, path), encoding="utf-8").read(), quote=False)
        body = self.linked(f"<h1>{path}</h1>\n<pre>{text}</pre>", page)
        self.write(page, path, body, "examples/index.html" if path.startswith("examples/") else None)

    def gallery(self):
        body = "<h1>Pictures</h1>\n<p>Schedules as <code>ncoll-explain</code> draws them, and measured and simulated times."
        body += "</p>\n<h2>Schedules</h2>\n"
        drawn = []
        for name, arguments in DRAWN if self.explain else []:
            file = f"pictures/{name}.svg"
            os.makedirs(os.path.join(self.output, "pictures"), exist_ok=True)
            run([self.explain, *arguments.split(), "-o", os.path.join(self.output, file)])
            drawn.append((file, "<code>ncoll-explain " + arguments + "</code>", name))
        found = sorted(glob.glob(self.top + "/docs/*/*.svg"))
        for path in [os.path.relpath(p, self.top) for p in found]:
            os.makedirs(os.path.join(self.output, os.path.dirname(path)), exist_ok=True)
            shutil.copy(os.path.join(self.top, path), os.path.join(self.output, path))
        groups = [("", drawn)]
        for folder, document in (("docs/performance", "docs/performance.html"), ("docs/scale", "docs/scale.html"),
                                 ("docs/mf-sgd", "docs/mf-sgd.html")):
            files = [os.path.relpath(p, self.top) for p in found if os.path.dirname(p) == os.path.join(self.top, folder)]
            groups.append((f'<h2>{folder[5:]}</h2>\n<p><a href="../{document}">How they were made</a></p>\n',
                           [(f, os.path.basename(f)[:-4].replace("-", " "), f) for f in files]))
        for title, pictures in groups:
            body += title
            for file, caption, what in pictures:
                body += (f'<figure><img src="{posixpath.relpath(file, "pictures")}" alt="{what}">'
                         f"<figcaption>{caption}</figcaption></figure>\n")
        self.write("pictures/index.html", "Pictures", self.linked(body, "pictures/index.html"))

    def make(self):
        shutil.rmtree(self.output, ignore_errors=True)
        os.makedirs(self.output)
        shutil.copy(self.style, os.path.join(self.output, "style.css"))
        for pattern in DOCUMENTS:
            for path in sorted(glob.glob(os.path.join(self.top, pattern))):
                self.document(os.path.relpath(path, self.top))
        for path in self.pages:
            if os.path.basename(path) in self.summaries:
                self.manual(path)
        self.manual_index()
        self.gallery()
        for path in sorted(self.sources):
            self.source(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("top", "man3", "output", "version"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--explain")
    options = parser.parse_args()
    options.style = os.path.join(os.path.dirname(os.path.abspath(__file__)), "style.css")
    options.top = os.path.abspath(options.top)
    Site(options).make()


main()
