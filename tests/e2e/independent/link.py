"""Frames over TLS with a pre-shared key (sections 1 and 2 of server/PROTOCOL.md)."""
import ctypes
import socket
import struct

from independent import messages

MAX_FRAME = 1024  # the largest message that this device takes


class LinkLost(OSError):
    """The connection is gone, or what came is not understood: connect again."""


class ServerError(Exception):
    """The server answered with Error."""

    def __init__(self, fields):
        super().__init__(f"error {fields['code']}")
        self.fields = fields


SUITES = (b"ECDHE-PSK-CHACHA20-POLY1305:PSK-CHACHA20-POLY1305:"
          b"PSK-AES128-GCM-SHA256:PSK-AES128-CCM")
PSK_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                                ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint)
SET_MIN_VERSION, SET_MAX_VERSION, TLS_1_2 = 123, 124, 0x0303  # macros in OpenSSL's headers


def load_openssl():
    """Python 3.11's own ssl module has no pre-shared keys."""
    library = ctypes.CDLL("libssl.so.3")
    for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


class Link:
    """One connection. Raises LinkLost when it is cut or not understood."""

    def __init__(self, address, device, psk):
        self.openssl = load_openssl()
        self.ssl = self.context = None
        self.socket = socket.create_connection(address, timeout=30)
        # Blocking, for OpenSSL; the kernel keeps the time limit.
        self.socket.setblocking(True)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 30, 0))
        try:
            self.handshake(device, psk)
        except BaseException:
            self.close()
            raise

    def handshake(self, device, psk):
        def give_key(_ssl, _hint, identity, identity_size, key, key_size):
            if identity_size <= len(device) or key_size < len(psk):
                return 0
            ctypes.memmove(identity, device + b"\0", len(device) + 1)
            ctypes.memmove(key, psk, len(psk))
            return len(psk)

        library, pointer = self.openssl, ctypes.c_void_p
        self.give_key = PSK_CALLBACK(give_key)  # must live as long as the context
        self.context = pointer(library.SSL_CTX_new(pointer(library.TLS_client_method())))
        for command in (SET_MIN_VERSION, SET_MAX_VERSION):
            library.SSL_CTX_ctrl(self.context, command, ctypes.c_long(TLS_1_2), None)
        library.SSL_CTX_set_cipher_list(self.context, SUITES)
        library.SSL_CTX_set_psk_client_callback(self.context, self.give_key)
        self.ssl = pointer(library.SSL_new(self.context))
        library.SSL_set_fd(self.ssl, self.socket.fileno())
        if library.SSL_connect(self.ssl) != 1:
            raise LinkLost("the handshake failed")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.ssl:
            self.openssl.SSL_shutdown(self.ssl)
            self.openssl.SSL_free(self.ssl)
        if self.context:
            self.openssl.SSL_CTX_free(self.context)
        self.ssl = self.context = None
        self.socket.close()

    def send(self, data):
        if self.openssl.SSL_write(self.ssl, data, len(data)) != len(data):
            raise LinkLost("the connection was cut while sending")

    def receive(self, size):
        data = b""
        while len(data) < size:
            buffer = ctypes.create_string_buffer(size - len(data))
            count = self.openssl.SSL_read(self.ssl, buffer, len(buffer))
            if count <= 0:
                raise LinkLost("the connection was cut while receiving")
            data += buffer.raw[:count]
        return data

    def receive_reply(self):
        size, = struct.unpack("<H", self.receive(2))
        if not 1 <= size <= MAX_FRAME:
            raise LinkLost(f"a reply of {size} bytes")
        try:
            (name, values), = messages.decode("Reply", self.receive(size)).items()
        except (ValueError, IndexError, KeyError, struct.error) as error:
            raise LinkLost(f"a malformed reply: {error}") from error
        return name, values

    def ask(self, request, values, *expected):
        """The reply's name and values; Error is raised as ServerError."""
        self.send(messages.frame("Request", {request: values}))
        name, reply = self.receive_reply()
        if name == "error":
            raise ServerError(reply)
        if name not in expected:
            raise LinkLost(f"{name} is no answer to {request}")
        return name, reply
