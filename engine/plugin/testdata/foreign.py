"""The provider toy over gRPC, with Debian's grpcio and the messages that protoc has made of provider.proto."""

import concurrent.futures
import hashlib
import hmac
import os
import queue
import sys
import threading

import grpc
import provider_pb2 as pb
from google.protobuf import json_format

SCHEMA = open(os.environ["TOY_SCHEMA"], "rb").read()
TOKEN = os.environ["MGMT_PLUGIN_TOKEN"]
FIELDS = {
    "toy:index:Thing": {"name", "color", "size", "shape", "password", "pin"},
    "toy:index:Slow": {"color", "of"},
    "toy:index:Many": {"name", "color", "size"},
}
things, lock, ears = {}, threading.Lock(), set()


def plain(struct):
    return json_format.MessageToDict(struct)


def bag(struct, values):
    for key, v in values.items():
        struct[key] = v
    return struct


def typed(request, context):
    if request.subject.token not in FIELDS:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "there is no such type")
    return request.subject


def tell():
    for q in list(ears):
        q.put("changed")


def find(s):
    if s.id:
        return things.get(s.id)
    for t in things.values():
        if s.key and t["key"] == s.key or s.token != "toy:index:Slow" and t["token"] == s.token and t["name"] == s.name:
            return t


def handshake(r, context):
    if not r.protocols.min <= 1 <= r.protocols.max:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "I speak version 1")
    if not hmac.compare_digest(r.token, TOKEN):
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "the token is wrong")
    return pb.HandshakeReply(protocol=1, name="toy", version="1.0.0", schema_hash=hashlib.sha256(SCHEMA).hexdigest())


def check(r, context):
    s, given, out = typed(r, context), plain(r.properties), pb.CheckReply()
    for key in sorted(set(given) - FIELDS[s.token]):
        out.failures.add(path=key, message="unknown")
    if "color" not in given and "color" not in r.pending:
        out.failures.add(path="color", message="missing")
    return out


def get(r, context):
    t = find(typed(r, context))
    if t is None:
        return pb.GetReply()
    reply = pb.GetReply(found=True, id=t["id"])
    bag(reply.properties, t["props"])
    return reply


def create(r, context):
    s = typed(r, context)
    with lock:
        t = find(s)
        if t is None:
            props = plain(r.properties)
            t = {"id": "id-" + s.key, "key": s.key, "name": s.name, "token": s.token}
            if s.token != "toy:index:Slow":
                props["name"] = s.name
            t["props"] = {**{k: v for k, v in props.items() if k not in ("password", "pin")}, "serial": t["id"]}
            things[t["id"]] = t
    tell()
    reply = pb.CreateReply(id=t["id"])
    bag(reply.properties, t["props"])
    return reply


def update(r, context):
    t = find(typed(r, context))
    t["props"] = {**plain(r.new), "serial": t["id"]}
    tell()
    return pb.UpdateReply()


def delete(r, context):
    with lock:
        t = find(typed(r, context))
        if t:
            del things[t["id"]]
    tell()
    return pb.Empty()


def listed(r, context):
    reply = pb.ListReply()
    for t in list(things.values()):
        if t["token"] == r.token:
            bag(reply.items.add(name=t["name"], id=t["id"]).properties, t["props"])
    return reply


def batch(r, context):
    """The requests of a batch have the keys of the lines, in which the subject is no message of its own."""
    out = pb.BatchReply()
    for c in r.calls:
        p = plain(c.params)
        q = pb.GetRequest(subject=pb.Subject(**{k: p.get(k, "") for k in ("token", "name", "id", "key", "private")}))
        is_ = get(q, context)
        result = out.outcomes.add().result
        bag(result, {"found": is_.found, "id": is_.id, "properties": plain(is_.properties)})
    return out


def watch(r, context):
    typed(r, context)
    q = queue.Queue()
    ears.add(q)
    context.add_callback(lambda: q.put(None))
    yield pb.WatchEvent(type="running")
    while q.get() is not None:
        yield pb.WatchEvent(type="changed")
    ears.discard(q)


def logs(r, context):
    q = queue.Queue()
    context.add_callback(lambda: q.put(None))
    yield pb.LogLine(level="info", message="a line over gRPC")
    q.get()


def unary(f, request):
    def call(r, context):
        if dict(context.invocation_metadata()).get("mgmt-token") != TOKEN:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the token is wrong")
        return f(r, context)

    return grpc.unary_unary_rpc_method_handler(call, request.FromString, lambda m: m.SerializeToString())


def stream(f, request):
    return grpc.unary_stream_rpc_method_handler(f, request.FromString, lambda m: m.SerializeToString())


server = grpc.server(concurrent.futures.ThreadPoolExecutor(30))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("mgmt.provider.v1.Provider", {
    "Handshake": unary(handshake, pb.HandshakeRequest),
    "Schema": unary(lambda r, c: pb.SchemaReply(schema=SCHEMA.decode()), pb.SchemaRequest),
    "Configure": unary(lambda r, c: pb.Empty(), pb.ConfigureRequest),
    "Check": unary(check, pb.CheckRequest),
    "Diff": unary(lambda r, c: pb.DiffReply(), pb.DiffRequest),
    "Get": unary(get, pb.GetRequest),
    "Create": unary(create, pb.CreateRequest),
    "Update": unary(update, pb.UpdateRequest),
    "Delete": unary(delete, pb.DeleteRequest),
    "List": unary(listed, pb.ListRequest),
    "Batch": unary(batch, pb.BatchRequest),
    "Watch": stream(watch, pb.WatchRequest),
    "Logs": stream(logs, pb.LogsRequest),
    "Shutdown": unary(lambda r, c: pb.Empty(), pb.ShutdownRequest),
}),))
server.add_insecure_port("unix:" + os.environ["MGMT_PLUGIN_SOCKET"])
server.start()
sys.stdin.buffer.read()
server.stop(None)
