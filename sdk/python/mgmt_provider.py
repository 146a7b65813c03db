"""Programs that serve kinds of resources to mgmt: providers.

A provider subclasses Resource for each of its types, and calls serve:

    class Note(mgmt_provider.Resource):
        def get(self, call, inputs): ...

    mgmt_provider.serve("notes", "1.0.0", "schema.json", {"notes:index:Note": Note()})

This file needs Python 3.9 and nothing else. An author copies it, or puts its folder into PYTHONPATH.

Laws:

- Each method may be called by several threads at once. mgmt has at most one call for each resource, besides watch.
- Properties are dicts of plain JSON values. A property that is absent has no key. They were checked against the schema.
- create with the same call.key again returns the thing that the first call has made.
- get returns None where there is no such thing. That is no error.
- An exception that is no Error is an error of its call with the code internal. Its stack goes to the log.
- serve ends the program when the standard input ends, so no provider outlives mgmt.
- Standard output and standard error are logs.
"""

import hashlib
import hmac
import json
import os
import queue
import re
import socket
import sys
import threading
import traceback

VERSIONS = (1, 1)  # of the protocol, both inclusive
MAX_MESSAGE = 16 << 20  # bytes of one line
WORKERS = 16  # threads that answer; a watch has a thread of its own


class Error(Exception):
    """An answer that is no result. The codes are those of provider/protocol: invalid, unavailable, conflict, denied, internal.

    id, properties and private tell of a thing that was made or changed in spite of the error, so that mgmt remembers it.
    """

    def __init__(self, code, message, failures=(), id="", properties=None, private=""):
        super().__init__(message)
        self.code, self.failures, self.id, self.properties, self.private = code, failures, id, properties, private

    def message(self):
        out = {"code": self.code, "message": str(self)}
        if self.failures:
            out["failures"] = _failures(self.failures)
        for key in ("id", "properties", "private"):
            if getattr(self, key):
                out[key] = getattr(self, key)
        return out


class Call:
    """What a call is about. create sets id, get may set it, and each method may set private."""

    def __init__(self, params):
        self.token = params.get("token", "")
        self.name = params.get("name", "")  # of the resource in the graph
        self.id = params.get("id", "")  # the provider's own name of the thing; empty where none is known
        self.key = params.get("key", "")  # the idempotency key of its creation; the same for each try
        self.private = params.get("private", "")  # text that mgmt keeps for the provider, and does not show
        self.refresh = params.get("refresh", False)  # in update: another resource has notified this one
        self.pending = params.get("pending") or []  # in check: keys whose values are not known yet
        self.changed = params.get("changed") or []  # in diff: the keys that differ
        self.done = threading.Event()  # set when mgmt needs no answer any more


class Resource:
    """The work on one type. An author overrides create, get, update and delete at least."""

    def check(self, call, inputs):
        """Returns the faults of inputs that fit the schema, as pairs of a path and a message. It may fill in defaults."""
        return []

    def diff(self, call, old, new):
        """Returns {"replaces": [...], "ignore": [...]}: keys of call.changed with another meaning than that of the schema."""
        return {}

    def create(self, call, inputs):
        """Makes the thing, sets call.id, and returns inputs and outputs."""
        raise NotImplementedError

    def get(self, call, inputs):
        """Returns the thing as it is, or None. Without call.id it looks for the thing that was made with call.key, else for the
        thing that the inputs name. It sets call.id."""
        raise NotImplementedError

    def update(self, call, old, new):
        """Changes the thing, and returns inputs and outputs."""
        raise NotImplementedError

    def delete(self, call, properties):
        """Removes the thing. It is no error where there is none."""
        raise NotImplementedError

    def watch(self, call, inputs, running, changed):
        """Calls running once, when no later change goes unseen, and changed whenever the thing may have changed. It returns when
        call.done is set."""
        raise Error("unimplemented", "it cannot be watched")

    def list(self):
        """Yields a name, an id and the properties of each thing of the type."""
        raise Error("unimplemented", "it cannot be listed")


def serve(name, version, schema, resources, configure=None):
    """Answers mgmt until the standard input ends, and ends the program then. It is called once.

    version is that of the program, and that of the schema where it is None. schema is the path of the schema file; resources are a Resource for each token. configure is called once with the settings
    of the descriptor, before any call about a resource.
    """
    provider = _Provider(name, version, schema, resources, configure)
    listen = os.environ.get("MGMT_PLUGIN_LISTEN", "")
    if listen:
        provider.listen(listen)
        return
    try:
        stream = socket.socket(fileno=3)
    except OSError:
        sys.exit("this program is a provider, which mgmt starts: put a descriptor of it into the folder of --plugins, "
                 "or try it with: mgmt plugin test PROGRAM")
    os.set_inheritable(3, False)
    threading.Thread(target=_end_with_input, daemon=True).start()
    provider.serve(stream)
    _end()


def _end_with_input():
    while os.read(0, 4096):
        pass
    _end()


