// HTTP/1.1, WebSocket and TLS, server and client, behind plain structs.
//
// A server and a client own one thread each, which runs their event loop. Every callback comes on that thread and must
// not block. All pointers inside a callback's argument are valid during the callback only. Every function here may be
// called from any thread, unless it says otherwise.
#ifndef PARLOR_CWEB_H
#define PARLOR_CWEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// MARK: - Shared values

/// Bytes that belong to somebody else. `bytes` may be NULL when `count` is 0.
typedef struct {
    const uint8_t *bytes;
    size_t count;
} parlor_web_bytes;

/// One header field, as it came.
typedef struct {
    parlor_web_bytes name;
    parlor_web_bytes value;
} parlor_web_field;

/// What kind of thing went wrong.
typedef enum {
    PARLOR_WEB_OK = 0,
    PARLOR_WEB_LISTEN = 1,     // the listening socket could not be opened
    PARLOR_WEB_RESOLVE = 2,    // the name has no address
    PARLOR_WEB_CONNECT = 3,    // refused, unreachable
    PARLOR_WEB_TLS = 4,        // certificate, key, handshake, verification
    PARLOR_WEB_TIMEOUT = 5,
    PARLOR_WEB_CLOSED = 6,     // the peer went before the exchange was complete
    PARLOR_WEB_PROTOCOL = 7,   // the peer sent something that is not HTTP (or not WebSocket)
    PARLOR_WEB_TOO_LARGE = 8,
    PARLOR_WEB_CANCELLED = 9,
    PARLOR_WEB_REFUSED = 10,   // the server answered a WebSocket request with an ordinary response
} parlor_web_failure_kind;

/// A failure, with the system's number (0 when there is none) and a sentence.
typedef struct {
    parlor_web_failure_kind kind;
    int32_t code;
    char message[200];
} parlor_web_failure;

// MARK: - TLS

/// Certificates and keys, or what a client trusts.
typedef struct parlor_web_tls parlor_web_tls;

/// A server's side, TLS 1.2 or later. Each of the two is PEM text, or the name of a file if `..._is_file`.
/// NULL and `failure` if they cannot be used. Release with `parlor_web_tls_release`.
parlor_web_tls *parlor_web_tls_server(
    const char *certificate_chain, bool chain_is_file, const char *private_key, bool key_is_file,
    parlor_web_failure *failure);

/// A client's side: the system's authorities, and `authorities` (PEM text or file; may be NULL) beside them.
/// `insecure` accepts every certificate.
parlor_web_tls *parlor_web_tls_client(
    const char *authorities, bool is_file, bool insecure, parlor_web_failure *failure);

void parlor_web_tls_release(parlor_web_tls *tls);

// MARK: - HTTP server

typedef struct parlor_web_server parlor_web_server;

/// The bounds of a server. Times in milliseconds.
typedef struct {
    size_t header_bytes;       // request line and header fields
    size_t body_bytes;
    size_t connections;        // open at one time; more are answered 503 and closed
    size_t running_requests;   // handed out and not answered; more wait, unread
    uint32_t header_ms;        // first byte (or accept) to end of header, TLS handshake included
    uint32_t request_ms;       // first byte to end of body
    uint32_t handler_ms;       // handed out to answered
    uint32_t idle_ms;          // between requests
    uint32_t write_ms;         // one response, or one WebSocket message
} parlor_web_limits;

typedef struct {
    uint64_t ticket;           // names the request in the answer
    parlor_web_bytes method;
    parlor_web_bytes target;   // raw, as sent
    const parlor_web_field *fields;
    size_t field_count;
    parlor_web_bytes body;
    parlor_web_bytes peer_host; // numeric
    uint16_t peer_port;
    bool is_tls;
    bool wants_websocket;      // a well-formed WebSocket opening request (RFC 6455, 4.2.1)
} parlor_web_request;

