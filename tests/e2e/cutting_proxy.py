#!/usr/bin/python3
"""cutting_proxy.py SERVER_PORT RECORD PORT_FILE CUT_FILE

A TCP proxy on this machine that loses its link once: the RECORD-th TLS record of 500 bytes or more
that a client sends is cut in its middle, in both directions. Before and after it only forwards. It
writes the port that it listens on to PORT_FILE, and creates CUT_FILE when it cuts.
"""

import pathlib
import socket
import sys
import threading

LARGE = 500
HEADER = 5  # type, version, length


class Cutter:
    def __init__(self, record, cut_file):
        self.left = record
        self.cut_file = cut_file

    def forward(self, client, server):
        """Record by record, so that one can be cut."""
        while True:
            header = client.recv(HEADER, socket.MSG_WAITALL)
            if len(header) < HEADER:
                return
            size = int.from_bytes(header[3:], "big")
            self.left -= size >= LARGE
            if size >= LARGE and self.left == 0:
                server.sendall(header + client.recv(size // 2, socket.MSG_WAITALL))
                self.cut_file.touch()
                return
            server.sendall(header + client.recv(size, socket.MSG_WAITALL))


def forward_bytes(server, client):
    while data := server.recv(4096):
        client.sendall(data)


def run(source, target, forward):
    try:
        forward(source, target)
    except OSError:
        pass  # the other direction has ended
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    server_port, record, port_file, cut_file = sys.argv[1:]
    cutter = Cutter(int(record), pathlib.Path(cut_file))
    listener = socket.create_server(("127.0.0.1", 0))
    pathlib.Path(port_file).write_text(f"{listener.getsockname()[1]}\n")
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", int(server_port)))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for job in ((client, server, cutter.forward), (server, client, forward_bytes)):
            threading.Thread(target=run, args=job, daemon=True).start()


main()
