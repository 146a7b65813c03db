# A client of the API in Python's standard library alone, made from the description at /openapi.json.
import http.client
import json
import socket
import sys
import urllib.parse


class Socket(http.client.HTTPConnection):
    """A connection to a unix socket."""

    def __init__(self, path):
        super().__init__("mgmt")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self.path)


class Failed(Exception):
    def __init__(self, status, problem):
        super().__init__(status, problem)
        self.status, self.problem = status, problem


class Client:
    """Has a method for each operation of the description: its name, with dots and dashes as underlines."""

    def __init__(self, path):
        self.path = path
        doc = self.call("get", "/openapi.json", {}, {"/openapi.json": {}}, None)[1]
        assert doc["openapi"].startswith("3.1"), doc["openapi"]
        self.schemas = doc["components"]["schemas"]
        for route, item in doc["paths"].items():
            for method, op in item.items():
                if isinstance(op, dict) and "operationId" in op:
                    setattr(self, "".join(c if c.isalnum() else "_" for c in op["operationId"]), self.maker(method, route, op))

    def maker(self, method, route, op):
        places = {p["name"]: p for p in op.get("parameters", [])}

        def made(body=None, **args):
            for name in args:
                assert name in places, (name, "is no parameter of", op["operationId"])
            for p in places.values():
                assert p["in"] != "path" or p["name"] in args, (p["name"], "is missing")
            return self.call(method, route, args, op, body, places)

        return made

    def send(self, method, route, args, op, body=None, places=()):
        query, head = {}, {}
        for name, value in args.items():
            where = places[name]["in"]
            if where == "path":
                route = route.replace("{%s}" % name, urllib.parse.quote(value, safe="").replace(".", "%2E"))
            elif where == "header":
                head[name] = value
            else:
                query[name] = value
        if body is not None:
            head["Content-Type"] = next(iter(op["requestBody"]["content"]))
            body = json.dumps(body)
        conn = Socket(self.path)
        conn.request(method.upper(), route + ("?" + urllib.parse.urlencode(query) if query else ""), body, head)
        return conn, conn.getresponse()

    def call(self, method, route, args, op, body, places=()):
        conn, resp = self.send(method, route, args, op, body, places)
        text = resp.read()
        conn.close()
        answer = json.loads(text) if text else None
        if resp.status >= 400:
            raise Failed(resp.status, answer)
        if "responses" in op:
            assert str(resp.status) in op["responses"] or resp.status == 200, (resp.status, "is not described")
        return resp.headers, answer

    def watch(self, last=None):
        """Yields id and data of each event."""
        head = {"Last-Event-ID": last} if last else {}
        conn = Socket(self.path)
        conn.request("GET", "/v1/api:watch?table=port", headers=head)
        event = {}
        for line in conn.getresponse():
            key, _, value = line.decode().rstrip("\n").partition(": ")
            if key:
                event[key] = value
            elif "data" in event:
                yield event.get("id"), json.loads(event["data"])
                event = {}


def names(client, method, route):
    doc = client.call("get", "/openapi.json", {}, {}, None)[1]
    return "".join(c if c.isalnum() else "_" for c in doc["paths"][route][method]["operationId"])


def main():
    c = Client(sys.argv[1])

    def op(method, route):
        return getattr(c, names(c, method, route))

    make, lists = op("post", "/v1/api/port"), op("get", "/v1/api/port")
    get, patch, delete = (op(m, "/v1/api/port/{id}") for m in ("get", "patch", "delete"))
    assert c.schemas["table.port"]["properties"]["vlan"]["type"] == "integer"

    odd = "a/b:c.ü%?#"
    head, made = make(body={"id": odd, "mac": "m", "vlan": 2**53 + 1})
    assert made["vlan"] == 2**53 + 1 and made["version"] == 1 and head["Location"], made
    for i in range(5):
        make(body={"id": "p%d" % i, "mac": "m"})
    try:
        make(body={"id": "x", "mca": "m"})
        assert False, "a wrong field is taken"
    except Failed as e:
        assert e.status == 422 and e.problem["errors"][0]["field"] == "mca" and "mac" in e.problem["errors"][0]["hint"], e.problem

    events = c.watch()
    ids = []
    for last, change in events:
        if change["action"] == "synced":
            break
        ids.append(change["id"])
    assert sorted(ids) == sorted([odd] + ["p%d" % i for i in range(5)]), ids
    events.close()

    tag = get(id=odd)[0]["ETag"]
    patch(id=odd, body={"vlan": 7}, **{"If-Match": tag})
    try:
        patch(id=odd, body={"vlan": 8}, **{"If-Match": tag})
        assert False, "a stale change is taken"
    except Failed as e:
        assert e.status == 412, e.problem
    delete(id="p0")

    missed = []
    for _, change in c.watch(last):
        if change["action"] != "bookmark":
            missed.append((change["action"], change["id"]))
        if len(missed) == 2:
            break
    assert missed == [("set", odd), ("delete", "p0")], missed

    token, found = None, []
    while True:
        head, page = lists(limit=2, **({"continue": token} if token else {}))
        found += [o["id"] for o in page]
        token = head["Continue"]
        if not token:
            break
    assert sorted(found) == sorted([odd, "p1", "p2", "p3", "p4"]), found
    print("ok")


main()
