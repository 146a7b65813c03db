#!/usr/bin/env python3
"""Serves the roles of a server of PostgreSQL to mgmt. It asks the server with psql.

The environment of the descriptor says which server: PGHOST, PGPORT, PGUSER, PGDATABASE, as psql reads them. The user has to be a
superuser, since only such a user sees the verifiers of passwords. The setting interval says how often the roles are looked at, in seconds.

The idempotency key of a role is in its comment, which is set in the transaction that makes the role.
"""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "..", "sdk", "python"))

import mgmt_provider  # noqa: E402

# The attributes of a role: the property, and the word of ALTER ROLE for it.
FLAGS = [("login", "LOGIN"), ("superuser", "SUPERUSER"), ("createDatabases", "CREATEDB"), ("createRoles", "CREATEROLE")]
MARK = "mgmt:"  # before the key in a comment

SELECT = """SELECT coalesce(json_agg(r ORDER BY r.name), '[]') FROM (
  SELECT oid::text AS oid, rolname AS name, rolcanlogin AS login, rolsuper AS superuser, rolcreatedb AS "createDatabases",
    rolcreaterole AS "createRoles", rolconnlimit AS "connectionLimit", rolpassword AS verifier, shobj_description(oid, 'pg_authid') AS comment,
    ARRAY(SELECT g.rolname FROM pg_auth_members m JOIN pg_authid g ON g.oid = m.roleid WHERE m.member = a.oid ORDER BY 1) AS "memberOf"
  FROM pg_authid a WHERE rolname !~ '^pg_') r WHERE %s;
"""


def psql(text):
    """Runs statements in one transaction, and returns what they write. They go through standard input: others can see arguments."""
    done = subprocess.run(["psql", "-XqAt1", "-v", "ON_ERROR_STOP=1"], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        away = done.returncode == 2  # there is no connection
        raise mgmt_provider.Error("unavailable" if away else "invalid", done.stderr.strip())
    return done.stdout


def roles(where="true"):
    return json.loads(psql(SELECT % where))


def quoted(name):
    return '"%s"' % name.replace('"', '""')


def literal(text):
    if "\0" in text:
        raise mgmt_provider.Error("invalid", "a text has the character NUL, which PostgreSQL does not keep")
    return "E'%s'" % text.replace("\\", "\\\\").replace("'", "''")


def verifier(password, salt=None, rounds=4096):
    """Returns what the server keeps of a password. It never gets the password itself, so no log of it does."""
    salt = salt or os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    words = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return "SCRAM-SHA-256$%d:%s$%s:%s" % (rounds, *words)


def fits(password, kept):
    """Reports whether the server keeps the verifier of this password."""
    try:
        rounds, salt = kept.split("$")[1].split(":")
        return hmac.compare_digest(verifier(password, base64.b64decode(salt), int(rounds)), kept)
    except (AttributeError, IndexError, ValueError):
        return False  # there is none, or one of another kind


class Role(mgmt_provider.Resource):
    def __init__(self):
        self.interval = 1.0

    def configure(self, config):
        self.interval = float(config.get("interval", self.interval))

    def check(self, call, inputs):
        groups = inputs.get("memberOf", [])
        if groups != sorted(set(groups)):
            return [("memberOf", "the roles should be in alphabetical order, each once")]
        if inputs.get("name", call.name).startswith("pg_"):
            return [("name", "the names that begin with pg_ belong to PostgreSQL")]
        return []

    def find(self, call, inputs):
        """Returns the row of a role, or None."""
        if call.id:
            found = roles("oid = %s" % literal(call.id))
        else:
            found = call.key and roles("comment = %s" % literal(MARK + call.key))
            found = found or roles("name = %s" % literal(inputs.get("name", call.name)))
        if not found:
            return None
        call.id = found[0]["oid"]
        return found[0]

    def shown(self, row, password=""):
        """Returns a row as properties. The password can be compared, and not be read."""
        out = {key: row[key] for key in ("name", "oid", "connectionLimit", "memberOf", *(f[0] for f in FLAGS))}
        if password and fits(password, row["verifier"]):
            out["password"] = password
        return out

    def get(self, call, inputs):
        row = self.find(call, inputs)
        return row and self.shown(row, inputs.get("password", ""))

    def create(self, call, inputs):
        name = inputs.get("name", call.name)
        made = roles("comment = %s" % literal(MARK + call.key))
        if not made:
            psql("CREATE ROLE %s;\nCOMMENT ON ROLE %s IS %s;\n" % (quoted(name), quoted(name), literal(MARK + call.key))
                 + self.altered(name, inputs, {"memberOf": []}))
        call.id = ""
        return self.get(call, inputs)

    def update(self, call, old, new):
        row = self.find(call, old)
        if row is None:
            raise mgmt_provider.Error("conflict", "somebody has dropped the role")
        psql(self.altered(row["name"], new, self.shown(row, new.get("password", ""))))
        return self.get(call, new)

    def altered(self, name, new, old):
        """Returns the statements that bring a role to its inputs."""
        words = [word if new[key] else "NO" + word for key, word in FLAGS if key in new]
        if "connectionLimit" in new:
            words.append("CONNECTION LIMIT %d" % new["connectionLimit"])
        if "password" in new and "password" not in old:
            words.append("PASSWORD " + literal(verifier(new["password"])))
        out = "ALTER ROLE %s %s;\n" % (quoted(name), " ".join(words)) if words else ""
        if "memberOf" in new:
            wanted, has = set(new["memberOf"]), set(old.get("memberOf", []))
            out += "".join("GRANT %s TO %s;\n" % (quoted(g), quoted(name)) for g in sorted(wanted - has))
            out += "".join("REVOKE %s FROM %s;\n" % (quoted(g), quoted(name)) for g in sorted(has - wanted))
        return out

    def delete(self, call, properties):
        row = self.find(call, properties)
        if row:
            psql("DROP ROLE %s;\n" % quoted(row["name"]))

    def watch(self, call, inputs, running, changed):
        """Compares the row now and then. PostgreSQL tells of no change of a role."""
        where = mgmt_provider.Call({"name": call.name, "id": call.id, "key": call.key})
        last = self.find(where, inputs)
        running()
        while not call.done.wait(self.interval):
            try:
                now = self.find(where, inputs)
            except mgmt_provider.Error:
                now = None  # the server is away
            if now != last:
                last = now
                changed()

    def list(self):
        for row in roles():
            yield row["name"], row["oid"], self.shown(row)


if __name__ == "__main__":
    role = Role()
    mgmt_provider.serve("postgres", "1.0.0", os.path.join(HERE, "schema.json"), {"postgres:index:Role": role}, role.configure)
