"""Messages (section 3 of server/PROTOCOL.md): proto3, by hand."""
import struct


class Fixed(int):
    """A fixed32."""


MESSAGES = {
    "Request": {1: ("hello", "Hello"), 2: ("get_model", "GetModel"),
                3: ("update_begin", "UpdateBegin"), 4: ("update_chunk", "UpdateChunk"),
                5: ("get_description", "GetDescription"), 6: ("get_release", "GetRelease")},
    "Hello": {1: ("version", int), 2: ("device", bytes), 3: ("model_digest", bytes),
              4: ("max_frame", int), 5: ("receipt", bytes), 7: ("features", int),
              8: ("hold_ms", int), 9: ("differs", bytes), 10: ("held", bytes)},
    "GetModel": {1: ("offset", int), 2: ("code", Fixed)},
    "GetRelease": {1: ("held", bytes), 2: ("model_digest", bytes)},
    "GetDescription": {1: ("offset", int)},
    "UpdateBegin": {1: ("job", bytes), 2: ("round", int), 3: ("attempt", int), 4: ("nonce", bytes),
                    5: ("coding", int), 6: ("clip_bit", int)},
    "UpdateChunk": {1: ("offset", int), 2: ("bytes", bytes), 3: ("last", int)},
    "Reply": {1: ("wait", "Wait"), 2: ("train", "Train"), 3: ("done", "Done"),
              4: ("chunk", "Chunk"), 5: ("ack", "Ack"), 6: ("error", "Error"),
              7: ("description_chunk", "DescriptionChunk"), 8: ("release", "Release")},
    "Wait": {1: ("wait_ms", int), 2: ("state", int), 3: ("server_features", int),
             4: ("release", int)},
    "Model": {1: ("check", bytes), 2: ("grid", int), 3: ("base", int), 4: ("weights_key", bytes),
              5: ("size", int), 6: ("code", Fixed)},
    "Release": {1: ("model", "Model"), 2: ("job", bytes), 3: ("rounds", int), 4: ("final", int),
                5: ("claims", bytes)},
    "Train": {1: ("job", bytes), 2: ("round", int), 3: ("attempt", int), 4: ("coding", int),
              5: ("dither", int), 6: ("quantizer_scale", float), 7: ("clip_l2", float),
              8: ("clipping", int), 9: ("learning_rate", float), 10: ("local_epochs", int),
              11: ("batch_size", int), 12: ("weight_decay", float), 13: ("max_frame", int), 14: ("padding", int),
              15: ("clip_bit", int), 17: ("receipt", bytes), 27: ("report_ms", int),
              28: ("length", int), 29: ("model", "Model"), 30: ("server_features", int)},
    "Done": {},
    "Chunk": {1: ("bytes", bytes)},
    "DescriptionChunk": {1: ("bytes", bytes), 2: ("size", int)},
    "Ack": {1: ("offset", int), 2: ("complete", int), 3: ("salt", bytes)},
    "Error": {1: ("code", int), 2: ("final", int), 3: ("retry_after_ms", int),
              4: ("model", bytes)},
}
WIRE_TYPES = {int: 0, bytes: 2, float: 5, Fixed: 5}


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes(data + bytes([value]))


def encode(message, values):
    """The fields of `values` that are not 0; a message within, a dict, also if it is empty."""
    data = b""
    for number, (name, kind) in MESSAGES[message].items():
        value = values.get(name)
        if isinstance(value, dict) and (value or message in ("Request", "Reply")):
            value, kind = encode(kind, value), bytes
        elif not value:
            continue
        data += varint(number << 3 | WIRE_TYPES[kind])
        if kind is int:
            data += varint(value)
        elif kind in (float, Fixed):
            data += struct.pack("<f" if kind is float else "<I", value)
        else:
            data += varint(len(value)) + value
    return data


def read_varint(data, at):
    value = 0
    for i in range(10):
        value |= (data[at + i] & 127) << 7 * i
        if data[at + i] < 128:
            return value, at + i + 1
    raise ValueError("a number is too long")


def raw_fields(data):
    """Yields (number, wire type, value)."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = data[at:at + size], at + size
            if at > len(data):
                raise ValueError("a field is cut off")
        yield key >> 3, wire, value


def decode(message, data):
    """All fields of the message, 0 if left out; of Request and Reply, only the one that is set."""
    fields = MESSAGES[message]
    one_of = message in ("Request", "Reply")
    values = {} if one_of else {name: {} if isinstance(kind, str) else kind()
                                for name, kind in fields.values()}
    for number, wire, value in raw_fields(data):
        if number not in fields:
            continue
        name, kind = fields[number]
        if wire != WIRE_TYPES.get(kind, 2):
            raise ValueError(f"{name} has wire type {wire}")
        if kind is int:
            if value >= 2**32:
                raise ValueError(f"{name} is too large")
        elif kind in (float, Fixed):
            value, = struct.unpack("<f" if kind is float else "<I", value)
        elif isinstance(kind, str):
            values, value = {} if one_of else values, decode(kind, value)
        values[name] = value
    return values


def frame(message, values):
    data = encode(message, values)
    return struct.pack("<H", len(data)) + data
