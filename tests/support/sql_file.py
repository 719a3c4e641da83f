"""The *.test files of tests/sql: reading them (the format is told in tests/sql/README.md)."""
import dataclasses
import re

RESULT = re.compile(r"--> (?:(?P<ok>ok)|error (?P<code>\d+)|(?P<rows>\d+) rows?(?P<any>, unordered)?(?P<totals>, totals)?(?P<extremes>, extremes)?)")
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "0": "\0"}


@dataclasses.dataclass
class SqlCase:
    number: int
    statements: list
    kind: str = "ok"  # "ok", "error", "rows"
    code: int = 0
    names: list = dataclasses.field(default_factory=list)
    types: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    tail: list = dataclasses.field(default_factory=list)  # totals, then the two rows of extremes
    ordered: bool = True


@dataclasses.dataclass
class SqlFile:
    name: str
    sections: list  # (where, statements)
    cases: list

    @property
    def uses_shards(self):
        return any(where.startswith("shard") for where, _ in self.sections)


def statements(lines):
    """A semicolon at the end of a line ends a statement."""
    return [text.strip() for text in re.split(r";[ \t]*(?:\n|$)", "\n".join(lines)) if text.strip()]


def cells(line):
    return [re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), cell) for cell in line.split("\t")]


def read_sql_file(path):
    lines = iter(path.read_text(encoding="utf-8").split("\n"))
    file = SqlFile(path.stem, [], [])
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        body, last = [], ""
        for last in lines:
            if not last or last.startswith("--> "):
                break
            body.append(last)
        if not line.startswith("== "):
            file.sections.append((line.rstrip(":"), statements(body)))
            continue
        case = SqlCase(int(line.split()[1]), statements(body))
        file.cases.append(case)
        read_result(case, last, lines)
    return file


def read_result(case, line, lines):
    found = RESULT.fullmatch(line)
    if not found:
        raise ValueError(f"case {case.number} has no readable result line: {line!r}")
    if found["code"]:
        case.kind, case.code = "error", int(found["code"])
    elif found["rows"]:
        case.kind, case.ordered = "rows", not found["any"]
        case.names, case.types = cells(next(lines)), cells(next(lines))
        case.rows = [cells(next(lines)) for _ in range(int(found["rows"]))]
        tail = (1 if found["totals"] else 0) + (2 if found["extremes"] else 0)
        case.tail = [cells(next(lines)) for _ in range(tail)]
