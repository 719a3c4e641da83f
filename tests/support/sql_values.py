"""Values of the Python driver as ClickHouse writes them, and literals of SQL as the driver takes them."""
import ast
import datetime
import decimal
import re

WRAPPERS = ("Nullable", "LowCardinality")
CONTROL = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"}
LITERAL = re.compile(r"""'(?:[^'\\]|\\.|'')*'|\b(?:NULL|true|false)\b|[-+]?\b(?:inf|nan)\b|\s+|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[\[\](){},:]""",
                     re.I | re.S)


def parts_of(text):
    """The parts between commas that stand in no parentheses or quotes."""
    parts, depth, start, quote = [], 0, 0, False
    for at, letter in enumerate(text):
        if letter == "'" and text[at - 1:at] != "\\":
            quote = not quote
        if quote:
            continue
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def type_of(text):
    """("Array", ["UInt8"]) of "Array(UInt8)"; names of a tuple's elements are dropped."""
    name, bracket, inner = text.strip().partition("(")
    arguments = parts_of(inner[:-1]) if bracket else []
    if name == "Tuple":
        arguments = [re.sub(r"^[`\w]+ (?=[A-Z])", "", one) for one in arguments]
    return name, arguments


def shown(kind, value, inside=False):
    """`value`, of type `kind`, as text; `inside` an array, tuple or map strings are quoted."""
    name, inner = type_of(kind)
    if name in WRAPPERS:
        return shown(inner[0], value, inside)
    if name == "SimpleAggregateFunction":
        return shown(inner[1], value, inside)
    if value is None:
        return "NULL" if inside else "\\N"
    if name == "Array":
        return "[" + ",".join(shown(inner[0], one, True) for one in value) + "]"
    if name == "Tuple":
        return "(" + ",".join(shown(one, part, True) for one, part in zip(inner, value)) + ")"
    if name == "Map":
        return "{" + ",".join(f"{shown(inner[0], k, True)}:{shown(inner[1], v, True)}" for k, v in value.items()) + "}"
    text, is_bare = scalar(name, inner, value)
    return text if is_bare or not inside else "'" + "".join(CONTROL.get(one, one) for one in text) + "'"


def scalar(name, inner, value):
    """(text, whether it stands without quotes inside an array)."""
    if name == "Bool":
        return ("true" if value else "false"), True
    if name.startswith("Float"):
        return repr(float(value)), True
    if name.startswith("Decimal"):
        text = format(value, "f")
        return (text.rstrip("0").rstrip(".") if "." in text else text), True
    if re.match("U?Int", name):
        return str(value), True
    if name == "DateTime64":
        digits = int(inner[0])
        fraction = f".{value.microsecond:06d}000"[:digits + 1] if digits else ""
        return value.strftime("%Y-%m-%d %H:%M:%S") + fraction, False
    if name == "DateTime":
        return value.strftime("%Y-%m-%d %H:%M:%S"), False
    if name == "IPv6" and getattr(value, "ipv4_mapped", None):
        return f"::ffff:{value.ipv4_mapped}", False
    if isinstance(value, bytes):
        value = value.decode(errors="surrogateescape")
    return (value.rstrip("\0") if name == "FixedString" else str(value)), False


def same(kind, got, want):
    """Equal texts; floats may differ by 1e-9 of their size, zeros that fill a FixedString do not count."""
    if got == want:
        return True
    if "FixedString" in kind:
        return got == want.rstrip("\0")
    if not re.search("Float|Map|Tuple|Array", kind):
        return False
    number = r"(-?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)(?![\w.]))"
    left, right = re.split(number, got), re.split(number, want)
    if len(left) != len(right) or left[::2] != right[::2]:
        return False
    pairs = [(float(a), float(b)) for a, b in zip(left[1::2], right[1::2])]
    return all(a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(abs(a), abs(b)) for a, b in pairs)


class NotLiteral(Exception):
    """VALUES holds more than literals: only a server can tell what it is."""


def literal_rows(text):
    """The rows of a VALUES list as Python values; decimal fractions as text, so that none of their digits is lost."""
    tokens, at = [], 0
    text = text.strip().rstrip(",")
    while at < len(text):
        found = LITERAL.match(text, at)
        if not found:
            raise NotLiteral(text[at:at + 20])
        at = found.end()
        tokens.append(as_python(found[0]))
    try:
        rows = ast.literal_eval("[" + "".join(tokens) + "]")
    except (SyntaxError, ValueError) as error:
        raise NotLiteral(str(error)) from None
    if not all(isinstance(row, (tuple, int, str)) for row in rows):
        raise NotLiteral("a row is no tuple")
    return [list(row) if isinstance(row, tuple) else [row] for row in rows]


def as_python(token):
    if token[0] == "'":
        plain = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}
        body = re.sub(r"\\(.)|''", lambda found: plain.get(found[1], found[1]) if found[1] else "'", token[1:-1], flags=re.S)
        return repr(body)
    if token.upper() == "NULL":
        return "None"
    if token.lower() in ("true", "false"):
        return token.capitalize()
    if re.fullmatch(r"[-+]?\d+", token) or not re.search(r"\w", token):
        return token.lstrip("+") if token != "+" else token
    return repr(token)


def for_driver(kind, value):
    """A literal as the driver wants it for a column of type `kind`."""
    name, inner = type_of(kind)
    if name in WRAPPERS:
        return for_driver(inner[0], value)
    if value is None:
        return None
    if name == "Array":
        return [for_driver(inner[0], one) for one in value]
    if name == "Tuple":
        return tuple(for_driver(one, part) for one, part in zip(inner, value))
    if name == "Map":
        return {for_driver(inner[0], k): for_driver(inner[1], v) for k, v in value.items()}
    if re.match("U?Int", name):
        return int(value)
    if name.startswith("Float"):
        return float(value)
    if name.startswith("Decimal"):
        return decimal.Decimal(str(value))
    if name in ("Date", "Date32"):
        return datetime.date.fromisoformat(value)
    if name in ("DateTime", "DateTime64") and not isinstance(value, int):
        return datetime.datetime.fromisoformat(value).replace(tzinfo=datetime.timezone.utc)
    return bool(value) if name == "Bool" else value