typedef struct {
    void *context;
    void (*on_request)(void *context, const parlor_web_request *request);
    /// Called once, after the last callback, when the server is gone.
    void (*release)(void *context);
} parlor_web_server_callbacks;

/// Counts since the start; `connections` and `running` are the present state.
typedef struct {
    uint64_t accepted;
    uint64_t refused;          // over the limit of connections
    uint64_t accept_errors;
    uint64_t requests;
    uint64_t responses;        // to handled requests
    uint64_t malformed;        // 400, 417, 501
    uint64_t header_too_large; // 431
    uint64_t body_too_large;   // 413
    uint64_t timed_out;        // handshake, header, body, idle or write deadline
    uint64_t handler_late;     // 503
    uint64_t tls_failures;
    uint64_t broken;           // the peer closed or reset inside a request or a response
    uint64_t upgrades;
    uint64_t slow_readers;     // WebSockets closed because their queue was full
    uint64_t connections;
    uint64_t running;
} parlor_web_counters;

/// Makes the server and starts its thread. What the server answers by itself (400, 408, 413, 417, 431, 501, 503) has
/// `fixed_fields` (complete lines "Name: value\r\n"), an X-Reqid, and a problem document (RFC 9457), also with
/// `error`: the sentence.
parlor_web_server *parlor_web_server_create(
    const parlor_web_limits *limits, parlor_web_bytes fixed_fields, parlor_web_server_callbacks callbacks,
    const char *thread_name);

/// Opens a listening socket; connections wait in the kernel until `start`. Returns its port, or -1 with `failure`.
/// `tls` may be NULL.
int32_t parlor_web_server_listen(
    parlor_web_server *server, const char *host, uint16_t port, parlor_web_tls *tls, parlor_web_failure *failure);

/// Accepts from now on.
void parlor_web_server_start(parlor_web_server *server);

/// Answers the request of that ticket; an unknown or late ticket is ignored. `fields` is a block of complete lines
/// "Name: value\r\n" without framing fields (Content-Length, Transfer-Encoding, Connection). `reason` may be empty.
/// Everything is copied.
void parlor_web_server_respond(
    parlor_web_server *server, uint64_t ticket, uint32_t status, parlor_web_bytes reason, parlor_web_bytes fields,
    parlor_web_bytes body, bool close_after);

/// No new connections; running requests get `grace_ms`, then everything is closed. `done(context)` comes once, on the
/// server's thread.
void parlor_web_server_stop(
    parlor_web_server *server, uint32_t grace_ms, void *context, void (*done)(void *context));

void parlor_web_server_counters(const parlor_web_server *server, parlor_web_counters *counters);

/// Closes everything and ends the thread. From another thread: waits for it.
void parlor_web_server_destroy(parlor_web_server *server);

// MARK: - HTTP client

typedef struct parlor_web_client parlor_web_client;

typedef struct {
    const char *host;          // name or numeric address
    uint16_t port;
    parlor_web_tls *tls;       // NULL: plain
    const char *method;
    const char *target;
    parlor_web_bytes fields;   // complete lines, without Host (unless `has_host`) and framing fields
    bool has_host;
    parlor_web_bytes body;
    uint32_t timeout_ms;       // whole exchange
    size_t header_limit;
    size_t body_limit;
} parlor_web_outgoing_request;

typedef struct {
    uint32_t status;
    parlor_web_bytes reason;
    const parlor_web_field *fields;
    size_t field_count;
    parlor_web_bytes body;
} parlor_web_response;

/// Exactly one of `response` and `failure` is not NULL, except a refused WebSocket, which brings both.
typedef void (*parlor_web_on_response)(
    void *context, const parlor_web_response *response, const parlor_web_failure *failure);

parlor_web_client *parlor_web_client_create(const char *thread_name);

/// Sends a request on a connection of its own; `done` is called exactly once, on the client's thread. Everything is
/// copied. The returned number serves to cancel.
uint64_t parlor_web_client_request(
    parlor_web_client *client, const parlor_web_outgoing_request *request, void *context, parlor_web_on_response done);

