"""What schemathesis has to know about a Parlor node: how requests are signed, which rooms and users are there, and which
statuses above 599 are documented. What the test has made on the node stands in PARLOR_OPENAPI, a JSON object."""

import base64
import datetime
import hashlib
import hmac
import json
import os
import urllib.parse
import zlib

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation

KNOWN = json.loads(os.environ["PARLOR_OPENAPI"])

# The server refuses these before it looks at the path; openapi.yaml says so at its top.
BEFORE_ROUTES = {400, 408, 413, 414, 431}


# What a client of WHIP sends to begin ICE anew (RFC 8840, section 9).
FRAGMENT = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\na=mid:0\r\n"


class Signature(requests.auth.AuthBase):
    """Signs the request as it leaves; legs get the room token that the test made for them."""

    def __call__(self, request):
        path = urllib.parse.urlsplit(request.url).path
        if path.startswith(("/whip", "/whep")):
            request.headers["Authorization"] = "Bearer " + KNOWN["legToken"]
            return request
        host = urllib.parse.urlsplit(request.url).netloc
        request.headers["Host"] = host
        now = datetime.datetime.now(datetime.timezone.utc)
        request.headers["X-Qiniu-Date"] = now.strftime("%Y%m%dT%H%M%SZ")
        lines = [f"{request.method} {request.path_url}", f"Host: {host}"]
        kind = request.headers.get("Content-Type", "")
        kind = kind.decode("latin-1") if isinstance(kind, bytes) else kind
        if kind:
            lines.append(f"Content-Type: {kind}")
        date = request.headers["X-Qiniu-Date"]
        text = "\n".join(lines + [f"X-Qiniu-Date: {date}", "", ""]).encode("utf-8")
        body = request.body or b""
        body = body.encode("utf-8") if isinstance(body, str) else body
        if kind and body and kind.split(";")[0].strip().lower() != "application/octet-stream":
            text += body
        mac = hmac.new(KNOWN["secret"].encode(), text, hashlib.sha1).digest()
        sign = base64.urlsafe_b64encode(mac).decode()
        request.headers["Authorization"] = f"Qiniu {KNOWN['key']}:{sign}"
        return request


schemathesis.auth.set_from_requests(Signature())


@schemathesis.serializer("application/sdp", "application/trickle-ice-sdpfrag")
def sdp(context, value):
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


def pick(case, *choices):
    """One of them, the same one for the same case."""
    parts = [case.operation.label, case.path_parameters, case.query, case.body]
    return choices[zlib.crc32(repr(parts).encode()) % len(choices)]


def is_positive(case, location):
    part = case.meta.components.get(location) if case.meta else None
    return part is None or part.mode.is_positive


@schemathesis.hook
def before_call(context, case, kwargs):
    """Valid names become names of what is there, most of the time: a random room is never there."""
    path, method = case.operation.path, case.method.upper()
    if case.path_parameters and is_positive(case, ParameterLocation.PATH):
        names = dict(case.path_parameters)
        if "app" in names:
            # The configuration's app cannot be changed.
            app = KNOWN["ownApp"] if (method, path) == ("POST", "/v3/apps/{app}") else KNOWN["app"]
            names["app"] = pick(case, app, app, app, names["app"])
        if "room" in names:
            # What ends something has a room of its own.
            ends = method == "DELETE" or path.endswith("/bans")
            room = KNOWN["otherRoom"] if ends else KNOWN["room"]
            names["room"] = pick(case, room, room, names["room"])
        if "user" in names:
            names["user"] = pick(case, KNOWN["user"], KNOWN["user"], names["user"])
        if "track" in names:
            names["track"] = pick(case, KNOWN["track"], KNOWN["track"], names["track"])
        if "leg" in names and method == "GET":
            names["leg"] = pick(case, KNOWN["leg"], names["leg"])
        case.path_parameters = names
    if path.endswith("/auth") and is_positive(case, ParameterLocation.QUERY) and case.query:
        if pick(case, True, False):
            case.path_parameters = dict(case.path_parameters, app=KNOWN["app"], room=KNOWN["room"])
            case.query = {"user": KNOWN["user"], "token": KNOWN["token"]}
    if is_positive(case, ParameterLocation.BODY):
        if path in ("/whip", "/whep") and isinstance(case.body, str):
            offer = KNOWN["publishOffer" if path == "/whip" else "playOffer"]
            case.body = pick(case, offer, case.body)
        elif path.endswith("/{leg}") and isinstance(case.body, str):
            case.body = FRAGMENT
        elif path.endswith("/createroom") and isinstance(case.body, dict) and "roomName" in case.body:
            case.body = dict(case.body, roomName=pick(case, KNOWN["otherRoom"], case.body["roomName"]))
        elif path.endswith("/users/{user}") and isinstance(case.body, dict) and case.body.get("privileges"):
            # Without this one the user would leave with its only leg.
            case.body = dict(case.body, privileges=["publish"] + case.body["privileges"][:15])


@schemathesis.hook
def filter_case(context, case):
    """A deadline ends the node that all this is asked of."""
    if case.operation.path != "/v1/node/drain" or case.method.upper() != "POST":
        return True
    return not (isinstance(case.body, dict) and case.body.get("deadline") is not None)


def documented(case):
    """The operation's statuses, and those that OpenAPI has no place for."""
    definition = case.operation.definition.raw
    more = {int(status) for status in definition.get("x-statuses", {})}
    usual = {int(status) for status in definition["responses"] if str(status).isdigit()}
    return usual, more


@schemathesis.check
def documented_status(context, response, case):
    """No status that the file does not name, and so no 500 at all."""
    if response.request.method.upper() != case.operation.method.upper():
        assert response.status_code in {204, 405}, f"{response.status_code} for a method that is not there"
        return
    usual, more = documented(case)
    allowed = usual | more | BEFORE_ROUTES
    # A path parameter that is empty, or has a slash, leads elsewhere.
    if not is_positive(case, ParameterLocation.PATH):
        allowed |= {200, 404, 405, 501, 612, 615}
    assert response.status_code in allowed, f"{response.status_code} is not documented; it says {response.text[:300]}"


@schemathesis.check
def names_the_request(context, response, case):
    """Every answer has an X-Reqid, and any page may read it."""
    assert response.headers.get("x-reqid"), "X-Reqid is missing"
    assert response.headers.get("access-control-allow-origin") == ["*"], "CORS is missing"


@schemathesis.check
def refusals_say_why(context, response, case):
    """A refusal is JSON with a sentence."""
    if response.status_code < 400 or case.operation.path == "/readyz":
        return
    body = json.loads(response.content)
    assert isinstance(body["error"], str) and body["error"], f"no sentence: {response.text[:300]}"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A documented status is a refusal and no failure of the server: 612 and 615, 501 and 503. That a valid request is
    refused with 400 is one, except where no schema says what is valid: an SDP."""
    kind, status = type(failure).__name__, response.status_code
    usual, more = documented(case)
    if kind == "ServerError":
        return status not in usual | more
    if kind == "RejectedPositiveData":
        is_offer = case.operation.path in ("/whip", "/whep")
        return status not in usual | more or (status in (400, 415) and not is_offer)
    if kind == "AcceptedNegativeData":
        return status not in more
    return True