def _end():
    """Ends the program though threads run, which may wait for a server that never answers."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class _Provider:
    """A provider that fits its schema."""

    def __init__(self, name, version, schema, resources, configure):
        with open(schema, "rb") as f:
            text = f.read()
        self.name, self.configure, self.resources = name, configure, resources
        self.text, self.hash = text.decode(), hashlib.sha256(text).hexdigest()
        self.token = os.environ.get("MGMT_PLUGIN_TOKEN", "")
        doc = json.loads(text)
        self.version = version or doc["version"]
        self.types = {t["token"]: t["schema"]["type"] for t in doc["types"]}
        if set(self.types) != set(resources):
            sys.exit("the schema %s has the types %s, and the program serves %s" % (schema, sorted(self.types), sorted(resources)))
        self.methods = {
            "handshake": self._handshake, "configure": self._configure, "check": self._check, "diff": self._diff,
            "get": self._get, "create": self._create, "update": self._update, "delete": self._delete, "list": self._list,
            "watch": self._watch, "batch": self._batch, "schema": lambda p, c, e: {"schema": self.text}, "shutdown": lambda p, c, e: {},
        }

    def listen(self, at):
        """Serves each connection to a socket of its own user, for a debugger."""
        if not at.startswith("unix:"):
            sys.exit("MGMT_PLUGIN_LISTEN is %r, and should be unix:PATH" % at)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        old = os.umask(0o177)
        server.bind(at[len("unix:"):])
        os.umask(old)
        server.listen()
        while True:
            stream, _ = server.accept()
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        """Reads the questions of one connection. Threads answer them."""
        line = _Line(self, stream)
        try:
            line.read()
        finally:
            line.close()

    def answer(self, method, params, call, event):
        """Returns the answer to one question, or raises an Error."""
        do = self.methods.get(method)
        if do is None:
            raise Error("unimplemented", "there is no method %r" % method)
        return do(params, call, event)

    def _handshake(self, params, call, event):
        if not hmac.compare_digest(params.get("token", "").encode(), self.token.encode()):
            raise Error("denied", "the token is not the one of MGMT_PLUGIN_TOKEN")
        wanted = params.get("protocols") or {}
        low, high = wanted.get("min", 0), wanted.get("max", 0)
        version = min(high, VERSIONS[1])
        if version < max(low, VERSIONS[0]):
            raise Error("invalid", "mgmt speaks the protocol versions %d to %d, and the provider %s speaks %d to %d"
                        % (low, high, self.name, VERSIONS[0], VERSIONS[1]))
        return {"protocol": version, "name": self.name, "version": self.version, "schema_hash": self.hash,
                "features": ["batch", "list", "watch"]}

    def _configure(self, params, call, event):
        if self.configure:
            self.configure(params.get("config") or {})
        return {}

    def _of(self, call):
        resource = self.resources.get(call.token)
        if resource is None:
            raise Error("invalid", "there is no type %r here: there are %s" % (call.token, ", ".join(sorted(self.types))))
        return resource

    def _check(self, params, call, event):
        resource, inputs = self._of(call), _props(params)
        failures = [f for f in faults(self.types[call.token], inputs) if f[0] not in call.pending]
        failures = failures or list(resource.check(call, inputs) or [])
        return {"failures": _failures(failures)} if failures else {"properties": inputs}

    def _diff(self, params, call, event):
        return self._of(call).diff(call, _props(params, "old"), _props(params, "new")) or {}

    def _get(self, params, call, event):
        properties = self._of(call).get(call, _props(params))
        if properties is None:
            return {"found": False}
        return {"found": True, "id": call.id, "properties": properties, "private": call.private}

    def _create(self, params, call, event):
        properties = self._of(call).create(call, _props(params))
        return {"id": call.id, "properties": properties, "private": call.private}

    def _update(self, params, call, event):
        properties = self._of(call).update(call, _props(params, "old"), _props(params, "new"))
        return {"properties": properties, "private": call.private}

    def _delete(self, params, call, event):
        self._of(call).delete(call, _props(params))
        return {}

    def _list(self, params, call, event):
        return {"items": [{"name": name, "id": id, "properties": p} for name, id, p in self._of(call).list()]}

    def _watch(self, params, call, event):
        self._of(call).watch(call, _props(params), lambda: event("running"), lambda: event("changed"))
        return {}

    def _batch(self, params, call, event):
        self._of(call)
        return {"outcomes": [_outcome(self, c["method"], c["params"], Call(c["params"]), event) for c in params.get("calls") or []]}


class _Line:
    """One connection."""

    def __init__(self, provider, stream):
        self.provider, self.stream, self.writing = provider, stream, threading.Lock()
        self.calls, self.guard = {}, threading.Lock()
        self.questions = queue.SimpleQueue()
        for _ in range(WORKERS):
            threading.Thread(target=self._work, daemon=True).start()

    def read(self):
        """Reads until the connection ends. A line that is too long, or no message, ends it."""
        lines = self.stream.makefile("rb", 64 << 10)
        while True:
            text = lines.readline(MAX_MESSAGE + 1)
            if not text.endswith(b"\n"):
                return
            message = json.loads(text)
            if message.get("cancel"):
                with self.guard:
                    call = self.calls.get(message["cancel"])
                if call:
                    call.done.set()
            elif message.get("method"):
                self._begin(message)

    def _begin(self, message):
        params = message.get("params") or {}
        message["params"], message["call"] = params, Call(params)
        with self.guard:
            self.calls[message["id"]] = message["call"]
        if message["method"] == "watch":
            threading.Thread(target=self._answer, args=(message,), daemon=True).start()
        else:
            self.questions.put(message)

    def _work(self):
        while True:
            message = self.questions.get()
            if message is None:
                return
            self._answer(message)

    def _answer(self, message):
        id, call = message["id"], message["call"]
        out = _outcome(self.provider, message["method"], message["params"], call, lambda kind: self.write({"id": id, "event": {"type": kind}}))
        with self.guard:
            del self.calls[id]
        out["id"] = id
        try:
            self.write(out)
        except ValueError as e:  # NaN, or too long
            self.write({"id": id, "error": {"code": "internal", "message": "the answer cannot be sent: %s" % e}})

    def write(self, message):
        text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        if len(text) > MAX_MESSAGE:
            raise ValueError("it has more than %d MiB" % (MAX_MESSAGE >> 20))
        try:
            with self.writing:
                self.stream.sendall(text)
        except OSError:
            pass  # mgmt is gone, and read ends

    def close(self):
        """Ends what runs for the connection."""
        with self.guard:
            calls = list(self.calls.values())
        for call in calls:
            call.done.set()
        for _ in range(WORKERS):
            self.questions.put(None)
        self.stream.close()


def _outcome(provider, method, params, call, event):
    """Returns the result or the error of a call, as a message has it."""
    try:
        return {"result": provider.answer(method, params, call, event)}
    except Error as e:
        return {"error": e.message()}
    except Exception as e:  # an author's fault ends its call alone
        traceback.print_exc()
        code = "canceled" if call.done.is_set() else "internal"
        return {"error": {"code": code, "message": "%s: %s" % (type(e).__name__, e)}}


def _props(params, key="properties"):
    return _plain(params.get(key) or {})


def _plain(value):
    """Leaves out the properties that are null: absent and null are the same."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


