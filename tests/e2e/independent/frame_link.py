"""The device's side of a link of small frames, as section 9 of server/PROTOCOL.md says, on a UART over TCP.

    frame_link.py GATEWAY_PORT PORT_FILE LOSS

A program for one device without frames: it listens on a port, which it writes to PORT_FILE, takes one
connection at a time, and moves its bytes over a frame link to the gateway, in frames of 20 bytes. It loses
the share LOSS of the frames that it sends and gets.
"""
import os
import pathlib
import random
import select
import socket
import struct
import sys
import time

MAX_FRAME, WINDOW = 20, 16
DATA, ASK, ANSWER, CONTROL = range(4)
OPEN, ACCEPT, CLOSE, GONE = range(4)
FROM_ACCEPTOR = 1 << 29


def crc16(data):
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def stuff(frame):
    data = frame + struct.pack("<H", crc16(frame))
    return b"".join(bytes([len(part) + 1]) + part for part in data.split(b"\0")) + b"\0"


def unstuff(data):
    """The frame, or None."""
    parts, at = [], 0
    while at < len(data):
        parts.append(data[at + 1:at + data[at]])
        at += data[at]
    frame = b"\0".join(parts)
    if at != len(data) or len(frame) < 3 or struct.pack("<H", crc16(frame[:-2])) != frame[-2:]:
        return None
    return frame[:-2]


def head(kind, connection, number, turn):
    return struct.pack("<I", number | turn << 12 | connection << 16 | kind << 30)


class FrameLink:
    def __init__(self, wire, loss):
        self.wire, self.loss, self.buffer = wire, loss, b""
        self.nonce, self.connection, self.is_over = os.urandom(4), 0, False
        self.base, self.sent, self.room, self.segments = 0, 0, 0, []  # segments[0] is number base
        self.acknowledged, self.turn, self.deadline, self.pause = set(), 0, None, 0.05
        self.next, self.arrived, self.received = 0, {}, b""
        self.repeated = 0

    def put(self, frame):
        if random.random() >= self.loss:
            self.wire.sendall(stuff(frame))

    def work(self):
        """Sends what is due."""
        now = time.monotonic()
        if self.is_over or (self.deadline is not None and now < self.deadline):
            return
        is_late, self.deadline = self.deadline is not None, None
        if self.connection == 0:
            opening = struct.pack("<BBB", 1, MAX_FRAME, WINDOW) + self.nonce
            self.turn = (self.turn + 1) % 16
            self.put(head(CONTROL, 0, OPEN, self.turn) + opening)
            self.deadline = now + self.pause
            return
        missing = [n for n in range(self.sent) if n not in self.acknowledged]
        due = missing[-1:] if is_late and missing else missing + list(
            range(self.sent, min(len(self.segments), self.room)))
        if not due:
            return
        self.turn = (self.turn + 1) % 16
        for n in due:
            kind = ASK if n == due[-1] else DATA
            self.repeated += n < self.sent
            self.put(head(kind, self.connection, (self.base + n) % 4096, self.turn) + self.segments[n])
        self.sent = max(self.sent, due[-1] + 1)
        self.deadline = now + self.pause

    def on_frame(self, frame):
        word, = struct.unpack("<I", frame[:4])
        number, turn, connection, kind = word & 4095, word >> 12 & 15, word >> 16 & 8191, word >> 30
        body = frame[4:]
        if not word & FROM_ACCEPTOR:
            return
        if kind == CONTROL:
            self.on_control(number, connection, body)
        elif connection != self.connection:
            if kind != ANSWER:
                self.put(head(CONTROL, connection, GONE, 0))
        elif kind == ANSWER:
            self.on_answer(number, turn, body)
        else:
            self.on_segment(number, kind, turn, body)

    def on_control(self, control, connection, body):
        if control == ACCEPT and self.connection == 0 and body[3:7] == self.nonce:
            assert body[0] == 1 and 20 <= body[1] <= 250
            self.connection, self.room, self.deadline = connection, body[2], None
        elif control in (CLOSE, GONE) and connection == self.connection:
            self.is_over = True
        if control == CLOSE:
            self.put(head(CONTROL, connection, GONE, 0))

    def on_answer(self, number, turn, body):
        ahead = (number - self.base) % 4096
        if ahead > self.sent:
            return
        bits = int.from_bytes(body[1:], "little")
        known = {n - ahead for n in self.acknowledged if n >= ahead}
        self.acknowledged = known | {i + 1 for i in range(32) if bits >> i & 1}
        del self.segments[:ahead]
        self.base, self.sent, self.room = number, self.sent - ahead, body[0]
        if turn == self.turn:
            self.deadline = None

    def on_segment(self, number, kind, turn, body):
        ahead = (number - self.next) % 4096
        if body and ahead < WINDOW:
            self.arrived.setdefault(number, body)
        while self.next in self.arrived:
            self.received += self.arrived.pop(self.next)
            self.next = (self.next + 1) % 4096
        if kind == ASK:
            bits = sum(1 << ((n - self.next) % 4096 - 1) for n in self.arrived)
            seen = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
            self.put(head(ANSWER, self.connection, self.next, turn) + bytes([WINDOW]) + seen)

    def on_bytes(self, data):
        *whole, self.buffer = (self.buffer + data).split(b"\0")
        for stuffed in whole:
            frame = unstuff(stuffed)
            if frame is not None and random.random() >= self.loss:
                self.on_frame(frame)

    def send(self, data):
        for at in range(0, len(data), MAX_FRAME - 4):
            self.segments.append(data[at:at + MAX_FRAME - 4])


def serve(device, wire, loss):
    link = FrameLink(wire, loss)
    while not link.is_over:
        link.work()
        readable, _, _ = select.select([wire] + ([device] if len(link.segments) < 32 else []), [], [], 0.02)
        if device in readable:
            data = device.recv(512)
            if not data:
                break
            link.send(data)
        if wire in readable:
            link.on_bytes(wire.recv(4096))
        device.sendall(link.received)
        link.received = b""
    print(f"{link.repeated} segments sent again", flush=True)


def main():
    gateway_port, port_file, loss = int(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3])
    random.seed(1)
    listener = socket.create_server(("127.0.0.1", 0))
    port_file.write_text(f"{listener.getsockname()[1]}\n")
    wire = socket.create_connection(("127.0.0.1", gateway_port))
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        device, _ = listener.accept()
        with device:
            serve(device, wire, loss)


if __name__ == "__main__":
    main()
