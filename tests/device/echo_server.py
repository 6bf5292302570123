#!/usr/bin/python3
"""The other end of a board's UART in the check of a port: returns each byte.

echo_server.py PORT_FILE

Listens on a port of 127.0.0.1, which it writes into the file. One board at a time, which may leave with bytes on the way;
ends by a signal.
"""

import pathlib
import socket
import sys

listener = socket.create_server(("127.0.0.1", 0))
pathlib.Path(sys.argv[1]).write_text(f"{listener.getsockname()[1]}\n")
while True:
    board, _ = listener.accept()
    try:
        while data := board.recv(4096):
            board.sendall(data)
    except ConnectionError:
        pass