def _failures(pairs):
    return [{"path": path, "message": message} for path, message in pairs]


# The Python types of each kind of type. Numbers may be written without a point, and a bool is no number.
_SHAPES = {
    "bool": bool, "int": int, "float": (int, float), "string": str, "duration": (str, int), "size": (str, int), "mode": (str, int),
    "ref": str, "list": list, "map": dict, "struct": dict,
}


def faults(type, value, path="", structs=None):
    """Returns the faults of a value by its type, as pairs of a path and a message. mgmt has judged formats already."""
    kind, structs = type["kind"], structs or {}
    if kind == "any":
        return []
    if not isinstance(value, _SHAPES[kind]) or isinstance(value, bool) and kind != "bool":
        return [(path, "it should be a value of the kind %s" % kind)]
    if kind == "struct":
        return _struct_faults(structs[type["link"]] if "link" in type else type, value, path, structs)
    if kind == "list":
        return _bound_faults(type, len(value), path) + [f for i, v in enumerate(value) for f in faults(type["of"], v, "%s[%d]" % (path, i), structs)]
    if kind == "map":
        return _bound_faults(type, len(value), path) + [f for k, v in value.items() for f in faults(type["of"], v, "%s[%s]" % (path, k), structs)]
    if kind == "string":
        return _text_faults(type, value, path)
    return _bound_faults(type, value, path) if kind in ("int", "float") else []


def _struct_faults(type, value, path, structs):
    if type.get("name"):
        structs = {**structs, type["name"]: type}
    fields, out, prefix = {f["key"]: f for f in type.get("fields", [])}, [], path + "." if path else ""
    for key, v in value.items():
        field = fields.get(key)
        if field is None:
            out.append((prefix + key, "there is no such property"))
        elif field.get("role") == "readonly" and not path:
            out.append((prefix + key, "it is an output, and can't be given"))
        else:
            out += faults(field["type"], v, prefix + key, structs)
    return out + [(prefix + key, "it is missing") for key, f in fields.items() if f.get("required") and key not in value]


def _text_faults(type, value, path):
    if type.get("enum") and value not in type["enum"]:
        return [(path, "it should be one of %s" % ", ".join(type["enum"]))]
    if type.get("pattern") and not re.search(type["pattern"], value):
        return [(path, "it does not match %s" % type["pattern"])]
    return _bound_faults(type, len(value), path)


def _bound_faults(type, value, path):
    low, high = type.get("min"), type.get("max")
    if low is not None and value < low:
        return [(path, "%s is less than %s" % (value, low))]
    if high is not None and value > high:
        return [(path, "%s is more than %s" % (value, high))]
    return []
