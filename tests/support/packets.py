"""A query's whole answer, packets that clients usually hide included. Needs Debian's python3-clickhouse-driver."""
from clickhouse_driver import Client
from clickhouse_driver.protocol import ServerPacketTypes as Kind


class Answer:
    """Rows, totals, extremes, events {(host, name): value}, log lines [(priority, source, text)], rows before the limit."""

    def __init__(self):
        self.columns = []
        self.rows = []
        self.totals = None
        self.extremes = None
        self.events = {}
        self.logs = []
        self.rows_before_limit = None

    def event(self, name):
        """Over all hosts."""
        return sum(value for (_, event), value in self.events.items() if event == name)


def ask(node, query):
    """The Answer; the driver's ServerException when the server says so."""
    client = Client("127.0.0.1", port=node.port)
    connection = client.connection
    answer = Answer()
    try:
        connection.force_connect()
        connection.send_query(query)
        connection.send_external_tables(None)
        while True:
            packet = connection.receive_packet()
            if packet.type == Kind.EXCEPTION:
                raise packet.exception
            if packet.type == Kind.END_OF_STREAM:
                return answer
            take(packet, answer)
    finally:
        client.disconnect()


def take(packet, answer):
    if packet.type == Kind.DATA and packet.block.num_columns:
        answer.columns = [name for name, _ in packet.block.columns_with_types]
        answer.rows += packet.block.get_rows()
    if packet.type == Kind.TOTALS:
        answer.totals = packet.block.get_rows()[0]
    if packet.type == Kind.EXTREMES:
        answer.extremes = packet.block.get_rows()
    if packet.type == Kind.PROFILE_INFO and packet.profile_info.applied_limit:
        answer.rows_before_limit = packet.profile_info.rows_before_limit
    if packet.type == Kind.LOG:
        answer.logs += [(row[5], row[6], row[7]) for row in packet.block.get_rows()]
    if packet.type == Kind.PROFILE_EVENTS:
        for host, _, _, _, name, value in packet.block.get_rows():
            answer.events[host, name] = answer.events.get((host, name), 0) + value