/// Ends that exchange with PARLOR_WEB_CANCELLED, unless it is already complete.
void parlor_web_client_cancel(parlor_web_client *client, uint64_t number);

/// Cancels everything and ends the thread. From another thread: waits for it.
void parlor_web_client_destroy(parlor_web_client *client);

// MARK: - WebSocket

/// One side of an open WebSocket. Owned by whoever received it in `on_open`.
typedef struct parlor_web_socket parlor_web_socket;

/// The bounds of a WebSocket. Times in milliseconds.
typedef struct {
    size_t message_bytes;      // incoming; above: close 1009
    size_t first_bytes;        // the same until `widen`; 0: message_bytes from the start
    size_t inbox_messages;     // delivered and not yet `consumed`; then reading pauses
    size_t inbox_bytes;
    size_t outbox_messages;    // accepted and not yet written; then the peer is too slow: close 1013
    size_t outbox_bytes;       // one message of any size fits into an empty queue
    uint32_t idle_ms;          // silence; a ping goes out at half of it
    uint32_t write_ms;         // for one message to leave
    uint32_t close_ms;         // for the closing handshake
} parlor_web_socket_limits;

/// On the thread of the server or client. Either `on_failure`, or `on_open`, then messages, then `on_close`; `release`
/// is always the last.
typedef struct {
    void *context;
    void (*on_open)(void *context, parlor_web_socket *socket);
    /// `response` is what the server answered instead, if it did; for a server's socket NULL.
    void (*on_failure)(void *context, const parlor_web_failure *failure, const parlor_web_response *response);
    void (*on_message)(void *context, bool is_text, parlor_web_bytes bytes);
    /// The peer's code and reason; 1005 without a code, 1006 if the connection broke; or ours, if we refused what the
    /// peer sent (1002, 1007, 1009), or gave up a peer that is too slow (1013).
    void (*on_close)(void *context, uint16_t code, parlor_web_bytes reason);
    void (*release)(void *context);
} parlor_web_socket_callbacks;

/// Answers the request of that ticket by opening the WebSocket. `subprotocol` may be empty; `fields` as in `respond`.
void parlor_web_server_upgrade(
    parlor_web_server *server, uint64_t ticket, parlor_web_bytes subprotocol, parlor_web_bytes fields,
    const parlor_web_socket_limits *limits, parlor_web_socket_callbacks callbacks);

/// Opens a WebSocket; of the request: host, port, tls, target, fields and timeout (for the opening). The returned
/// number serves to cancel the opening.
uint64_t parlor_web_client_open(
    parlor_web_client *client, const parlor_web_outgoing_request *request, const parlor_web_socket_limits *limits,
    parlor_web_socket_callbacks callbacks);

typedef enum {
    PARLOR_WEB_SENT = 0,       // queued
    PARLOR_WEB_GONE = 1,       // closed, or closing
    PARLOR_WEB_FULL = 2,       // the queue is full: the message and the queue are dropped, the socket closes
} parlor_web_send_result;

parlor_web_send_result parlor_web_socket_send(parlor_web_socket *socket, bool is_text, parlor_web_bytes bytes);

/// So many delivered messages with so many bytes have been taken.
void parlor_web_socket_consumed(parlor_web_socket *socket, size_t messages, size_t bytes);

/// From here on messages may have `message_bytes`.
void parlor_web_socket_widen(parlor_web_socket *socket);

/// Sends what is queued, then the closing frame; `on_close` follows in any case. `code` 0 sends none.
void parlor_web_socket_close(parlor_web_socket *socket, uint16_t code, parlor_web_bytes reason);

/// Resets the connection at once, whatever is queued; `on_close` follows with 1006.
void parlor_web_socket_abort(parlor_web_socket *socket);

/// Gives the socket up; it closes with 1001 if it is open.
void parlor_web_socket_release(parlor_web_socket *socket);

#ifdef __cplusplus
}
#endif

#endif
