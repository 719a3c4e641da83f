"""Statements that Debian's clickhouse-client 18.16 cannot parse, through python3-clickhouse-driver."""
import logging
import types

try:
    import clickhouse_driver
    from clickhouse_driver.errors import Error

    logging.getLogger("clickhouse_driver").setLevel(logging.CRITICAL)  # servers that are killed are no news
except ImportError:
    clickhouse_driver = None


def has_driver():
    return clickhouse_driver is not None


def _text(value):
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    return str(value)


def ask(node, query, check=True, connection=None, **settings):
    """Rows as TSV, as clickhouse-client prints them. Without `check`: its returncode and stderr beside, and no exception.
    `connection`: more words for the driver, such as secure."""
    connection = clickhouse_driver.Client("127.0.0.1", port=node.port, settings=settings, sync_request_timeout=60, **(connection or {}))
    try:
        rows = connection.execute(query)
    except (Error, EOFError, OSError) as error:
        if check:
            raise RuntimeError(f"{node.name}: {query}: {error}") from None
        code = getattr(error, "code", None) or 1
        return types.SimpleNamespace(returncode=code % 256, stdout=b"", stderr=str(error).encode())
    finally:
        connection.disconnect()
    text = "".join("\t".join(_text(value) for value in row) + "\n" for row in rows) if isinstance(rows, list) else ""
    return text if check else types.SimpleNamespace(returncode=0, stdout=text.encode(), stderr=b"")
