#!/usr/bin/env python3
"""manual.py PROGRAMS OUT

Manual pages and completions (bash, zsh, fish) of the programs in the folder PROGRAMS, from their --help, below
OUT/PACKAGE/usr/share. Each command of a program has its page: sotto-keys-new(1).
"""

import json
import pathlib
import re
import subprocess
import sys

PACKAGES = {"sotto": ["sotto"], "sotto-lab": ["sotto-lab", "sotto-shard"], "sotto-client": ["sotto-client", "sotto-gateway"]}
COLUMN = 30  # of what an option does


def output(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def commands_of(program):
    """The words of each command: [] is the program itself."""
    found = [[]]

    def walk(command, words):
        for inner in command.get("commands", []):
            if inner.get("hidden"):
                continue
            found.append([*words, inner["name"]])
            walk(inner, found[-1])

    walk(json.loads(output(program, "options") or "{}"), [])
    return found


def entry_of(line):
    """An option or a command, and the beginning of its text: behind COLUMN, or on the next line."""
    begins = len(line) > COLUMN and line[COLUMN - 1] == " " and line[COLUMN] != " "
    if begins and not (re.search(r"(Excludes|Needs):", line[:COLUMN]) and line[COLUMN:].startswith("--")):
        return line[:COLUMN].strip(), line[COLUMN:]
    return line.strip(), ""


class Help:
    """What `PROGRAM COMMAND --help` says: its summary, how to call it, and groups of entries [head, text]."""

    def __init__(self, program, words):
        summary, usage = [], []
        self.groups = []
        for line in output(program, *words, "--help").splitlines():
            heading = re.fullmatch(r"([A-Z][^.]*):", line)
            if line.startswith("Usage: "):
                usage.append(line.removeprefix("Usage: "))
            elif heading:
                self.groups.append((heading[1], []))
            elif not self.groups:
                (usage if usage else summary).append(line.strip())
            elif line.startswith(" " * COLUMN) and self.groups[-1][1]:
                self.groups[-1][1][-1][1] += " " + line.strip()
            elif line.strip():
                self.groups[-1][1].append(list(entry_of(line)))
        self.summary = " ".join(filter(None, summary)).rstrip(".")
        self.usage = " ".join(filter(None, usage))
        assert self.summary and self.usage and self.groups, f"{program} {words}: its help is not understood"

    def options(self):
        """[names, text] of each option: `-h` and `--help`, without their dashes' values."""
        for _, entries in self.groups:
            for head, text in entries:
                names = [name for name in re.split(r"[ ,=:]", head)[:2] if re.fullmatch(r"--?[a-z][a-z0-9-]*", name)]
                if names:
                    yield names, text.strip()


def roff(text):
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + escaped if escaped[:1] in (".", "'") else escaped


def page(program, words, text, version):
    name = "-".join([program, *words])
    lines = [f'.TH "{name.upper()}" 1 "" "Sotto {version}" "Sotto"', ".SH NAME", f"{roff(name)} \\- {roff(text.summary)}"]
    lines += [".SH SYNOPSIS", ".B " + roff(text.usage)]
    for title, entries in text.groups:
        lines.append(f'.SH "{roff(title.upper())}"')
        for head, what in entries:
            lines += [".TP", ".B " + roff(head), roff(what.strip())]
    lines += [".SH SEE ALSO", "The pages in /usr/share/doc/sotto\\-doc, of the package", ".BR sotto\\-doc ."]
    return "\n".join(lines) + "\n"


def words_after(pages, words):
    """What may stand behind these words of a command: inner commands, and options."""
    inner = [w[len(words)] for w in pages if len(w) == len(words) + 1 and w[: len(words)] == words]
    return inner + [name for names, _ in pages[words].options() for name in names if name.startswith("--")]


def bash(program, pages):
    function = "_" + program.replace("-", "_")
    cases = "\n".join(f"    '{' '.join(w)}') words='{' '.join(words_after(pages, w))}' ;;" for w in pages)
    commands = " ".join(f"'{' '.join(w)}'" for w in pages if w)
    return f"""# Completion of {program} for bash.
{function}() {{
  local words known=({commands}) word command='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    for word in "${{known[@]}}"; do
      [[ "${{word}}" != "${{command:+${{command}} }}${{COMP_WORDS[i]}}" ]] || {{
        command="${{word}}"
        break
      }}
    done
  done
  case "${{command}}" in
{cases}
  esac
  mapfile -t COMPREPLY < <(compgen -W "${{words}}" -- "${{COMP_WORDS[COMP_CWORD]}}")
  [[ ${{#COMPREPLY[@]}} != 0 ]] || compopt -o default
}}
complete -F {function} {program}
"""


def zsh(program, pages):
    return f"#compdef {program}\nautoload -U +X bashcompinit && bashcompinit\n" + bash(program, pages).replace(
        'mapfile -t COMPREPLY < <(compgen -W "${words}" -- "${COMP_WORDS[COMP_CWORD]}")',
        'COMPREPLY=($(compgen -W "${words}" -- "${COMP_WORDS[COMP_CWORD]}"))',
    ).replace("[[ ${#COMPREPLY[@]} != 0 ]] || compopt -o default", "return 0")


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program, pages):
    lines = [f"# Completion of {program} for fish."]
    for words, text in pages.items():
        inner = [w for w in pages if len(w) == len(words) + 1 and w[: len(words)] == words]
        seen = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in words) or "true"
        if inner:
            names = " ".join(w[-1] for w in inner)
            seen += f" ; and not __fish_seen_subcommand_from {names}"
            for w in inner:
                lines.append(f"complete -c {program} -n {quoted(seen)} -f -a {w[-1]} -d {quoted(pages[w].summary)}")
        for names, what in text.options():
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in names)
            lines.append(f"complete -c {program} -n {quoted(seen)} {flags} -d {quoted(what.split(';')[0])}")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    programs, out = map(pathlib.Path, sys.argv[1:])
    for package, names in PACKAGES.items():
        share = out / package / "usr/share"
        for program in names:
            path = str((programs / program).resolve())
            version = output(path, "--version").strip()
            pages = {tuple(words): Help(path, words) for words in commands_of(path)}
            files = {f"man/man1/{'-'.join([program, *w])}.1": page(program, w, text, version) for w, text in pages.items()}
            files[f"bash-completion/completions/{program}"] = bash(program, pages)
            files[f"zsh/vendor-completions/_{program}"] = zsh(program, pages)
            files[f"fish/vendor_completions.d/{program}.fish"] = fish(program, pages)
            for name, text in files.items():
                (share / name).parent.mkdir(parents=True, exist_ok=True)
                (share / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
